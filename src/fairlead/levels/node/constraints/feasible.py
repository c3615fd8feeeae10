"""All filters in order: for every node the first reason that forbids it, or the replicas it still holds.

`Constraints` is the working copy of one group: it is built from a snapshot, follows the replicas that are placed, and
is thrown away. Filters that look at one node alone are evaluated once; those that look at neighbours follow along.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from fairlead.levels.node.constraints import labels, neighbours, reasons, room, spread
from fairlead.model.columns import Bool, Codes, Int, rows_where
from fairlead.model.decision import Rejection
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population
from fairlead.model.reasons import Reason
from fairlead.model.selectors import Taint, Toleration, reopened, tolerated
from fairlead.model.shape import Shape

EMPTY = Population()
NOTHING_MORE: Mapping[Reason, Bool] = MappingProxyType({})


class Constraints:
    """Which nodes may take the next replica of a shape, and how many each could take.

    `also` are more filters that look at one node alone, worked out by the caller (claims, for one).
    """

    def __init__(
        self,
        state: NodeState,
        shape: Shape,
        population: Population = EMPTY,
        also: Mapping[Reason, Bool] = NOTHING_MORE,
    ) -> None:
        self.state = state
        self.preference = labels.preference(state, shape) + neighbours.wished(state, shape, population)
        self.left, self.binding = room.room(state, shape)
        self._passing = {**_of_the_node(state, shape), **also}
        self._alone = np.logical_and.reduce(list(self._passing.values()))
        self._near = _Neighbourhood(state, shape, population)
        self._soft = spread.spreads(state, shape, population, hard=False)

    @property
    def independent(self) -> bool:
        """Whether placing one replica changes nothing for the next but room: then a whole group is placed at once."""
        return self._near.independent and not self._soft

    def allowed(self) -> Bool:
        """Nodes that may take the next replica."""
        mask: Bool = self._alone & (self.left > 0)
        for passing in self._near.passing().values():
            mask &= passing
        return mask

    def skew(self) -> Int | None:
        """Per node how crowded its domains are under the soft spread constraints; None where there are none."""
        return np.sum([each.skew() for each in self._soft], axis=0) if self._soft else None

    def place(self, row: int) -> None:
        """Follow one replica placed on the node."""
        self.left[row] -= 1
        self._near.place(row)
        for domains in self._soft:
            domains.place(row)

    def codes(self) -> Codes:
        """0 where the node may take the next replica, else the place (from 1) of its reason in `reasons.FILTERS`."""
        passing = {**self._passing, reasons.NO_ROOM: self.left > 0, **self._near.passing()}
        codes = np.zeros(len(self.state.names), dtype=np.uint8)
        for code, reason in enumerate(reasons.FILTERS, start=1):
            if reason in passing:
                codes[(codes == 0) & ~passing[reason]] = code
        return codes


class _Neighbourhood:
    """The filters that look at what runs on a node and near it; they follow the replicas that are placed."""

    def __init__(self, state: NodeState, shape: Shape, population: Population) -> None:
        self._free_ports = ~neighbours.port_taken(state, shape, population) if shape.ports else None
        self._free_disks = ~neighbours.disk_taken(state, shape, population) if shape.disks else None
        self._disks_once = neighbours.shares_with_itself(shape)
        self._apart = neighbours.apart(state, shape, population)
        self._together = neighbours.together(state, shape, population)
        self._hard = spread.spreads(state, shape, population, hard=True)

    @property
    def independent(self) -> bool:
        exclusive = self._free_ports is not None or self._disks_once
        return not (self._apart or self._together or self._hard or exclusive)

    def place(self, row: int) -> None:
        if self._free_ports is not None:
            self._free_ports[row] = False
        if self._free_disks is not None and self._disks_once:
            self._free_disks[row] = False
        for apart in self._apart:
            apart.place(row)
        if self._together:
            self._together[0].place(row, self._together[1])
        for domains in self._hard:
            domains.place(row)

    def passing(self) -> dict[Reason, Bool]:
        passing: dict[Reason, Bool] = {}
        if self._free_ports is not None:
            passing[reasons.PORT_TAKEN] = self._free_ports
        if self._free_disks is not None:
            passing[reasons.DISK_TAKEN] = self._free_disks
        if self._apart:
            passing[reasons.TOO_NEAR] = np.logical_and.reduce([each.allowed() for each in self._apart])
        if self._together:
            passing[reasons.NOT_NEAR] = self._together[0].allowed()
        if self._hard:
            passing[reasons.TOO_UNEVEN] = np.logical_and.reduce([each.allowed() for each in self._hard])
        return passing


def takes(
    state: NodeState, row: int, shape: Shape, population: Population = EMPTY, also: Mapping[Reason, Bool] = NOTHING_MORE
) -> bool:
    """Whether this one node may take a replica; `also` has one entry, of this node.

    The answer is `Constraints.allowed` at the row. Other nodes are read only by the filters that look at neighbours.
    """
    here = state.only(row)
    alone = (*_of_the_node(here, shape).values(), *also.values(), room.room(here, shape)[0] > 0)
    return all(passing[0] for passing in alone) and all(
        passing[row] for passing in _Neighbourhood(state, shape, population).passing().values()
    )


def _of_the_node(state: NodeState, shape: Shape) -> dict[Reason, Bool]:
    """The filters that look at one node alone, but for room."""
    return {reasons.UNSCHEDULABLE: ~state.unschedulable | reopened_to(state, shape), **lasting(state, shape)}


def lasting(state: NodeState, shape: Shape) -> dict[Reason, Bool]:
    """The filters that look at labels, taints and features alone: what they say does not change with what is placed."""
    return {
        reasons.NODE_NOT_SELECTED: labels.selected(state, shape),
        reasons.TAINT_NOT_TOLERATED: _of_profiles(state, shape, tolerated),
        **({reasons.FEATURE_MISSING: _declared(state, shape)} if shape.features else {}),
    }


def reopened_to(state: NodeState, shape: Shape) -> Bool:
    """Nodes that take the shape even while they are closed."""
    return _of_profiles(state, shape, reopened)


def rejections(codes: Codes, names: tuple[str, ...]) -> tuple[Rejection, ...]:
    """How many nodes each reason removed, with up to three names, most first."""
    counts = np.bincount(codes, minlength=len(reasons.FILTERS) + 1)
    found = [
        Rejection(reason=reason, count=int(counts[code]), names=rows_where(codes == code, names))
        for code, reason in enumerate(reasons.FILTERS, start=1)
        if counts[code]
    ]
    return tuple(sorted(found, key=lambda each: -each.count))


def _of_profiles(
    state: NodeState, shape: Shape, holds: Callable[[tuple[Taint, ...], tuple[Toleration, ...]], bool]
) -> Bool:
    """Where it holds for a node's taints and the shape's tolerations, asked once a distinct list of taints."""
    answers = np.array([holds(taints, shape.tolerations) for taints in state.taint_profiles], dtype=np.bool_)
    return answers[state.taint_profile]


def _declared(state: NodeState, shape: Shape) -> Bool:
    return np.array([{*shape.features} <= {*declared} for declared in state.features], dtype=np.bool_)
