"""Static divisions of many workloads over the same clusters, as matrices.

Rows are settled by the same rules as one division, a slice at a time, so that the working set stays in the
processor's cache and memory is that of the results.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass
from fairlead.kernel import lottery
from fairlead.kernel.rational import largest
from fairlead.levels.fleet.quota import quotas
from fairlead.levels.fleet.static import PriorRows, Rows, Settled, settle
from fairlead.model.columns import Bool, Int

_CELLS = 65_536
"""Cells settled at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorBatch:
    """Last results as matrices: one row a workload, one column a cluster; see `PriorRows`."""

    known: Bool
    static: Bool
    vanished: Bool
    replicas: Int
    member: Bool
    weights: Int
    counts: Int

    def part(self, rows: slice) -> PriorRows:
        """The prior of some rows."""
        weights, replicas = self.weights[rows], self.replicas[rows]

        def floors(picked: Int) -> Int:
            return quotas(weights[picked], replicas[picked])[0]

        return PriorRows(
            known=self.known[rows],
            static=self.static[rows],
            vanished=self.vanished[rows],
            replicas=replicas,
            member=self.member[rows],
            counts=self.counts[rows],
            floors=floors,
        )


def settle_many(rows: Rows, prior: PriorBatch | None, *, balanced: bool) -> Settled:
    """`settle` slice by slice; `rows` come without a prior, which is sliced here."""
    height, width = rows.weights.shape
    result = _blank(height, width)
    odds: NDArray[Any] = np.zeros((height, width), dtype=np.int64)
    step = max(1, _CELLS // max(1, width))
    for start in range(0, height, step):
        here = slice(start, start + step)
        part = replace(
            rows,
            uids=rows.uids[here],
            weights=rows.weights[here],
            units=rows.units[here],
            capacity=None if rows.capacity is None else rows.capacity[here],
            prior=None if prior is None else prior.part(here),
        )
        settled = settle(part)
        for column in _COLUMNS:
            getattr(result, column)[here] = getattr(settled, column)
        if settled.odds is not None:
            odds = odds.astype(settled.odds.dtype) if settled.odds.dtype == object else odds
            odds[here] = settled.odds
    if balanced and height > 1:
        _rebalance(result, rows)
    return replace(result, odds=odds)


_COLUMNS = ("counts", "floors", "residual", "rule", "drawing", "won", "draws")


def _blank(height: int, width: int) -> Settled:
    """Room for a whole batch, so that the slices need not be held twice."""
    cells, flags = np.empty((height, width), dtype=np.int64), np.empty((height, width), dtype=bool)
    return Settled(
        counts=cells,
        floors=np.empty_like(cells),
        residual=np.empty(height, dtype=np.int64),
        rule=np.empty(height, dtype=np.int64),
        drawing=flags,
        odds=None,
        won=np.empty_like(flags),
        draws=np.empty(height, dtype=np.uint64),
    )


def _rebalance(settled: Settled, rows: Rows) -> None:
    """Pass drawn residuals on among equal clusters so that none has two more than another.

    Clusters are equal where their weights and room are the same in every row: then each draw treats them alike, and
    which of them wins is free. Rows are taken in the order of their uids; each gives its residuals to the equals
    that have fewest so far, ties by the row's own keys. What was kept counts as had.
    """
    for equals in _equal_clusters(rows):
        if len(equals) > 1:
            _even_out(settled, rows, equals)


def _even_out(settled: Settled, rows: Rows, equals: Int) -> None:
    had = (settled.counts - settled.floors - settled.won)[:, equals].sum(axis=0)
    drawing = settled.drawing[:, equals]
    winners = (settled.won[:, equals] & drawing).sum(axis=1)
    had += (settled.won[:, equals] & ~drawing).sum(axis=0)
    keys = lottery.keys(rows.uids, rows.targets[equals], settled.draws)
    for row in np.argsort(rows.uids, kind="stable").tolist():
        if not winners[row]:
            continue
        able = np.flatnonzero(drawing[row])
        first = able[np.lexsort((keys[row, able], had[able]))[: winners[row]]]
        had[first] += 1
        _give(settled, row, equals, first)


def _give(settled: Settled, row: int, equals: Int, winners: Int) -> None:
    """Replace who of `equals` won the draw of this row."""
    mine = settled.drawing[row, equals] & settled.won[row, equals]
    settled.counts[row, equals] -= mine
    settled.won[row, equals] &= ~mine
    settled.counts[row, equals[winners]] += 1
    settled.won[row, equals[winners]] = True


def _equal_clusters(rows: Rows) -> list[Int]:
    """Columns that are the same in every row, put together."""
    columns = rows.weights if rows.capacity is None else np.concatenate((rows.weights, rows.capacity))
    kinds = np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1)
    return [np.flatnonzero(kinds == kind) for kind in range(largest(kinds) + 1)] if kinds.size else []
