"""All filters in order: for every node the first reason that forbids it, or the replicas it still holds."""

from dataclasses import dataclass

import numpy as np

from fairlead.levels.node.constraints import labels, reasons, room
from fairlead.model.columns import Codes, Int, rows_where
from fairlead.model.decision import Rejection
from fairlead.model.nodestate import NodeState
from fairlead.model.selectors import tolerated
from fairlead.model.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class Feasibility:
    """`codes` is 0 where the node passes, else the place (from 1) of its reason in `reasons.FILTERS`.

    `capacity` counts whole replicas and is 0 where a filter forbids the node; `binding` is the tightest resource.
    """

    codes: Codes
    capacity: Int
    preference: Int
    binding: Int

    def rejections(self, state: NodeState) -> tuple[Rejection, ...]:
        """How many nodes each reason removed, with up to three names, most first."""
        counts = np.bincount(self.codes, minlength=len(reasons.FILTERS) + 1)
        found = [
            Rejection(
                reason=reasons.FILTERS[code - 1],
                count=int(counts[code]),
                names=rows_where(self.codes == code, state.names),
            )
            for code in np.flatnonzero(counts)
            if code
        ]
        return tuple(sorted(found, key=lambda each: -each.count))


def feasible(state: NodeState, shape: Shape) -> Feasibility:
    """Run every filter on every node; the first that fails gives the reason."""
    codes = np.zeros(len(state.names), dtype=np.uint8)
    most, binding = room.room(state, shape)
    passing = {
        reasons.UNSCHEDULABLE: ~state.unschedulable,
        reasons.NODE_NOT_SELECTED: labels.selected(state, shape),
        reasons.TAINT_NOT_TOLERATED: _tolerated(state, shape),
        reasons.NO_ROOM: most > 0,
    }
    for code, reason in enumerate(reasons.FILTERS, start=1):
        codes[(codes == 0) & ~passing[reason]] = code
    return Feasibility(
        codes=codes,
        capacity=np.where(codes == 0, most, 0),
        preference=labels.preference(state, shape),
        binding=binding,
    )


def _tolerated(state: NodeState, shape: Shape) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    answers = np.array([tolerated(taints, shape.tolerations) for taints in state.taint_profiles], dtype=np.bool_)
    return answers[state.taint_profile]
