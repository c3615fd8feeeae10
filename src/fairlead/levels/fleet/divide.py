"""`divide`: how many replicas each cluster gets. This file is the flow; the steps are in the modules beside it."""

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kernel.rational import total
from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.overflow import spill
from fairlead.levels.fleet.select import CODES, filtered, passing, rejections, tiers_of, why
from fairlead.levels.fleet.shares import ClusterShares
from fairlead.levels.fleet.sharing import as_it_is, share_out
from fairlead.levels.fleet.spread import choose
from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Codes, Int
from fairlead.model.decision import Decision, Rejection, Trace
from fairlead.model.division import (
    NO_PRIOR,
    DividePolicy,
    DivideWorkload,
    DivisionAsk,
    FleetAffinity,
    Mode,
    PriorDivision,
    Reschedule,
)
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
    if not workload.replicas and clusters.bounded:
        # A minimum is of a workload that runs; one that is scaled to none has none anywhere.
        clusters = replace(clusters, minimum=np.zeros_like(clusters.minimum))
    ask = DivisionAsk(workload=workload, clusters=clusters, policy=policy, prior=prior)
    if policy.reschedule is Reschedule.KEEP:
        if (kept := standing(ask)) is not None:
            return kept
        ask = replace(ask, policy=replace(policy, reschedule=Reschedule.STEADY))
    groups: tuple[FleetAffinity | None, ...] = policy.affinities or (None,)
    refused: Division | None = None
    for group in groups:
        division = _spilling(ask, group) if group and group.overflow else _within(ask, group)
        if division.finding is None:
            return division
        refused = refused or division
    assert refused is not None  # there is at least one group
    return refused


def standing(ask: DivisionAsk) -> Division | None:
    """The prior as it is; None where one of its clusters is gone or no longer passes the first affinity group."""
    clusters, policy, prior = ask.clusters, ask.policy, ask.prior
    if prior is None or not prior.running <= set(clusters.names):
        return None
    group = policy.affinities[0] if policy.affinities else None
    column = passing(clusters, policy, group, prior.running)
    if any(column[clusters.row[name]] for name in prior.running):
        return None
    chosen = clusters if not column.any() else clusters.take(np.flatnonzero(column == 0))
    counts = np.array([prior.counts.get(name, 0) for name in chosen.names], dtype=np.int64)
    missing = _unplaced(ask, chosen, total(counts))
    details = {"room": total(counts), "replicas": ask.workload.replicas, "missing": missing}
    finding = because(reasons.INSUFFICIENT_ROOM, **details) if missing else None
    stayed = {name: prior.counts.get(name, 0) for name in prior.running}
    note = "nothing asks for a new division: the prior stands"
    shares = ClusterShares(counts=counts, finding=finding, kept=True, stayed=stayed, rule="kept", notes=(note,))
    return record(ask, chosen, column, shares, group)


def _within(ask: DivisionAsk, group: FleetAffinity | None) -> Division:
    """One affinity group: filter, choose, divide, record."""
    clusters, before = ask.clusters, ask.prior or NO_PRIOR
    column = filtered(clusters, ask.policy, group, before.running)
    column, finding, notes = _narrowed(ask, column)
    chosen = clusters.take(np.flatnonzero(column == 0)) if column.any() else clusters
    if finding is None:
        shares = share_out(ask.workload, chosen, ask.policy, ask.prior)
    else:
        shares = as_it_is(finding, chosen, ask.policy, before.counts, ask.workload.replicas)
    return record(ask, chosen, column, replace_notes(shares, notes), group)


def _spilling(ask: DivisionAsk, group: FleetAffinity) -> Division:
    """An affinity group that may spill over: its own clusters first, then those of each overflow in order."""
    clusters, before = ask.clusters, ask.prior or NO_PRIOR
    tiers = tiers_of(clusters, ask.policy, group, before.running)
    column, finding, notes = _narrowed(ask, passing(clusters, ask.policy, group, before.running), tiers)
    rows = [np.flatnonzero((tiers == tier) & (column == 0)) for tier in range(len(group.overflow) + 1)]
    rows = [each[np.argsort(clusters.rank[each], kind="stable")] for each in rows if len(each)]
    chosen = clusters.take(np.concatenate(rows)) if rows else clusters.take(np.flatnonzero(column == 0))
    if finding is None:
        shares = spill([clusters.take(each) for each in rows], ask.workload, ask.policy, before)
    else:
        shares = as_it_is(finding, chosen, ask.policy, before.counts, ask.workload.replicas)
    return record(ask, chosen, column, replace_notes(shares, notes), group)


def _narrowed(
    ask: DivisionAsk, column: Codes, tiers: Int | None = None
) -> tuple[Codes, Finding | None, tuple[str, ...]]:
    """The reason column after the choice by spread constraints; why there is no choice, and what is to be noted."""
    finding = _no_cluster(ask.clusters, column, ask.workload.replicas)
    if finding is not None or not ask.policy.spread:
        return column, finding, ()
    selection = choose(ask, np.flatnonzero(column == 0), tiers)
    column = np.where((column == 0) & ~selection.chosen, np.uint8(CODES[reasons.NOT_CHOSEN]), column)
    return column, selection.finding, selection.notes


def replace_notes(shares: ClusterShares, before: tuple[str, ...]) -> ClusterShares:
    """The shares with what was noted earlier put first."""
    return replace(shares, notes=before + shares.notes) if before else shares


def _no_cluster(clusters: ClusterTable, column: Codes, replicas: int) -> Finding | None:
    if not len(clusters):
        return because(reasons.NO_CLUSTERS, replicas=replicas)
    if column.all():
        return because(reasons.NO_CLUSTER_FITS, considered=len(clusters), why=why(rejections(column, clusters)))
    return None


def record(
    ask: DivisionAsk, chosen: ClusterTable, column: Codes, shares: ClusterShares, group: FleetAffinity | None
) -> Division:
    """The decision over all clusters from the shares of the chosen ones."""
    clusters = ask.clusters
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
        unplaced=_unplaced(ask, chosen, sum(counts)),
        finding=shares.finding,
        trace=Trace(
            considered=len(clusters),
            rejected=rejected,
            kept=shares.stayed,
            draws=shares.draws,
            notes=shares.notes,
        ),
        mode=ask.policy.mode,
        floors=floors,
        residual=shares.residual,
        kept=shares.kept,
        rule=shares.rule,
        chosen=chosen.names,
        removed=removed,
        group=group.name if group else "",
    )


def _unplaced(ask: DivisionAsk, chosen: ClusterTable, placed: int) -> int:
    mode, replicas = ask.policy.mode, ask.workload.replicas
    if mode is Mode.DUPLICATED and len(chosen):
        return max(0, replicas * len(chosen) - placed)
    seats = total(chosen.initial) if mode is Mode.WEBSTER else 0
    return max(0, replicas + seats - placed)
