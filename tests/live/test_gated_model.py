"""The gated mode under every interleaving: two assigners that both believe to be elected.

Pods are stored with a gate; an assigner reads the ledger, lists the pods, writes the ledger and then changes the
pods one by one, each change conditional on the version it listed. Pods may be deleted at any time and are replaced.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from fairlead.live.webhook.ledger import SlotLedger, chosen
from tests.live.explore import explore

NOW, OLD = "now", "old"


@dataclass(frozen=True, slots=True)
class Pod:
    """`turn` counts its predecessors, so that uids are distinct."""

    turn: int = 0
    tier: str = "gated"


@dataclass(frozen=True, slots=True)
class Assigner:
    """`todo` are changes still to be made (uid, tier)."""

    step: str = "idle"
    ledger: SlotLedger = SlotLedger()
    proposed: SlotLedger = SlotLedger()
    todo: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    pods: tuple[Pod, ...]
    ledger: SlotLedger
    assigners: tuple[Assigner, ...]
    deletions: int

    def uids(self, tier: str) -> list[str]:
        return [f"{row}.{pod.turn}" for row, pod in enumerate(self.pods) if pod.tier == tier]

    def assigner(self, row: int, assigner: Assigner) -> "World":
        assigners = list(self.assigners)
        assigners[row] = assigner
        return replace(self, assigners=tuple(assigners))

    def pod(self, row: int, pod: Pod) -> "World":
        pods = list(self.pods)
        pods[row] = pod
        return replace(self, pods=tuple(pods))


def _committed(world: World, row: int, proposed: SlotLedger) -> World:
    aged = tuple(
        replace(each, ledger=replace(each.ledger, version=OLD)) if number != row else each
        for number, each in enumerate(world.assigners)
    )
    return replace(world, ledger=replace(proposed, version=NOW), assigners=aged)


def _changed(world: World, uid: str, tier: str) -> World:
    """The pod as changed, unless it is gone or was changed since it was listed: a gated pod changes only once."""
    number, turn = map(int, uid.split("."))
    pod = world.pods[number]
    return world.pod(number, replace(pod, tier=tier)) if pod == Pod(turn, "gated") else world


def _steps(world: World, row: int, target: int) -> Iterator[World]:
    assigner = world.assigners[row]
    match assigner.step:
        case "idle":
            if world.uids("gated"):
                yield world.assigner(row, Assigner("list", world.ledger))
        case "list":
            gated, placed = world.uids("gated"), world.uids("on-demand")
            proposed, granted = chosen(assigner.ledger, gated, placed, target)
            todo = tuple((uid, "on-demand" if uid in granted else "spot") for uid in gated)
            step = "write" if proposed.granted != assigner.ledger.granted else "change"
            yield world.assigner(row, Assigner(step, assigner.ledger, proposed, todo))
        case "write":
            if assigner.ledger.version == world.ledger.version:
                after = _committed(world, row, assigner.proposed)
                yield after.assigner(row, Assigner("change", todo=assigner.todo))
            else:
                yield world.assigner(row, Assigner())
        case "change":
            (uid, tier), *rest = assigner.todo or (("", ""),)
            after = _changed(world, uid, tier) if uid else world
            yield after.assigner(row, Assigner("change", todo=tuple(rest)) if rest else Assigner())
            yield world.assigner(row, Assigner())  # killed, or no longer elected


def _at_rest(world: World) -> bool:
    return not world.uids("gated") and all(each.step == "idle" for each in world.assigners)


@pytest.mark.parametrize(("replicas", "target", "deletions"), [(2, 1, 2), (3, 2, 1), (3, 1, 1), (2, 2, 1), (2, 0, 1)])
def test_two_assigners_never_grant_too_many_and_come_to_rest(replicas: int, target: int, deletions: int) -> None:
    """Even with two of them at work there are never more than min(M, N), at rest exactly so, and no dead end."""

    def check(world: World) -> None:
        placed = len(world.uids("on-demand"))
        assert placed <= target
        assert not _at_rest(world) or placed == target

    def successors(world: World) -> Iterator[World]:
        for row in range(2):
            yield from _steps(world, row, target)
        if world.deletions:
            for row, pod in enumerate(world.pods):
                yield replace(world.pod(row, Pod(pod.turn + 1)), deletions=world.deletions - 1)

    start = World((Pod(),) * replicas, SlotLedger(), (Assigner(), Assigner()), deletions)
    explored = explore(start, successors, check)
    assert len(explored.can_reach(_at_rest)) == len(explored.reached_from)
