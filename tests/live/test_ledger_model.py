"""The ledger protocol under every interleaving of small cases.

The world: a controller that keeps N pods, an API server that stores or refuses what was admitted, and webhook processes
that share nothing but the ledger. Requests may be refused by a quota after admission or given up before an answer, pods
deleted, processes killed, writes may go through while their answer is lost, and what a process knows may be out of
date. The attempts are those of the product (`fairlead.live.webhook.ledger`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, combinations

import pytest

from fairlead.live.webhook.ledger import NOTHING, Attempt, Knowledge, LedgerStep, Listing, SlotLedger
from tests.live.explore import Explored, explore

NOW, OLD = "now", "old"


@dataclass(frozen=True, slots=True)
class Pod:
    """`at` is a process for a queued pod; `tier` is set once it was admitted; `turn` makes slot ids distinct."""

    stage: str = "unborn"
    turn: int = 0
    at: int = -1
    tier: str = ""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many more misfortunes may happen."""

    refusals: int = 0
    deletions: int = 0
    crashes: int = 0
    lost: int = 0
    given_up: int = 0


@dataclass(frozen=True, slots=True)
class Look:
    """Pods that carried slots when it began: those still to be read, and those that were found active."""

    left: tuple[str, ...]
    found: frozenset[str] = NOTHING


@dataclass(frozen=True, slots=True)
class World:
    pods: tuple[Pod, ...]
    ledger: SlotLedger
    attempts: tuple[Attempt | None, ...]
    existed: frozenset[str]
    budget: Budget
    looks: tuple["Look | None", ...]

    def slot(self, row: int) -> str:
        return f"{row}.{self.pods[row].turn}"

    def slots(self, *stages: str) -> frozenset[str]:
        """Slots of the pods in these stages; a pod that was admitted to spot has none."""
        return frozenset(
            self.slot(row) for row, pod in enumerate(self.pods) if pod.stage in stages and pod.tier != "spot"
        )

    def pod(self, row: int, **changes: object) -> "World":
        pods = list(self.pods)
        pods[row] = replace(pods[row], **changes)  # type: ignore[arg-type]  # names and types are those of Pod
        return replace(self, pods=tuple(pods))

    def attempt(self, process: int, attempt: Attempt | None) -> "World":
        attempts = list(self.attempts)
        attempts[process] = attempt
        return replace(self, attempts=tuple(attempts))

    def look(self, process: int, look: "Look | None") -> "World":
        looks = list(self.looks)
        looks[process] = look
        return replace(self, looks=tuple(looks))

    def spend(self, **amount: int) -> "World":
        left = {name: getattr(self.budget, name) - each for name, each in amount.items()}
        return replace(self, budget=replace(self.budget, **left))


def _rows(world: World, stage: str, at: int | None = None) -> list[int]:
    return [row for row, pod in enumerate(world.pods) if pod.stage == stage and at in (None, pod.at)]


def _committed(world: World, process: int, proposed: SlotLedger) -> World:
    """The write is in force; whoever read the ledger before holds an old version of it."""
    aged = tuple(
        replace(each, ledger=replace(each.ledger, version=OLD)) if each is not None and row != process else each
        for row, each in enumerate(world.attempts)
    )
    return replace(world, ledger=replace(proposed, version=NOW), attempts=aged)


def _answered(world: World, process: int, attempt: Attempt) -> Iterator[World]:
    """The answers go out together; what waits is either kept waiting or told to come back."""
    after = world.attempt(process, None)
    for row in _rows(world, "queued", process):
        slot = world.slot(row)
        if slot in attempt.granted:
            after = after.pod(row, stage="flying", tier="on-demand", at=-1)
        elif slot in attempt.spot:
            after = after.pod(row, stage="flying", tier="spot", at=-1)
    yield after
    if attempt.waiting:
        for row in _rows(after, "queued", process):
            if world.slot(row) in attempt.waiting:
                after = after.pod(row, stage="unborn", at=-1)
        yield after


