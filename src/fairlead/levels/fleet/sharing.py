"""The replicas of a workload shared out over clusters that all take part, whatever the mode."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from fairlead.kernel.rational import total
from fairlead.levels.fleet import modes, reasons
from fairlead.levels.fleet.quota import Bounds, quotas
from fairlead.levels.fleet.shares import ClusterShares
from fairlead.levels.fleet.static_one import divide_static
from fairlead.model.clusters import NO_LIMIT, ClusterTable
from fairlead.model.columns import Int
from fairlead.model.division import DividePolicy, DivideWorkload, Mode, PriorDivision
from fairlead.model.reasons import Finding, because

_NONE: Mapping[str, int] = MappingProxyType({})


def share_out(
    workload: DivideWorkload, chosen: ClusterTable, policy: DividePolicy, prior: PriorDivision | None
) -> ClusterShares:
    """The replicas divided over clusters that all take part."""
    counts = prior.counts if prior else _NONE
    held = np.array([counts.get(name, 0) for name in chosen.names], dtype=np.int64) if counts else None
    weighs = policy.mode in (Mode.STATIC, Mode.WEBSTER)
    if weighs and workload.replicas and not np.count_nonzero(chosen.weights):
        zero_weights = because(reasons.ZERO_WEIGHTS, clusters=len(chosen), replicas=workload.replicas)
        return as_it_is(zero_weights, chosen, policy, counts, workload.replicas)
    bounds = bounds_of(chosen, policy, held, weighs=weighs)
    replicas = workload.replicas
    finding: Finding | None = None
    if bounds is not None:
        finding = _refusal(workload, chosen, policy, bounds)
        if finding is not None:
            short = finding.reason in (reasons.INSUFFICIENT_ROOM, reasons.MAXIMUMS_TOO_LOW)
            if not (policy.partial and short):
                return as_it_is(finding, chosen, policy, counts, workload.replicas)
            if policy.mode is not Mode.DUPLICATED:
                replicas = total(bounds.upper) - (total(chosen.initial) if policy.mode is Mode.WEBSTER else 0)
    if policy.mode is Mode.STATIC:
        shares = divide_static(workload.uid, replicas, chosen, policy, prior, held, bounds)
    else:
        shares = _by_mode(workload, replicas, chosen, policy, held, bounds)
    return replace(shares, finding=finding) if finding else shares


def bounds_of(clusters: ClusterTable, policy: DividePolicy, held: Int | None, *, weighs: bool) -> Bounds | None:
    """The bounds that bind this division; None where there are none.

    Room counts beside what already runs, so it never forces a running replica out.
    """
    if not clusters.bounded and not policy.needs_room:
        return None
    upper = clusters.maximum
    short = False
    if policy.needs_room:
        running = clusters.capacity if held is None else clusters.capacity + held
        limit = np.where(clusters.capacity < 0, NO_LIMIT, running)
        short = bool((limit < upper).any())
        upper = np.minimum(upper, limit)
    if weighs:
        upper = np.where(clusters.weights > 0, upper, np.minimum(upper, clusters.minimum))
    if policy.mode is Mode.WEBSTER:
        # Seats that are there before the rule begins are not taken away by it.
        upper = np.maximum(upper, clusters.initial)
    return Bounds(clusters.minimum, upper, short)


def _refusal(workload: DivideWorkload, chosen: ClusterTable, policy: DividePolicy, bounds: Bounds) -> Finding | None:
    if policy.mode is Mode.DUPLICATED:
        missing = total(np.maximum(workload.replicas - bounds.upper, 0))
        everything = workload.replicas * len(chosen)
        reason = reasons.INSUFFICIENT_ROOM if bounds.room else reasons.MAXIMUMS_TOO_LOW
        details = {"room": everything - missing, "replicas": everything, "missing": missing}
        return because(reason, **details) if missing else None
    seats = total(chosen.initial) if policy.mode is Mode.WEBSTER else 0
    return bounds.refuses(workload.replicas + seats, chosen.names)


def _by_mode(
    workload: DivideWorkload,
    replicas: int,
    chosen: ClusterTable,
    policy: DividePolicy,
    held: Int | None,
    bounds: Bounds | None,
) -> ClusterShares:
    """Every mode but static."""
    if policy.mode is Mode.DUPLICATED:
        return ClusterShares(counts=modes.duplicated(replicas, bounds, len(chosen)), rule="duplicated")
    ties = modes.tie_order(chosen, policy.ties, workload.tie_uid)
    if policy.mode is Mode.WEBSTER:
        floors = quotas(chosen.weights[None, :], np.array([replicas]))[0][0]
        counts = modes.by_webster(chosen, replicas, bounds, ties)
        return ClusterShares(counts=counts, floors=floors, residual=replicas - total(floors), rule="webster")
    assert bounds is not None  # modes by room always have bounds
    ask = modes.RoomDivision(
        replicas=replicas,
        held=np.zeros(len(chosen), dtype=np.int64) if held is None else held,
        room=np.where(chosen.capacity < 0, max(replicas, 1), chosen.capacity),
        bounds=bounds,
        ties=ties,
        reschedule=policy.reschedule,
    )
    counts = modes.dynamic(ask) if policy.mode is Mode.DYNAMIC else modes.aggregated(ask, packed=policy.packed)
    kept = held is not None and bool((counts == held).all()) and total(held) == replicas
    stayed = dict(zip(chosen.names, counts.tolist(), strict=True)) if kept else _NONE
    return ClusterShares(counts=counts, kept=kept, stayed=stayed, rule=f"{policy.mode}, {policy.reschedule}")


def as_it_is(
    finding: Finding, chosen: ClusterTable, policy: DividePolicy, counts: Mapping[str, int], replicas: int
) -> ClusterShares:
    """Nothing new is placed: what runs stays, unless that alone is more than the replicas; so do initial seats."""
    if policy.mode is Mode.WEBSTER:
        return ClusterShares(counts=chosen.initial, finding=finding, rule="refused")
    held = np.array([counts.get(name, 0) for name in chosen.names], dtype=np.int64)
    if total(held) > replicas:
        held = np.zeros_like(held)
    return ClusterShares(counts=held, finding=finding, rule="refused")
