"""The nodes of a site while a decision is made or time goes by: a snapshot, plus what was placed and taken away since.

The one working copy of nodes and population, for plan, simulate and the live scheduler. `mark` and `undo` take back
what came after a mark, so that a gang that does not fit leaves nothing behind.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from fairlead.engine.shape_columns import (
    BEHIND,
    FEW_ROWS,
    Heights,
    RowCounts,
    ShapeColumns,
    There,
    heights,
    minds_neighbours,
    needs_like,
    sparse,
)
from fairlead.engine.working_population import WorkingPopulation
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, Constraints
from fairlead.levels.node.group import Grouping, NodeGroup, place_group
from fairlead.model.columns import Bool, Codes, Int
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population, resident
from fairlead.model.reasons import Reason
from fairlead.model.shape import Shape

Sparse = tuple[tuple[int, int], ...]
"""Places of resources and amounts that are not 0."""

_JOURNAL = 2048
"""Changed rows that are kept for columns to catch up with."""


class WorkingNodes:
    """Places groups one after the other, each seeing those before it.

    `current` are the nodes as they are, valid until the next change. Where no shape and no resident minds neighbours,
    the population need not be followed (`neighbourly`).
    """

    def __init__(
        self, nodes: NodeState, population: Population, rank: Int | None = None, *, neighbourly: bool = True
    ) -> None:
        self.rank = natural_rank(nodes.names) if rank is None else rank
        self.current = replace(nodes, used=nodes.used.copy(), unschedulable=nodes.unschedulable.copy())
        self._population = WorkingPopulation(population if neighbourly else Population())
        self._neighbourly = neighbourly
        self._placed: list[tuple[Shape, RowCounts]] = []
        self._columns: dict[Shape, ShapeColumns] = {}
        self._kept: list[ShapeColumns] = []
        self._vectors: dict[tuple[tuple[str, int], ...], Int] = {}
        self._asked: dict[tuple[tuple[str, int], ...], Sparse] = {}
        self._changes: list[int] = []
        self._used = self.current.used.data

    @property
    def state(self) -> NodeState:
        """The nodes as they are now, to keep."""
        return replace(self.current, used=self.current.used.copy(), unschedulable=self.current.unschedulable.copy())

    @property
    def population(self) -> Population:
        """Which replicas run where, those placed since among them."""
        return self._population.view()

    @property
    def wary(self) -> bool:
        """Whether a replica that is there keeps others away."""
        return bool(self._population.wary)

    def place(
        self, shape: Shape, need: int, level: Heights | There, also: Mapping[Reason, Bool] = NOTHING_MORE
    ) -> Grouping:
        """Place a group and count it as there; `also` are filters that the caller has worked out."""
        rows, counts = self.take(shape, need, level, also)
        dense = np.zeros(len(self.rank), dtype=np.int64)
        dense[rows] = counts
        unplaced = need - int(counts.sum())
        return Grouping(counts=dense, unplaced=unplaced, codes=self._codes(shape, also, unplaced))

    def take(
        self, shape: Shape, need: int, level: Heights | There, also: Mapping[Reason, Bool] = NOTHING_MORE
    ) -> RowCounts:
        """As `place`, without asking why nodes refuse: the rows and how many replicas each gets."""
        spread = self._choose(shape, need, level, also)
        self._count(shape, spread, 1)
        self._placed.append((shape, spread))
        return spread

    def _choose(self, shape: Shape, need: int, level: Heights | There, also: Mapping[Reason, Bool]) -> RowCounts:
        if not also and not minds_neighbours(shape) and not self._population.wary:
            return self._columns_of(shape).choose(need, level)
        base, step = heights(level, len(self.rank))
        group = NodeGroup(shape=shape, need=need, base=base, step=step)
        return sparse(place_group(self.current, self.population, group, rank=self.rank, also=also).counts)

    def _codes(self, shape: Shape, also: Mapping[Reason, Bool], unplaced: int) -> Codes:
        """Why nodes take no more, where something is unplaced."""
        if not unplaced:
            return np.zeros(len(self.rank), dtype=np.uint8)
        return Constraints(self.current, shape, self.population, also).codes()

    def _columns_of(self, shape: Shape) -> ShapeColumns:
        found = self._columns.get(shape)
        if found is None:
            needs = needs_like(shape)
            found = self._columns.get(needs)
            if found is None:
                found = self._columns[needs] = ShapeColumns(self.current, shape, self.rank)
                found.seen = len(self._changes)
                self._kept.append(found)
            self._columns[shape] = found
        found.follow(self._changes)
        return found

    def takes(self, shape: Shape) -> bool:
        """Whether a node takes one more replica of a shape that does not mind neighbours; True for one that does."""
        if minds_neighbours(shape) or self._population.wary:
            return True
        return self._columns_of(shape).takes()

    def mark(self) -> int:
        """A point to return to."""
        return len(self._placed)

    def undo(self, mark: int) -> None:
        """Take back every group placed after the mark."""
        while len(self._placed) > mark:
            shape, spread = self._placed.pop()
            self._room(shape, spread, -1)
            if self._neighbourly:
                self._population.remove(int(spread[1].sum()))

    def settle(self) -> None:
        """What has been placed stays: no mark before this is returned to."""
        self._placed.clear()

    def shift(self, shape: Shape, spread: RowCounts, sign: int) -> None:
        """So many replicas of the shape are on these nodes now too (sign 1), or are gone from there (−1).

        Not to be called between a mark and its undo.
        """
        self._count(shape, spread, sign)

    def close(self, rows: Int, closed: bool) -> None:
        """The nodes are closed to new replicas, or open again."""
        self.current.unschedulable[rows] = closed
        for columns in self._kept:
            columns.reopen()
        self._changed(rows.tolist())

    def _count(self, shape: Shape, spread: RowCounts, sign: int) -> None:
        self._room(shape, spread, sign)
        if self._neighbourly:
            (self._population.add if sign > 0 else self._population.lose)(resident(shape), *spread)

    def _room(self, shape: Shape, spread: RowCounts, sign: int) -> None:
        rows, counts = spread
        if 0 < len(rows) <= FEW_ROWS:
            used, asked, numbers = self._used, self.asked(shape), rows.tolist()
            for row, count in zip(numbers, counts.tolist(), strict=True):
                for column, amount in asked:
                    used[row, column] += sign * count * amount
            self._changed(numbers)
        elif len(rows):
            self.current.used[rows] += sign * np.multiply.outer(counts, self.vector(shape))
            self._changed(rows.tolist())

    def _changed(self, rows: Iterable[int]) -> None:
        self._changes += rows
        if len(self._changes) > _JOURNAL:
            for columns in self._kept:
                columns.seen = BEHIND
            self._changes.clear()

    def asked(self, shape: Shape) -> Sparse:
        """`vector`, without what is 0."""
        found = self._asked.get(shape.request)
        if found is None:
            amounts: list[int] = self.vector(shape).tolist()
            found = self._asked[shape.request] = tuple(each for each in enumerate(amounts) if each[1])
        return found

    def vector(self, shape: Shape) -> Int:
        """What one replica asks for, by resource of the nodes; resources that no node has are left out."""
        found = self._vectors.get(shape.request)
        if found is None:
            request = dict(shape.request)
            amounts = [request.get(name, 0) for name in self.current.resources]
            found = self._vectors[shape.request] = np.array(amounts, dtype=np.int64)
        return found