def _attempt_steps(world: World, process: int, target: int) -> Iterator[World]:
    attempt = world.attempts[process]
    if attempt is None:
        waiting = tuple(world.slot(row) for row in _rows(world, "queued", process))
        if waiting:
            yield world.attempt(process, Attempt(requests=waiting))
    elif world.looks[process] is not None:
        yield from _look_steps(world, process, attempt, target)
    elif attempt.step is LedgerStep.READ:
        for pods in combinations(sorted(world.existed), target) if target else ():
            # A watch that is behind may take any pod that was ever stored for one that still is.
            yield world.look(process, Look(pods))
        undecided = world.slots("queued", "flying", "stored")
        for seen in {NOTHING, world.existed}:
            for lapsed in {NOTHING, world.ledger.granted - undecided - world.existed}:
                yield world.attempt(process, attempt.read(world.ledger, Knowledge(seen, lapsed), target))
    elif attempt.step is LedgerStep.LIST:
        stored = world.slots("stored")
        yield world.attempt(process, attempt.list(Listing(stored, stored)))
    elif attempt.step is LedgerStep.WRITE:
        if attempt.ledger.version == world.ledger.version:
            after = _committed(world, process, attempt.proposed)
            yield after.attempt(process, attempt.wrote())
            if world.budget.lost:
                yield after.spend(lost=1).attempt(process, Attempt(requests=attempt.requests))
        else:
            yield world.attempt(process, replace(attempt.beaten(), conflicts=0))
    else:
        yield from _answered(world, process, attempt)


def _look_steps(world: World, process: int, attempt: Attempt, target: int) -> Iterator[World]:
    """The pods are read one after another; one that is not active ends the look."""
    look = world.looks[process]
    assert look is not None
    if not look.left:
        yield world.look(process, None).attempt(process, attempt.look(look.found, target))
    elif look.left[0] in world.slots("stored"):
        yield world.look(process, Look(look.left[1:], look.found | {look.left[0]}))
    else:
        yield world.look(process, None)


def _world_steps(world: World) -> Iterator[World]:
    for row, pod in enumerate(world.pods):
        if pod.stage == "unborn":
            for process in range(len(world.attempts)):
                yield world.pod(row, stage="queued", at=process)
        elif pod.stage == "flying":
            stored = world.pod(row, stage="stored")
            if pod.tier == "on-demand":
                stored = replace(stored, existed=stored.existed | {world.slot(row)})
            yield stored
            if world.budget.refusals:
                yield world.pod(row, stage="unborn", tier="", turn=pod.turn + 1).spend(refusals=1)
        elif pod.stage == "queued" and world.budget.given_up:
            # Its attempt goes on, and may still grant a slot that nobody will be told of.
            yield world.pod(row, stage="unborn", at=-1, turn=pod.turn + 1).spend(given_up=1)
        elif pod.stage == "stored" and world.budget.deletions:
            yield world.pod(row, stage="unborn", tier="", turn=pod.turn + 1).spend(deletions=1)
    if world.budget.crashes:
        for process in range(len(world.attempts)):
            after = world.attempt(process, None).look(process, None).spend(crashes=1)
            for row in _rows(world, "queued", process):
                after = after.pod(row, stage="unborn", at=-1, turn=world.pods[row].turn + 1)
            yield after


@cache
def _written(attempt: Attempt | None) -> str:
    return repr(attempt)


def _canonical(world: World) -> World:
    """Processes are alike: number them by what they are doing, so that renamed worlds are one."""

    def work(process: int) -> tuple[str, str, list[int]]:
        return _written(world.attempts[process]), repr(world.looks[process]), _rows(world, "queued", process)

    order = sorted(range(len(world.attempts)), key=work)
    place = {process: row for row, process in enumerate(order)}
    pods = tuple(replace(pod, at=place[pod.at]) if pod.at >= 0 else pod for pod in world.pods)
    attempts, looks = (tuple(each[process] for process in order) for each in (world.attempts, world.looks))
    return replace(world, pods=pods, attempts=attempts, looks=looks)


def _at_rest(world: World) -> bool:
    return all(pod.stage == "stored" for pod in world.pods) and not any(world.attempts)


Mischief = Callable[[World, int], World]
"""A change made to an attempt after every step of anybody: a protocol that is wrong on purpose."""


