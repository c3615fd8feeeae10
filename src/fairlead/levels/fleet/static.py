"""Division by static weight with a residual that is drawn once and then kept: the rules, for many at once.

Everything here is a matrix with one row for each binding and one column for each cluster. `divide` uses it with one
row, `divide_all` with many; so both give the same answer.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass
from fairlead.kernel import lottery
from fairlead.levels.fleet import draw
from fairlead.levels.fleet.quota import quotas
from fairlead.model.columns import Bool, Int
from fairlead.model.division import Sticky


class StaticRule(IntEnum):
    """Which rule decided a row."""

    DRAW = 0
    """No prior, last mode not static, or floors that changed: everything is drawn."""
    REUSE = 1
    """The prior still fits and is kept as it is."""
    HOLDERS = 2
    """The floors are the same: previous holders of a residual come first."""
    FEWEST_MOVES = 3
    """`sticky: most`: a cluster that runs more than its floor comes first."""


@dataclass(frozen=True, slots=True)
class PriorRows:
    """The last results. `known` rows have one; `static` ones were made by static weight; `vanished` ones name a
    cluster that is no longer there. `member` are the clusters that took part, `floors` those of the prior weights."""

    known: Bool
    static: Bool
    vanished: Bool
    replicas: Int
    member: Bool
    counts: Int
    floors: Callable[[Int], Int]
    """Prior floors of the rows asked for: they are needed only where rule 2 does not answer."""


@dataclass(frozen=True, slots=True)
class Rows:
    """What is divided: weights[m, n], units[m] to divide by them, and `base`[m, n] given beforehand (bounds)."""

    uids: NDArray[np.uint64]
    targets: NDArray[np.uint64]
    rank: Int
    weights: Int
    units: Int
    base: Int | None = None
    capacity: Int | None = None
    coefficient: Fraction | None = None
    sticky: Sticky = Sticky.SEED
    prior: PriorRows | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The result and what led to it. `drawing` clusters took part in a draw with these `odds`; `draws` numbers it."""

    counts: Int
    floors: Int
    residual: Int
    rule: Int
    drawing: Bool
    odds: NDArray[Any] | None
    won: Bool
    draws: NDArray[np.uint64]


@dataclass(slots=True)
class _Ask:
    """What each cluster has before the draw, which may draw, and for how many. Changed rule by rule."""

    counts: Int
    drawing: Bool
    take: Int
    rule: Int


def settle(rows: Rows) -> Settled:
    """Divide every row by the rules of the proposal (docs/levels/fleet.md), in their order."""
    floors, part = quotas(rows.weights, rows.units)
    low = floors if rows.base is None else floors + rows.base
    residual = rows.units - np.add.reduce(floors, axis=1)
    ask = _Ask(counts=low, drawing=part, take=residual, rule=np.zeros(len(residual), dtype=np.int64))
    if rows.prior is not None and rows.sticky is not Sticky.NONE and rows.prior.known.any():
        ask = _Ask(counts=low.copy(), drawing=part.copy(), take=residual.copy(), rule=ask.rule)
        if rows.sticky is Sticky.MOST:
            _first(ask, np.flatnonzero(rows.prior.known), part & (rows.prior.counts > low), StaticRule.FEWEST_MOVES)
        else:
            _by_seed(ask, rows.prior, low, part)
    return _drawn(rows, ask, low, residual)


