"""Many replicas of one size at an alpha below 1: the same choice as `choose`, one candidate for each total.

Of nodes with equal totals only the most usable one can have the lowest key (see `Field.best`), so a replica costs
O(G + log N) with G distinct totals, and the disks of the chosen node; building costs O(N + D).
"""

from collections.abc import Collection
from fractions import Fraction
from heapq import heapify, heappop, heappush

import numpy as np

from fairlead.levels.disk.filters import Uses
from fairlead.levels.disk.ledger import DiskLedger
from fairlead.levels.disk.score import Field
from fairlead.levels.disk.score_stats import ScoreGroup, ScoreGroups
from fairlead.model.columns import Codes
from fairlead.model.disks import DiskTable
from fairlead.model.storage import AntiAffinity, Strictness


class GroupShelf:
    """The disks that one kind of volume of one size may use. Lives inside one call of the level."""

    def __init__(self, static: Codes, disks: DiskTable, ledger: DiskLedger, alpha: Fraction, size_bytes: int) -> None:
        self._disks, self._ledger, self._alpha, self._size = disks, ledger, alpha, size_bytes
        self._open: list[bool] = (static == 0).tolist()
        self._usable = [0] * len(disks.nodes)
        self._totals = [0] * len(disks.nodes)
        self._before: list[int] = ledger.usable.tolist()
        for row, (node, total) in enumerate(zip(disks.node_of.tolist(), disks.total_bytes.tolist(), strict=True)):
            if self._open[row]:
                self._usable[node] += self._before[row]
                self._totals[node] += total
        self._fits = [self._fit_rows(node) != [] for node in range(len(disks.nodes))]
        self._hidden: set[int] = set()
        members: dict[int, list[int]] = {}
        for node, fits in enumerate(self._fits):
            if fits:
                members.setdefault(self._totals[node], []).append(node)
        self._highest = {total: [(-self._usable[node], node) for node in own] for total, own in members.items()}
        self._lowest = {total: [(self._usable[node], node) for node in own] for total, own in members.items()}
        self._groups: dict[int, ScoreGroup] = {}
        for total, own in members.items():
            heapify(self._highest[total])
            heapify(self._lowest[total])
            values = [self._usable[node] for node in own]
            squares = sum(value * value for value in values)
            self._groups[total] = ScoreGroup(total, len(own), sum(values), squares, 0, 0, 0)
            self._refresh(total)

    def take(self, uses: Uses, rule: AntiAffinity) -> int | None:
        """The disk for the next replica, or None."""
        self._hide(uses.nodes if rule.node is Strictness.HARD else ())
        groups = [group for group in self._groups.values() if group.rows]
        if not groups:
            return None
        leaders = np.array(sorted(self._highest[group.total][0][1] for group in groups))
        usable = np.array([self._usable[node] for node in leaders], dtype=object)
        totals = np.array([self._totals[node] for node in leaders], dtype=object)
        field = Field(usable, totals, self._alpha, self._size, ScoreGroups(groups))
        node = int(leaders[field.best(np.arange(len(leaders)))])
        rows = np.array(self._fit_rows(node))
        if len(rows) == 1:
            return int(rows[0])
        column = self._ledger.usable[rows].astype(object), self._disks.total_bytes[rows].astype(object)
        return int(rows[Field(*column, self._alpha, self._size).best(np.arange(len(rows)))])

    def fell(self, row: int) -> None:
        """The ledger charged a disk."""
        if not self._open[row]:
            return
        node = int(self._disks.node_of[row])
        now = int(self._ledger.usable[row])
        present = self._fits[node] and node not in self._hidden
        if present:
            self._leave(node)
        self._usable[node] += now - self._before[row]
        self._before[row] = now
        self._fits[node] = self._fits[node] and self._fit_rows(node) != []
        if present and self._fits[node]:
            self._join(node)
        if self._totals[node] in self._groups:
            self._refresh(self._totals[node])

    def _hide(self, nodes: Collection[int]) -> None:
        """Only these nodes are out of the choice."""
        wanted = {node for node in nodes if self._fits[node]}
        changed = wanted ^ (self._hidden & {node for node in self._hidden if self._fits[node]})
        for node in sorted(changed):
            if node in wanted:
                self._leave(node)
            else:
                self._join(node)
        self._hidden = wanted
        for total in {self._totals[node] for node in changed}:
            self._refresh(total)

    def _leave(self, node: int) -> None:
        group, value = self._groups[self._totals[node]], self._usable[node]
        group.rows -= 1
        group.sum -= value
        group.squares -= value * value

    def _join(self, node: int) -> None:
        total, value = self._totals[node], self._usable[node]
        group = self._groups[total]
        group.rows += 1
        group.sum += value
        group.squares += value * value
        heappush(self._highest[total], (-value, node))
        heappush(self._lowest[total], (value, node))

    def _refresh(self, total: int) -> None:
        """Work out the extremes of a group anew; entries that do not hold any more are dropped on the way."""
        group = self._groups[total]
        if not group.rows:
            return
        highest, lowest = self._highest[total], self._lowest[total]
        first = self._valid(highest, -1)
        group.first = group.second = -first[0]
        if group.rows > 1:
            heappop(highest)
            while highest and highest[0] == first:
                heappop(highest)
            group.second = -self._valid(highest, -1)[0]
            heappush(highest, first)
        group.low = self._valid(lowest, 1)[0]

    def _valid(self, heap: list[tuple[int, int]], sign: int) -> tuple[int, int]:
        """The top entry, after those of other values or of nodes out of the choice are dropped."""
        while True:
            value, node = heap[0]
            if sign * value == self._usable[node] and self._fits[node] and node not in self._hidden:
                return heap[0]
            heappop(heap)

    def _fit_rows(self, node: int) -> list[int]:
        """The rows of a node's disks that take a replica."""
        ledger, size = self._ledger, self._size
        return [
            row
            for row in self._disks.rows_of(node)
            if self._open[row] and self._before[row] >= size and not (ledger.limited and ledger.promised[row] < size)
        ]
