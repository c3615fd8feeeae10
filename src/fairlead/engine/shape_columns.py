"""What a shape finds on each node, kept from one placement to the next instead of worked out for every group.

A shape that does not mind neighbours looks at labels and taints, which do not change while a decision is made, and at
the room of each node, which changes on few nodes at a time. So its columns are kept, and only the rows that changed
since it was last asked are worked out again (docs/profile.md).
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from fairlead.levels.node.constraints import labels
from fairlead.levels.node.constraints.feasible import lasting, reopened_to
from fairlead.levels.node.constraints.room import UNLIMITED
from fairlead.levels.node.group import NodeGroup, fill
from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import NodeState
from fairlead.model.shape import Shape

Heights = tuple[Int, Int]
"""`base` and `step` of a `NodeGroup`. None in its place: nothing of the workload is there, and a replica counts one."""
RowCounts = tuple[Int, Int]
"""Rows of nodes, ascending, and how many replicas each gets."""

NOWHERE: RowCounts = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

_FEW = 64
"""As many nodes are found one by one."""
_MOST = 2**31
"""Room for more replicas than this is not packed into one number with the rank of the node."""


def sparse(counts: Int) -> RowCounts:
    """A column of counts as the rows that have any."""
    rows = np.flatnonzero(counts)
    return rows, counts[rows]


def minds_neighbours(shape: Shape) -> bool:
    """Whether other replicas decide where the shape may go, not only by the room they take."""
    return bool(shape.spread or shape.near or shape.far or shape.exclusive)


@lru_cache(maxsize=65_536)
def needs_like(shape: Shape) -> Shape:
    """What decides whether a node takes the shape: equal for shapes with equal needs that do not mind neighbours."""
    return shape if minds_neighbours(shape) else _one_of(replace(shape, namespace="", labels=()))


@lru_cache(maxsize=65_536)
def _one_of(shape: Shape) -> Shape:
    """The first of equal shapes: what is one object is found without comparing it field by field."""
    return shape


class ShapeColumns:
    """Room for one shape on nodes that are changed in place; `refresh` follows them.

    `_order` has one number a node by which those with more room come first, then names; it is below zero exactly
    where there is room.
    """

    def __init__(self, nodes: NodeState, shape: Shape, rank: Int) -> None:
        self._nodes, self._rank = nodes, rank
        self._fixed: Bool = np.logical_and.reduce(list(lasting(nodes, shape).values()))
        self._reopened = reopened_to(nodes, shape)
        self.reopen()
        self._preference = labels.preference(nodes, shape)
        self._alike = bool((self._preference == self._preference[:1]).all())
        asked = [(nodes.column(name), amount) for name, amount in shape.request if amount > 0]
        self._unknown = any(column is None for column, _ in asked)
        self._asked = [(column, amount) for column, amount in asked if column is not None]
        self.room: Int = np.zeros(len(rank), dtype=np.int64)
        self._order: Int = rank.copy()
        self._packed = self._most() <= _MOST
        self.seen = 0
        """How far this has followed the changes of the nodes."""
        self.refresh(np.arange(len(rank)))

    def refresh(self, rows: Int) -> None:
        """Work out these rows again."""
        room = self._room(rows)
        self.room[rows] = room
        self._order[rows] = self._rank[rows] - (room if self._packed else np.minimum(room, _MOST)) * len(self._rank)

    def _most(self) -> int:
        """The room of the largest node while it is empty."""
        if self._unknown or not len(self._rank):
            return 0
        most = (int(self._nodes.allocatable[:, column].max()) // amount for column, amount in self._asked)
        return min(most, default=UNLIMITED)

    def reopen(self) -> None:
        """Nodes were closed or opened; the rows are to be refreshed as well."""
        self._open: Bool = self._fixed & (~self._nodes.unschedulable | self._reopened)

    def _room(self, rows: Int) -> Int:
        open_to = self._open[rows]
        if self._unknown or not self._asked:
            return np.where(open_to, 0 if self._unknown else UNLIMITED, 0)
        free = self._nodes.allocatable.take(rows, axis=0)
        free -= self._nodes.used.take(rows, axis=0)
        # Column by column: dividing by one number is several times faster than dividing by a column.
        (column, amount), *others = self._asked
        room: Int = free[:, column] // amount
        for column, amount in others:
            np.minimum(room, free[:, column] // amount, out=room)
        np.maximum(room, 0, out=room)
        room *= open_to
        return room

    def choose(self, need: int, heights: Heights | None) -> RowCounts:
        """Where up to `need` replicas go; the same as `place_group`."""
        order = self._order
        if not len(order) or order[order.argmin()] >= 0:
            return NOWHERE
        if heights is None and self._alike and self._packed and need <= _FEW:
            # All nodes stand equally high, so the roomiest take one each, if there are enough of them.
            rows = self._roomiest(need)
            if len(rows) == need:
                return np.array(rows, dtype=np.int64), np.ones(need, dtype=np.int64)
        if self._alike and self._packed:
            lowest = self._lowest(need, heights)
            if len(lowest) == need:
                return lowest, np.ones(need, dtype=np.int64)
        return sparse(self._fill(need, heights))

    def _lowest(self, need: int, heights: Heights | None) -> Int:
        """So many of the lowest nodes with room, those with most of it. Where they are enough and all rise alike, each
        takes one: it is then no lower than the others were."""
        rows: Int = np.flatnonzero(self.room)
        if not need or not len(rows):
            return rows[:0]
        if heights is not None:
            base, step = heights
            if step.min() < 1 or step.min() != step.max():
                return rows[:0]
            own = base[rows]
            rows = rows[own == own.min()]
        if len(rows) <= need:
            return rows
        # No two nodes have the same number.
        order = self._order[rows]
        chosen: Int = rows[order <= np.partition(order, need - 1)[need - 1]]
        return chosen

    def _roomiest(self, need: int) -> list[int]:
        """Up to so many nodes with room, those with most of it. Finding the lowest number again and again is faster
        than putting a column in order, as long as there are few to find."""
        order = self._order
        found: list[tuple[int, int]] = []
        while len(found) < need and len(order):
            row = int(order.argmin())
            value = int(order[row])
            if value >= 0:
                break
            found.append((row, value))
            order[row] = 0
        for row, value in found:
            order[row] = value
        return sorted(row for row, _ in found)

    def _fill(self, need: int, heights: Heights | None) -> Int:
        if heights is None:
            heights = np.zeros_like(self.room), np.ones_like(self.room)
        order = self._order
        if not self._packed:
            order = np.empty_like(order)
            order[np.lexsort((self._rank, -self.room))] = np.arange(len(order))
        group = NodeGroup(shape=Shape(), need=need, base=heights[0], step=heights[1])
        return fill(self.room, self._preference, group, order)
