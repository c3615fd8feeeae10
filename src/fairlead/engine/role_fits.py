"""`Fits` by every constraint of the node level, for roles whose replicas have rules about their neighbours."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.engine.working_nodes import WorkingNodes
from fairlead.levels.node.constraints.feasible import Constraints, rejections
from fairlead.levels.queue.fits import Spots
from fairlead.model.columns import Int
from fairlead.model.jobs import UNSET
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population
from fairlead.model.shape import Shape


class RoleFits:
    """One working copy for one decision; `shapes` has that of each role, None for a role without replicas."""

    def __init__(self, nodes: NodeState, population: Population, shapes: Sequence[Shape | None]) -> None:
        self._working = WorkingNodes(nodes, population)
        self._shapes = shapes
        self._base = np.zeros(len(nodes.names), dtype=np.int64)

    def room(self, roles: Mapping[int, int]) -> Mapping[int, int]:
        """See `Fits`; roles are placed one after the other."""
        mark = self._working.mark()
        found = {role: int(self._place(role, count).sum()) for role, count in roles.items()}
        self._working.undo(mark)
        return found

    def take(self, role: int, count: int) -> Spots:
        """See `Fits`."""
        counts = self._place(role, count)
        return {int(row): int(counts[row]) for row in np.flatnonzero(counts)}

    def give(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        self._shift(role, spots, -1)

    def put(self, role: int, spots: Spots) -> None:
        """See `Fits`."""
        self._shift(role, spots, 1)

    def why(self, role: int) -> str:
        """How many nodes refuse one more replica for which reason, most first."""
        shape, names = self._shapes[role], self._working.nodes.names
        if shape is None:
            return f"{len(names)} nodes"
        codes = Constraints(self._working.state, shape, self._working.population).codes()
        found = ", ".join(f"{each.count} {each.reason.code}" for each in rejections(codes, names))
        return f"of {len(names)} nodes {found}" if found else "others of the gang take the room"

    def _place(self, role: int, count: int) -> Int:
        shape = self._shapes[role]
        if shape is None:
            return self._base
        return self._working.place(shape, count, self._base, np.ones_like(self._base)).counts

    def _shift(self, role: int, spots: Spots, sign: int) -> None:
        shape = self._shapes[role]
        if shape is None:
            return
        counts = np.zeros_like(self._base)
        for row, number in spots.items():
            if row != UNSET:
                counts[row] += number
        self._working.shift(shape, counts, sign)
