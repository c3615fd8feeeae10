"""Manifests for `fairlead balance`: Longhorn objects to a decision, without a problem in between."""

import time
from collections.abc import Sequence
from dataclasses import astuple, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fairlead.cli.given import print_errors
from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.kube.codec.longhorn import StorageManifests
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.levels.disk.balance import Balance
    from fairlead.levels.disk.rebalance import Goal, Rebalance


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceOptions:
    """The options of the command that are for manifests, as they are called there."""

    alpha: str | None
    scope: str | None
    usable_as: str | None
    target: str | None
    max_moves: int | None
    max_bytes: str | None
    evacuate: Sequence[str]

    @property
    def given(self) -> bool:
        """Whether any of them is."""
        return any(value not in (None, ()) for value in astuple(self))


@dataclass(frozen=True, slots=True)
class BalanceManifests:
    """The objects, and the moves asked for, if any."""

    storage: "StorageManifests"
    goal: "Goal | None"


def solve(asked: BalanceManifests) -> "Balance | Rebalance":
    """Placements of the replicas that wait, or moves."""
    from fairlead.levels.disk.balance import balance
    from fairlead.levels.disk.rebalance import rebalance

    storage = asked.storage
    if asked.goal is not None:
        return rebalance(storage.volumes, storage.disks, storage.policy, asked.goal)
    return balance([each for each in storage.volumes if each.replicas], storage.disks, storage.policy)


def answer(asked: BalanceManifests, decision: "Balance | Rebalance") -> dict[str, Any]:
    """The answer as JSON values, with what could not be used."""
    from fairlead.problems.balance import record

    result = record(decision, by_volume=True)
    if asked.storage.errors:
        result["errors"] = [{"path": each.path, "message": each.message} for each in asked.storage.errors]
    return result


def asked_for(found: "Catalogue", source: str, options: BalanceOptions) -> BalanceManifests:
    """The objects of Longhorn, and the options; what cannot be used is told on standard error."""
    from fairlead.kube.codec.longhorn import storage
    from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume

    if not found.of(LonghornNode):
        raise InputError(source, "has no Node of longhorn.io; expected at least one")
    given = storage(
        found.of(LonghornNode),
        found.of(LonghornVolume),
        found.of(LonghornReplica),
        found.of(LonghornSetting),
        now=time.time(),
        by_maximum=options.usable_as == "maximum",
    )
    left_out = (*given.errors, *given.left_out)
    print_errors(left_out)
    given = replace(given, errors=(*found.errors, *left_out))
    share = _fraction("--alpha", options.alpha, 1) if options.alpha is not None else Fraction(1)
    given = replace(given, policy=replace(given.policy, alpha=share, everywhere=options.scope == "all"))
    return BalanceManifests(given, _goal(given, options))


def _goal(given: "StorageManifests", options: BalanceOptions) -> "Goal | None":
    from fairlead.levels.disk.rebalance import Goal
    from fairlead.model.amounts import amount
    from fairlead.problems.balance import emptied

    target, most = options.target, options.max_bytes
    if target is None and not options.evacuate:
        if options.max_moves is not None or most is not None:
            raise InputError("--max-moves", "limits moves, but none are asked for; add --target or --evacuate")
        return None
    rows: set[int] = set()
    for text in options.evacuate:
        node, _, disk = text.partition("/")
        rows |= emptied(given.disks, node, disk, "--evacuate")
    return Goal(
        target=_fraction("--target", target, None) if target is not None else None,
        moves=options.max_moves,
        bytes=amount("storage", most, "--max-bytes") if most is not None else None,
        emptied=frozenset(rows),
    )


def _fraction(option: str, text: str, most: int | None) -> Fraction:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InputError(option, f"{text!r} is not a number") from None
    if value < 0 or (most is not None and value > most):
        raise InputError(option, f"{text} is outside 0 … {most if most is not None else 'any'}")
    return value
