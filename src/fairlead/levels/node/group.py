"""A group of replicas of one shape onto nodes: in bulk where replicas do not mind each other, else one by one.

Order of choice, first difference decides: higher preference (preferred node affinity and neighbours), less crowded
domains under soft spread, lower result of the strategy (`base + step × replicas`), room for more replicas of this
shape, natural order of names.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kernel.level import level
from fairlead.levels.node.constraints.feasible import NOTHING_MORE, Constraints, rejections
from fairlead.model.columns import Bool, Codes, Int
from fairlead.model.decision import Rejection
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population
from fairlead.model.reasons import Reason
from fairlead.model.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeGroup:
    """What is asked for: `need` more replicas of `shape`. Rows of `base` and `step` are those of the node state.

    communism: base = replicas already there, step = 1. global-greedy: base = use, step = use of one replica.
    """

    shape: Shape
    need: int
    base: Int
    step: Int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """New replicas per node, what found no place, and the filters' last word (`codes`, after the placements)."""

    counts: Int
    unplaced: int
    codes: Codes

    def rejected(self, state: NodeState) -> tuple[Rejection, ...]:
        """Why the nodes that refuse one more replica refuse it."""
        return rejections(self.codes, state.names)


def place_group(
    state: NodeState,
    population: Population,
    group: NodeGroup,
    *,
    rank: Int | None = None,
    also: Mapping[Reason, Bool] = NOTHING_MORE,
) -> Grouping:
    """Place as many of the group as the constraints allow, at most `need`.

    `rank` is the natural rank of the node names, for callers that keep it; `also` are more filters, with their reasons.
    """
    rank = natural_rank(state.names) if rank is None else rank
    constraints = Constraints(state, group.shape, population, also)
    counts = _bulk(constraints, group, rank) if constraints.independent else _walk(constraints, group, rank)
    return Grouping(counts=counts, unplaced=group.need - int(counts.sum()), codes=constraints.codes())


def _bulk(constraints: Constraints, group: NodeGroup, rank: Int) -> Int:
    room = np.where(constraints.allowed(), constraints.left, 0)
    counts = fill(room, constraints.preference, group, _roomiest(room, rank))
    constraints.left -= counts
    return counts


def fill(room: Int, preference: Int, group: NodeGroup, tie_rank: Int) -> Int:
    """Nodes of the highest preference first; within a preference all replicas at once by level.

    `tie_rank` is lower for nodes with more room, then by name.
    """
    counts = np.zeros(len(room), dtype=np.int64)
    left = group.need
    for rows in _preferred(preference, np.flatnonzero(room)):
        most = np.minimum(room[rows], left)
        counts[rows] = level(left, group.base[rows], group.step[rows], most, tie_rank=tie_rank[rows])
        left = group.need - int(counts.sum())
        if not left:
            break
    return counts


def _preferred(preference: Int, rows: Int) -> Iterator[Int]:
    """The rows by preference, highest first; most shapes prefer nothing, so all rows are alike."""
    own = preference[rows]
    if not len(rows) or own.min() == own.max():
        yield rows
        return
    for value in np.unique(own)[::-1]:
        yield rows[own == value]


def _walk(constraints: Constraints, group: NodeGroup, rank: Int) -> Int:
    """One replica at a time, every filter asked anew for each."""
    counts = np.zeros(len(rank), dtype=np.int64)
    for _ in range(group.need):
        rows = np.flatnonzero(constraints.allowed())
        if not len(rows):
            break
        rows = _lowest(rows, -constraints.preference)
        skew = constraints.skew()
        if skew is not None:
            rows = _lowest(rows, skew)
        rows = _lowest(rows, group.base + group.step * (counts + 1))
        rows = _lowest(rows, -constraints.left)
        row = int(rows[np.argmin(rank[rows])])
        counts[row] += 1
        constraints.place(row)
    return counts


def _roomiest(room: Int, rank: Int) -> Int:
    """The place of each row among those with more room, ties by name."""
    order = np.lexsort((rank, -room))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


def _lowest(rows: Int, values: Int) -> Int:
    """The rows whose value is the lowest among them."""
    own = values[rows]
    lowest: Int = rows[own == own.min()]
    return lowest
