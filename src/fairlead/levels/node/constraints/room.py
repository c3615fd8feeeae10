"""How many replicas of a shape still fit each node by resources."""

import numpy as np

from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.shape import Shape

UNLIMITED = np.iinfo(np.int64).max // 4
"""More than any count of replicas; small enough that sums of a few do not overflow."""


def room(state: NodeState, shape: Shape) -> tuple[Int, Int]:
    """Per node the replicas that fit, and which resource binds (a column of `state`, or −1 for none).

    A resource that no node offers leaves no room anywhere and is reported as −1. Of equally tight resources the
    first by name binds.
    """
    nodes = len(state.names)
    most = np.full(nodes, UNLIMITED, dtype=np.int64)
    binding = np.full(nodes, -1, dtype=np.int64)
    free = state.free
    for name, amount in shape.request:
        if amount <= 0:
            continue
        column = state.column(name)
        if column is None:
            return np.zeros(nodes, dtype=np.int64), np.full(nodes, -1, dtype=np.int64)
        fits = free[:, column] // amount
        tighter = fits < most
        most = np.where(tighter, fits, most)
        binding = np.where(tighter, column, binding)
    return most, binding