def _explored(
    processes: int, replicas: int, target: int, budget: Budget, mischief: Mischief = lambda world, process: world
) -> Explored[World]:
    def check(world: World) -> None:
        placed = [pod for pod in world.pods if pod.tier == "on-demand"]
        assert len(placed) <= target, "above"
        assert not _at_rest(world) or len(placed) == target, "below"

    def successors(world: World) -> Iterator[World]:
        for after in chain(_world_steps(world), *(_attempt_steps(world, each, target) for each in range(processes))):
            for process in range(processes):
                after = mischief(after, process)
            yield _canonical(after)

    return explore(
        World((Pod(),) * replicas, SlotLedger(), (None,) * processes, NOTHING, budget, (None,) * processes),
        successors,
        check,
    )


CASES = {
    "two processes, a quota refusal and a deletion": (2, 2, 1, Budget(refusals=1, deletions=1)),
    "two processes, two slots of three, a refusal": (2, 3, 2, Budget(refusals=1)),
    "two processes, two slots of three, a deletion": (2, 3, 2, Budget(deletions=1)),
    "two processes, one slot of three, a deletion": (2, 3, 1, Budget(deletions=1)),
    "two processes, a lost answer and a crash": (2, 2, 1, Budget(lost=1, crashes=1)),
    "two processes, one given up and one refused": (2, 2, 1, Budget(given_up=1, refusals=1)),
    "three processes, one slot of three": (3, 3, 1, Budget()),
    "three processes, everything on demand": (3, 2, 2, Budget(refusals=1, lost=1)),
    "two processes, nothing on demand": (2, 3, 0, Budget(deletions=1)),
}


@pytest.mark.parametrize(("processes", "replicas", "target", "budget"), CASES.values(), ids=CASES)
def test_every_interleaving_keeps_the_count_and_can_come_to_rest(
    processes: int, replicas: int, target: int, budget: Budget
) -> None:
    """Never more than min(M, N) on demand, stored or on their way; at rest exactly so; no state is a dead end."""
    explored = _explored(processes, replicas, target, budget)
    assert len(explored.reached_from) > 500
    assert len(explored.can_reach(_at_rest)) == len(explored.reached_from)


def _reread(world: World, process: int) -> World:
    """List first, then take the version of the ledger: the write beats grants that the list did not show."""
    attempt = world.attempts[process]
    if attempt is None or attempt.step is not LedgerStep.WRITE:
        return world
    return world.attempt(process, replace(attempt, ledger=world.ledger))


def _impatient(world: World, process: int) -> World:
    """Answer spot while the slots are full only by reservations."""
    attempt = world.attempts[process]
    if attempt is None or not attempt.waiting:
        return world
    return world.attempt(process, replace(attempt, spot=attempt.spot + attempt.waiting, waiting=()))


def _forgetful(world: World, process: int) -> World:
    """Count only what is stored, as a webhook without reservations does."""
    attempt = world.attempts[process]
    if attempt is None or attempt.step is not LedgerStep.DONE or not attempt.waiting:
        return world
    return world.attempt(process, replace(attempt, granted=attempt.granted + attempt.waiting, waiting=()))


def _latecomer(world: World, process: int) -> World:
    """Look at the watch after the list: a pod that came in between seems to have gone."""
    attempt = world.attempts[process]
    if attempt is None or not attempt.waiting:
        return world
    listed = Listing(attempt.standing.stored, attempt.standing.stored)
    known = replace(attempt, knowledge=Knowledge(seen=world.existed))
    return world.attempt(process, known.list(listed))


def _trusting(world: World, process: int) -> World:
    """Take the watch at its word, and do not read the pods that it shows."""
    attempt, look = world.attempts[process], world.looks[process]
    if attempt is None or look is None:
        return world
    return world.look(process, None).attempt(process, attempt.look(frozenset(look.left), len(look.left)))


BROKEN = {
    "the list before the ledger": (_reread, Budget(refusals=1), "above"),
    "the watch after the list": (_latecomer, Budget(refusals=1), "above"),
    "no reservations": (_forgetful, Budget(refusals=1), "above"),
    "spot while unresolved": (_impatient, Budget(refusals=1), "below"),
    "the watch instead of the pods": (_trusting, Budget(deletions=1), "below"),
}


@pytest.mark.parametrize(("mischief", "budget", "want"), BROKEN.values(), ids=BROKEN)
def test_broken_protocols_are_caught(mischief: Mischief, budget: Budget, want: str) -> None:
    """The checker is worth something: protocols with a known flaw fail in the expected way."""
    with pytest.raises(AssertionError, match=want):
        _explored(2, 2, 1, budget, mischief)
