"""`divide`: how many replicas each cluster gets. This file is the flow; the steps are in the modules beside it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from fairlead.kernel.rational import total
from fairlead.levels.fleet import modes, reasons
from fairlead.levels.fleet.one import divide_static
from fairlead.levels.fleet.quota import Bounds, quotas
from fairlead.levels.fleet.select import CODES, filtered, rejections, why
from fairlead.levels.fleet.shares import Shares
from fairlead.levels.fleet.spread import choose
from fairlead.model.clusters import NO_LIMIT, ClusterTable
from fairlead.model.columns import Codes, Int
from fairlead.model.decision import Decision, Rejection, Trace
from fairlead.model.division import NO_PRIOR, Affinity, DividePolicy, DivideWorkload, Mode, PriorDivision, Reschedule
from fairlead.model.reasons import Finding, Reason, because

_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Division(Decision):
    """Replicas of each cluster. `placements` lists every cluster, those that get 0 too.

    `floors` and `residual` are those of the weights (static, webster); `kept` says that the whole prior was reused;
    `rule` names what decided; `chosen` are the clusters that took part, `removed` why the others did not;
    `group` is the affinity group that was taken.
    """

    mode: Mode
    floors: Mapping[str, int] = field(default_factory=lambda: _NONE)
    residual: int = 0
    kept: bool = False
    rule: str = ""
    chosen: tuple[str, ...] = ()
    removed: Mapping[str, Reason] = field(default_factory=lambda: MappingProxyType({}))
    group: str = ""


def divide(
    workload: DivideWorkload, clusters: ClusterTable, policy: DividePolicy, *, prior: PriorDivision | None = None
) -> Division:
    """Divide the workload's replicas over the clusters; affinity groups are tried in order until one can.

    The same input gives the same answer, whatever the order of the clusters. Nothing is raised for what does not
    fit: the finding says why, and `unplaced` how many are left. Without `partial`, what does not fit as a whole
    leaves things as they are (what the prior has on clusters that still pass).
    """
    if policy.reschedule is Reschedule.KEEP:
        if (kept := standing(workload, clusters, policy, prior)) is not None:
            return kept
        policy = replace(policy, reschedule=Reschedule.STEADY)
    groups: tuple[Affinity | None, ...] = policy.affinities or (None,)
    refused: Division | None = None
    for group in groups:
        division = _within(workload, clusters, policy, prior, group)
        if division.finding is None:
            return division
        refused = refused or division
    assert refused is not None  # there is at least one group
    return refused


def standing(
    workload: DivideWorkload, clusters: ClusterTable, policy: DividePolicy, prior: PriorDivision | None
) -> Division | None:
    """The prior as it is; None where one of its clusters is gone or no longer passes the first affinity group."""
    if prior is None or not prior.running <= set(clusters.names):
        return None
    group = policy.affinities[0] if policy.affinities else None
    column = filtered(clusters, policy, group, prior.running)
    if any(column[clusters.row[name]] for name in prior.running):
        return None
    chosen = clusters if not column.any() else clusters.take(np.flatnonzero(column == 0))
    counts = np.array([prior.counts.get(name, 0) for name in chosen.names], dtype=np.int64)
    missing = _unplaced(workload, policy, chosen, total(counts))
    details = {"room": total(counts), "replicas": workload.replicas, "missing": missing}
    finding = because(reasons.INSUFFICIENT_ROOM, **details) if missing else None
    stayed = {name: prior.counts.get(name, 0) for name in prior.running}
    note = "nothing asks for a new division: the prior stands"
    shares = Shares(counts=counts, finding=finding, kept=True, stayed=stayed, rule="kept", notes=(note,))
    return record(workload, clusters, policy, chosen, column, shares, group)


def _within(
    workload: DivideWorkload,
    clusters: ClusterTable,
    policy: DividePolicy,
    prior: PriorDivision | None,
    group: Affinity | None,
) -> Division:
    """One affinity group: filter, choose, divide, record."""
    before = prior or NO_PRIOR
    column = filtered(clusters, policy, group, before.running)
    unfiltered = not np.count_nonzero(column)
    finding = None if unfiltered and len(clusters) else _nobody(clusters, column, workload.replicas)
    notes: tuple[str, ...] = ()
    if finding is None and policy.spread:
        selection = choose(clusters, np.flatnonzero(column == 0), policy, workload.replicas, before)
        finding, notes = selection.finding, selection.notes
        column = np.where((column == 0) & ~selection.chosen, np.uint8(CODES[reasons.NOT_CHOSEN]), column)
        unfiltered = not column.any()
    chosen = clusters if unfiltered else clusters.take(np.flatnonzero(column == 0))
    if finding is None:
        shares = share_out(workload, chosen, policy, prior)
    else:
        shares = _as_it_is(finding, chosen, policy, before.counts, workload.replicas)
    return record(workload, clusters, policy, chosen, column, replace_notes(shares, notes), group)


def replace_notes(shares: Shares, before: tuple[str, ...]) -> Shares:
    """The shares with what was noted earlier put first."""
    return replace(shares, notes=before + shares.notes) if before else shares


def share_out(
    workload: DivideWorkload, chosen: ClusterTable, policy: DividePolicy, prior: PriorDivision | None
) -> Shares:
    """The replicas divided over clusters that all take part."""
    counts = prior.counts if prior else _NONE
    held = np.array([counts.get(name, 0) for name in chosen.names], dtype=np.int64) if counts else None
    weighs = policy.mode in (Mode.STATIC, Mode.WEBSTER)
    if weighs and workload.replicas and not np.count_nonzero(chosen.weights):
        nobody = because(reasons.ZERO_WEIGHTS, clusters=len(chosen), replicas=workload.replicas)
        return _as_it_is(nobody, chosen, policy, counts, workload.replicas)
    bounds = bounds_of(chosen, policy, held, weighs=weighs)
    replicas = workload.replicas
    finding: Finding | None = None
    if bounds is not None:
        finding = _refusal(workload, chosen, policy, bounds)
        if finding is not None:
            short = finding.reason in (reasons.INSUFFICIENT_ROOM, reasons.MAXIMUMS_TOO_LOW)
            if not (policy.partial and short):
                return _as_it_is(finding, chosen, policy, counts, workload.replicas)
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
) -> Shares:
    """Every mode but static."""
    if policy.mode is Mode.DUPLICATED:
        return Shares(counts=modes.duplicated(replicas, bounds, len(chosen)), rule="duplicated")
    ties = modes.tie_order(chosen, policy.ties, workload.tie_uid)
    if policy.mode is Mode.WEBSTER:
        floors = quotas(chosen.weights[None, :], np.array([replicas]))[0][0]
        counts = modes.by_webster(chosen, replicas, bounds, ties)
        return Shares(counts=counts, floors=floors, residual=replicas - total(floors), rule="webster")
    assert bounds is not None  # modes by room always have bounds
    ask = modes.Ask(
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
    return Shares(counts=counts, kept=kept, stayed=stayed, rule=f"{policy.mode}, {policy.reschedule}")


def _nobody(clusters: ClusterTable, column: Codes, replicas: int) -> Finding | None:
    if not len(clusters):
        return because(reasons.NO_CLUSTERS, replicas=replicas)
    if column.all():
        return because(reasons.NO_CLUSTER_FITS, considered=len(clusters), why=why(rejections(column, clusters)))
    return None


def _as_it_is(
    finding: Finding, chosen: ClusterTable, policy: DividePolicy, counts: Mapping[str, int], replicas: int
) -> Shares:
    """Nothing new is placed: what runs stays, unless that alone is more than the replicas; so do initial seats."""
    if policy.mode is Mode.WEBSTER:
        return Shares(counts=chosen.initial, finding=finding, rule="refused")
    held = np.array([counts.get(name, 0) for name in chosen.names], dtype=np.int64)
    if total(held) > replicas:
        held = np.zeros_like(held)
    return Shares(counts=held, finding=finding, rule="refused")


def record(
    workload: DivideWorkload,
    clusters: ClusterTable,
    policy: DividePolicy,
    chosen: ClusterTable,
    column: Codes,
    shares: Shares,
    group: Affinity | None,
) -> Division:
    """The decision over all clusters from the shares of the chosen ones."""
    counts = shares.counts.tolist()
    placements = dict(zip(chosen.names, counts, strict=True))
    floors = {} if shares.floors is None else dict(zip(chosen.names, shares.floors.tolist(), strict=True))
    rejected: tuple[Rejection, ...] = ()
    removed: Mapping[str, Reason] = MappingProxyType({})
    if chosen is not clusters:
        rejected = rejections(column, clusters)
        removed = {
            name: reasons.FILTERS[code - 1] for name, code in zip(clusters.names, column.tolist(), strict=True) if code
        }
        placements = {name: placements.get(name, 0) for name in clusters.names}
        floors = {name: floors.get(name, 0) for name in clusters.names} if floors else floors
    return Division(
        placements=placements,
        unplaced=_unplaced(workload, policy, chosen, sum(counts)),
        finding=shares.finding,
        trace=Trace(
            considered=len(clusters),
            rejected=rejected,
            kept=shares.stayed,
            draws=shares.draws,
            notes=shares.notes,
        ),
        mode=policy.mode,
        floors=floors,
        residual=shares.residual,
        kept=shares.kept,
        rule=shares.rule,
        chosen=chosen.names,
        removed=removed,
        group=group.name if group else "",
    )


def _unplaced(workload: DivideWorkload, policy: DividePolicy, chosen: ClusterTable, placed: int) -> int:
    if policy.mode is Mode.DUPLICATED and len(chosen):
        return max(0, workload.replicas * len(chosen) - placed)
    seats = total(chosen.initial) if policy.mode is Mode.WEBSTER else 0
    return max(0, workload.replicas + seats - placed)
