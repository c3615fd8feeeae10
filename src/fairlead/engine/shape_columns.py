"""What a shape finds on each node, kept from one placement to the next instead of worked out for every group.

A shape that does not mind neighbours looks at labels and taints, which do not change while a decision is made, and at
the room of each node, which changes on few nodes at a time. So its columns are kept, and only the rows that changed
since it was last asked are worked out again (docs/profile.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from fairlead.levels.node.constraints import labels
from fairlead.levels.node.constraints.feasible import lasting, reopened_to
from fairlead.levels.node.constraints.room import UNLIMITED
from fairlead.levels.node.group import NodeGroup, fill
from fairlead.model.columns import Bool, Int, ints
from fairlead.model.nodestate import NodeState
from fairlead.model.shape import Shape

Heights = tuple[Int, Int]
"""`base` and `step` of a `NodeGroup`."""
There = Mapping[int, int]
"""By row of a node the replicas of a workload there. As heights: so many, and a replica counts one."""
RowCounts = tuple[Int, Int]
"""Rows of nodes, ascending, and how many replicas each gets."""

NOWHERE: RowCounts = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))

BEHIND = -1

_FEW = 64
"""As many nodes are found one by one."""
FEW_ROWS = 8
"""As many rows are worked out one by one, as plain numbers: NumPy takes longer to be called than to count them."""
_ONE_EACH = ints(np.ones(_FEW))
_MOST = 2**31
"""Room for more replicas than this is not packed into one number with the rank of the node."""


def sparse(counts: Int) -> RowCounts:
    """A column of counts as the rows that have any."""
    rows = np.flatnonzero(counts)
    return rows, counts[rows]


def there(column: Int | None) -> There:
    """A column of counts by row; None is one of nothing."""
    if column is None:
        return {}
    rows, counts = sparse(column)
    return dict(zip(rows.tolist(), counts.tolist(), strict=True))


def heights(level: Heights | There, size: int) -> Heights:
    """What is levelled as columns of so many nodes."""
    if isinstance(level, tuple):
        return level
    base = np.zeros(size, dtype=np.int64)
    base[list(level)] = list(level.values())
    return base, np.ones(size, dtype=np.int64)


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
        # The same columns, to read and write single numbers.
        self._offered, self._used, self._names = nodes.allocatable.data, nodes.used.data, rank.data
        self._rooms, self._orders = self.room.data, self._order.data
        self.seen = 0
        """How far this has followed the changes of the nodes; `BEHIND` where some of them are not kept any more."""
        self._refresh_many(np.arange(len(rank)))

    def follow(self, changes: Sequence[int]) -> None:
        """Work out again what has changed since the last time: the rows of nodes, in order of the changes."""
        if self.seen == BEHIND:
            # Not before it is asked: a shape of a workload that is placed once never is.
            self._refresh_many(np.arange(len(self._rank)))
        elif self.seen < len(changes):
            self._refresh(list({*changes[self.seen :]}))
        self.seen = len(changes)

    def _refresh(self, rows: Sequence[int]) -> None:
        if len(rows) <= FEW_ROWS and self._asked and not self._unknown:
            self._refresh_few(rows)
        else:
            self._refresh_many(np.array(rows, dtype=np.int64))

    def _refresh_few(self, rows: Sequence[int]) -> None:
        """As `_refresh_many`, for a shape that asks for amounts which nodes have."""
        offered, used, open_to = self._offered, self._used, self._open.data
        rooms, orders, names, size = self._rooms, self._orders, self._names, len(self._names)
        for row in rows:
            room = UNLIMITED if open_to[row] else 0
            for column, amount in self._asked:
                most = (offered[row, column] - used[row, column]) // amount
                if most < room:
                    room = most
            if room < 0:
                room = 0
            rooms[row] = room
            orders[row] = names[row] - (room if self._packed else min(room, _MOST)) * size

    def _refresh_many(self, rows: Int) -> None:
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

    def takes(self) -> bool:
        """Whether a node has room."""
        return len(self._orders) > 0 and self._orders[self._order.argmin()] < 0

    def choose(self, need: int, level: Heights | There) -> RowCounts:
        """Where up to `need` replicas go; the same as `place_group`."""
        packed = self._alike and self._packed
        if packed and 0 < need <= _FEW and not isinstance(level, tuple) and not (level and min(level.values()) < 0):
            rows = self._roomiest(need, level)
            if len(rows) == need:
                return np.array(rows, dtype=np.int64), _ONE_EACH[:need]
        if not self.takes():
            return NOWHERE
        base, step = heights(level, len(self._order))
        if packed:
            lowest = self._lowest(need, base, step)
            if len(lowest) == need:
                return lowest, np.ones(need, dtype=np.int64)
        return sparse(self._fill(need, base, step))

    def _lowest(self, need: int, base: Int, step: Int) -> Int:
        """So many of the lowest nodes with room, those with most of it. Where they are enough and all rise alike, each
        takes one: it is then no lower than the others were."""
        rows: Int = np.flatnonzero(self.room)
        if not need or not len(rows) or step.min() < 1 or step.min() != step.max():
            return rows[:0]
        own = base[rows]
        rows = rows[own == own.min()]
        if len(rows) <= need:
            return rows
        # No two nodes have the same number.
        order = self._order[rows]
        chosen: Int = rows[order <= np.partition(order, need - 1)[need - 1]]
        return chosen

    def _roomiest(self, need: int, level: There) -> list[int]:
        """`_lowest` of the nodes on which nothing of the workload is, as far as they are easily found. Finding the
        lowest number again and again is faster than putting a column in order, as long as there are few to find."""
        order, orders = self._order, self._orders
        found: list[int] = []
        seen: list[tuple[int, int]] = []
        while len(found) < need and len(seen) < 2 * _FEW and len(order):
            row = int(order.argmin())
            value = orders[row]
            if value >= 0:
                break
            if not level.get(row):
                found.append(row)
            seen.append((row, value))
            orders[row] = 0
        for row, value in seen:
            orders[row] = value
        return sorted(found)

    def _fill(self, need: int, base: Int, step: Int) -> Int:
        order = self._order
        if not self._packed:
            order = np.empty_like(order)
            order[np.lexsort((self._rank, -self.room))] = np.arange(len(order))
        group = NodeGroup(shape=Shape(), need=need, base=base, step=step)
        return fill(self.room, self._preference, group, order)