def _by_seed(ask: _Ask, prior: PriorRows, low: Int, part: Bool) -> None:
    """Rule 2, then rule 4's second form; what neither answers is drawn."""
    replicas = low.sum(axis=1) + ask.take
    complete = prior.member.all(axis=1)
    same = prior.static & complete & ~prior.vanished
    grown = prior.static & ~complete & ~prior.vanished & (replicas > prior.replicas)
    shrunk = prior.static & complete & prior.vanished & (replicas < prior.replicas)
    high = low + part
    inside = (((low <= prior.counts) & (prior.counts <= high)) | ~prior.member).all(axis=1)
    rest = replicas - np.where(prior.member, prior.counts, 0).sum(axis=1)
    new_low = np.where(prior.member, 0, low).sum(axis=1)
    new_high = np.where(prior.member, 0, high).sum(axis=1)
    reuse = (same | grown | shrunk) & inside & (new_low <= rest) & (rest <= new_high)
    if reuse.any():
        rows = np.flatnonzero(reuse)
        ask.counts[rows] = np.where(prior.member[rows], prior.counts[rows], low[rows])
        ask.drawing[rows] = part[rows] & ~prior.member[rows]
        ask.take[rows] = (rest - new_low)[rows]
        ask.rule[rows] = StaticRule.REUSE
    open_rows = np.flatnonzero(same & ~reuse)
    if len(open_rows):
        before = prior.floors(open_rows)
        unchanged = (before == low[open_rows]).all(axis=1)
        held = np.zeros_like(part)
        held[open_rows] = prior.counts[open_rows] > before
        _first(ask, open_rows[unchanged], held & part, StaticRule.HOLDERS)


def _first(ask: _Ask, rows: Int, held: Bool, rule: StaticRule) -> None:
    """In these rows the clusters in `held` come first: all of them win, or only they draw."""
    mine = held[rows]
    holders = mine.sum(axis=1)
    enough = holders >= ask.take[rows]
    given = mine & ~enough[:, None]
    ask.counts[rows] += given
    ask.drawing[rows] = np.where(enough[:, None], mine, ask.drawing[rows] & ~mine)
    ask.take[rows] -= np.where(enough, 0, holders)
    ask.rule[rows] = rule


def _drawn(rows: Rows, ask: _Ask, low: Int, residual: Int) -> Settled:
    """Draw where more may win than there are residuals."""
    take = ask.take
    if len(take) == 1:
        # One row is compared as plain numbers, which costs a tenth.
        every = 0 < int(take[0]) < np.count_nonzero(ask.drawing)
        contested = np.array([every])
    else:
        contested = (take > 0) & (take < ask.drawing.sum(axis=1))
        every = bool(contested.all())
    if every:
        settled = Settled(ask.counts, low, residual, ask.rule, ask.drawing, None, ask.drawing, _NO_DRAW)
        return _contended(rows, ask, settled, take, slice(None))
    won = ask.drawing & ((take > 0) & ~contested)[:, None]
    drawing = ask.drawing & contested[:, None]
    draws = np.zeros(len(take), dtype=np.uint64)
    settled = Settled(ask.counts + won, low, residual, ask.rule, drawing, None, won, draws)
    return _contended(rows, ask, settled, take, np.flatnonzero(contested)) if contested.any() else settled


_NO_DRAW = np.zeros(1, dtype=np.uint64)


def _contended(rows: Rows, ask: _Ask, settled: Settled, take: Int, pick: Any) -> Settled:
    """The rows in `pick` draw; the others are settled already."""
    drawing = settled.drawing[pick]
    weights = rows.weights[pick] * drawing
    capacity = None if rows.capacity is None else rows.capacity[pick]
    odds = draw.odds(weights, capacity, rows.coefficient, drawing)
    draws = draw.numbers(settled.floors[pick], rows.targets)
    keys = lottery.keys(rows.uids[pick], rows.targets, draws)
    won = draw.winners(odds, weights, drawing, keys, take[pick], rows.rank)
    if isinstance(pick, slice):
        counts = ask.counts + won
        return Settled(counts, settled.floors, settled.residual, ask.rule, drawing, odds, won, draws)
    settled.counts[pick] += won
    settled.won[pick] = won
    settled.draws[pick] = draws
    spread = np.zeros(settled.won.shape, dtype=odds.dtype)
    spread[pick] = odds
    return replace(settled, odds=spread)
