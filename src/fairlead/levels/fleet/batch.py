"""Many divisions of any kind: those that fit a matrix are settled together, the others one by one."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlead.levels.fleet import draw
from fairlead.levels.fleet.divide import Division, divide, record, standing
from fairlead.levels.fleet.select import filtered
from fairlead.levels.fleet.static import Rows
from fairlead.levels.fleet.static_batch import PriorBatch, settle_many
from fairlead.levels.fleet.static_one import shares_of
from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Bool, Int
from fairlead.model.division import NO_PRIOR, DividePolicy, DivisionAsk, Mode, Reschedule, Sticky

_Key = tuple[tuple[str, ...], DividePolicy, bool]


def divide_all(asks: Sequence[DivisionAsk]) -> list[Division]:
    """`divide` of each, in order; residuals balanced among those that ask for it and have the same clusters."""
    results: dict[int, Division] = {}
    groups: dict[_Key, list[int]] = {}
    for place, ask in enumerate(asks):
        if (stands := _standing(ask)) is not None:
            results[place] = stands
        elif _plain(ask):
            names = tuple(sorted(ask.clusters.names))
            groups.setdefault((names, _steady(ask.policy), ask.clusters.reports_room), []).append(place)
    for key, places in groups.items():
        if len(places) > 1:
            divisions = _together(key[0], [asks[place] for place in places])
            results.update(zip(places, divisions, strict=True))
    return [
        results[place] if place in results else divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)
        for place, ask in enumerate(asks)
    ]


def narrowed(ask: DivisionAsk) -> DivisionAsk:
    """The same question over the clusters that pass the filters, where there is but one affinity group.

    Without filters many questions fit one matrix. The answer is the same but for the clusters that were removed.
    """
    policy = ask.policy
    spills = any(each.overflow for each in policy.affinities)
    if len(policy.affinities) > 1 or spills or policy.spread or not ask.clusters.traits:
        return ask
    running = (ask.prior or NO_PRIOR).running
    column = filtered(ask.clusters, policy, policy.affinities[0] if policy.affinities else None, running)
    if not len(column) or column.all():
        return ask
    rows = ask.clusters.take(np.flatnonzero(column == 0))
    return replace(ask, clusters=replace(rows, traits=()), policy=replace(policy, affinities=(), tolerations=()))


def _standing(ask: DivisionAsk) -> Division | None:
    """The prior of an ask that has no need of a new division."""
    if ask.policy.reschedule is not Reschedule.KEEP:
        return None
    return standing(ask)


def _steady(policy: DividePolicy) -> DividePolicy:
    """The policy under which a prior that does not stand is divided again."""
    return replace(policy, reschedule=Reschedule.STEADY) if policy.reschedule is Reschedule.KEEP else policy


def _plain(ask: DivisionAsk) -> bool:
    """Whether a matrix row says all there is to the ask: no filters, no bounds, some weight."""
    policy, clusters = ask.policy, ask.clusters
    filters = policy.affinities or policy.spread or clusters.traits
    bounds = clusters.bounded or policy.needs_room
    return policy.mode is Mode.STATIC and not filters and not bounds and bool(clusters.weights.any())


def _together(names: tuple[str, ...], asks: Sequence[DivisionAsk]) -> list[Division]:
    """Asks over the same clusters with the same policy."""
    policy = asks[0].policy
    orders = [_order(ask.clusters, names) for ask in asks]
    common = asks[0].clusters.take(orders[0])
    rows = Rows(
        uids=draw.uid_digests([ask.workload.uid for ask in asks]),
        targets=draw.digests(names),
        rank=common.rank,
        weights=np.stack([ask.clusters.weights[order] for ask, order in zip(asks, orders, strict=True)]),
        units=np.array([ask.workload.replicas for ask in asks], dtype=np.int64),
        capacity=_capacity(asks, orders),
        coefficient=policy.coefficient,
        sticky=Sticky.NONE if policy.reschedule is Reschedule.FRESH else policy.sticky,
    )
    prior = _priors(names, asks)
    settled = settle_many(rows, prior, balanced=policy.balance_residuals)
    divisions = []
    for row, (ask, order) in enumerate(zip(asks, orders, strict=True)):
        held = None if ask.prior is None else prior.counts[row]
        shares = shares_of(settled, row, ask.workload.uid, common, ask.prior, held)
        back = np.argsort(order)
        own = replace(shares, counts=shares.counts[back], floors=settled.floors[row][back])
        passed = np.zeros(len(names), dtype=np.uint8)
        divisions.append(record(ask, ask.clusters, passed, own, None))
    return divisions


def _order(clusters: ClusterTable, names: tuple[str, ...]) -> Int:
    """The rows of the table in the order of the names."""
    return np.array([clusters.row[name] for name in names], dtype=np.int64)


def _capacity(asks: Sequence[DivisionAsk], orders: Sequence[Int]) -> Int | None:
    if not asks[0].clusters.reports_room:
        return None
    return np.stack([ask.clusters.capacity[order] for ask, order in zip(asks, orders, strict=True)])


def _priors(names: tuple[str, ...], asks: Sequence[DivisionAsk]) -> PriorBatch:
    """The priors of the asks as matrices; rows without one are not `known`."""
    priors = [ask.prior for ask in asks]
    member: Bool = np.array([[prior is not None and name in prior.counts for name in names] for prior in priors])
    weights = [[prior.weights.get(name, 1) if prior else 0 for name in names] for prior in priors]
    counts = [[prior.counts.get(name, 0) if prior else 0 for name in names] for prior in priors]
    sizes = np.array([len(prior.counts) if prior else 0 for prior in priors])
    return PriorBatch(
        known=np.array([prior is not None for prior in priors]),
        static=np.array([prior is not None and prior.mode is Mode.STATIC for prior in priors]),
        vanished=member.sum(axis=1) < sizes,
        replicas=np.array([prior.replicas if prior else 0 for prior in priors], dtype=np.int64),
        member=member,
        weights=np.array(weights, dtype=np.int64),
        counts=np.array(counts, dtype=np.int64),
    )
