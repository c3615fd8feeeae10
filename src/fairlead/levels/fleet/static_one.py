"""Static division of one workload: its prior and bounds put into rows, the result read back with its story."""

from collections.abc import Mapping
from itertools import compress
from types import MappingProxyType

import numpy as np

from fairlead.kernel.rational import total
from fairlead.levels.fleet import draw
from fairlead.levels.fleet.quota import Bounds, free_part, quotas
from fairlead.levels.fleet.shares import ClusterShares
from fairlead.levels.fleet.static import PriorRows, Rows, Settled, StaticRule, settle
from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Bool, Int
from fairlead.model.decision import Draw
from fairlead.model.division import DividePolicy, Mode, PriorDivision, Reschedule, Sticky

NOTES = {
    StaticRule.DRAW: "the residual is drawn",
    StaticRule.REUSE: "the prior result still fits and is kept",
    StaticRule.HOLDERS: "the floors are the same as before: previous holders of a residual come first",
    StaticRule.FEWEST_MOVES: "clusters that run more than their floor come first, so that the fewest replicas move",
}

NO_REMAINDER = "no remainder"
"""The rule where every quota is whole, so that nothing is drawn."""

_RULES = {rule: rule.name.lower().replace("_", " ") for rule in StaticRule}


def divide_static(
    uid: str,
    replicas: int,
    chosen: ClusterTable,
    policy: DividePolicy,
    prior: PriorDivision | None,
    held: Int | None,
    bounds: Bounds | None,
) -> ClusterShares:
    """The shares of a division by static weight."""
    weights, base, units = chosen.weights, None, replicas
    if bounds is not None:
        weights, fixed, units = free_part(chosen.weights, replicas, bounds)
        base = fixed[None, :]
    settled = settle(
        Rows(
            uids=draw.uid_digests((uid,)),
            targets=draw.digests(chosen.names),
            rank=chosen.rank,
            weights=weights[None, :],
            units=np.array([units]),
            base=base,
            capacity=chosen.capacity[None, :] if chosen.reports_room else None,
            coefficient=policy.coefficient,
            sticky=Sticky.NONE if policy.reschedule is Reschedule.FRESH else policy.sticky,
            prior=None if prior is None else _prior_row(prior, chosen, held, bounds),
        )
    )
    return shares_of(settled, 0, uid, chosen, prior, held)


def shares_of(
    settled: Settled, row: int, uid: str, chosen: ClusterTable, prior: PriorDivision | None, held: Int | None
) -> ClusterShares:
    """One row of a settled batch as shares."""
    rule = StaticRule(int(settled.rule[row]))
    counts = settled.counts[row]
    residual = int(settled.residual[row])
    kept = rule is StaticRule.REUSE
    if rule is StaticRule.FEWEST_MOVES and prior is not None and held is not None:
        kept = bool((counts == held).all()) and total(held) == sum(prior.counts.values())
    whole = rule is StaticRule.DRAW and not residual
    note = "every quota is whole: nothing is left to draw" if whole else NOTES[rule]
    return ClusterShares(
        counts=counts,
        floors=settled.floors[row],
        residual=residual,
        kept=kept,
        stayed=_stayed(rule, counts, settled.floors[row], chosen, prior),
        rule=NO_REMAINDER if whole else _RULES[rule],
        draws=_draws(settled, row, uid, chosen),
        notes=(note,),
    )


def _stayed(
    rule: StaticRule, counts: Int, floors: Int, chosen: ClusterTable, prior: PriorDivision | None
) -> Mapping[str, int]:
    """What each cluster keeps: all of a prior that is reused, else the residuals that stay."""
    if prior is None or rule is StaticRule.DRAW:
        return MappingProxyType({})
    had = prior.counts
    cells = zip(chosen.names, counts.tolist(), floors.tolist(), strict=True)
    if rule is StaticRule.REUSE:
        return {name: count for name, count, _ in cells if name in had}
    return {name: count for name, count, floor in cells if floor < count <= had.get(name, 0)}


def _draws(settled: Settled, row: int, uid: str, chosen: ClusterTable) -> tuple[Draw, ...]:
    if settled.odds is None:
        return ()
    drawing, names = settled.drawing[row], chosen.names
    able = np.count_nonzero(drawing)
    if not able:
        return ()
    everybody = able == len(names)
    odds = settled.odds[row] if everybody else settled.odds[row][drawing]
    return (
        Draw(
            equals=names if everybody else tuple(compress(names, drawing.tolist())),
            weights=tuple(odds.tolist()),
            key=f"{uid}#{int(settled.draws[row]):016x}",
            winners=tuple(compress(names, settled.won[row].tolist())),
        ),
    )


def _prior_row(prior: PriorDivision, chosen: ClusterTable, held: Int | None, bounds: Bounds | None) -> PriorRows:
    """The prior as a batch of one."""
    member = np.array([[name in prior.counts for name in chosen.names]])
    counts = np.zeros(len(chosen), dtype=np.int64) if held is None else held
    static = prior.mode is Mode.STATIC

    def floors(rows: Int) -> Int:
        weights = np.array([prior.weights.get(name, 1) for name in chosen.names], dtype=np.int64)
        return _prior_floors(weights, prior.replicas, bounds)

    return PriorRows(
        known=_flag(True),
        static=_flag(static),
        vanished=_flag(int(member.sum()) < len(prior.counts)),
        replicas=np.array([prior.replicas]),
        member=member,
        counts=counts[None, :],
        floors=floors,
    )


def _prior_floors(weights: Int, replicas: int, bounds: Bounds | None) -> Int:
    """The floors the prior had, within today's bounds; −1, which equals none of today's, where it had none."""
    if bounds is None:
        return quotas(weights[None, :], np.array([replicas]))[0]
    if bounds.refuses(replicas, ()) is not None:
        return np.full((1, len(weights)), -1, dtype=np.int64)
    free, fixed, units = free_part(weights, replicas, bounds)
    return np.add(fixed, quotas(free[None, :], np.array([units]))[0])


def _flag(value: bool) -> Bool:
    return np.array([value])
