"""What a strategy levels: for `global-greedy`, how used the nodes are."""

import numpy as np

from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.shape import Shape

PARTS = 10**6
"""Use is counted in millionths of a node."""
_MOST = 2**43
"""More than any small whole; times PARTS it stays within int64."""


def use(state: NodeState, shape: Shape) -> tuple[Int, Int]:
    """Per node its use now and what one more replica adds, by the resource of the shape in which each is highest."""
    base = np.zeros(len(state.names), dtype=np.int64)
    step = np.zeros(len(state.names), dtype=np.int64)
    for name, amount in shape.request:
        column = state.column(name)
        if column is not None:
            offered = state.allocatable[:, column]
            base = np.maximum(base, _share(state.used[:, column], offered))
            step = np.maximum(step, _share(np.full_like(offered, amount), offered))
    return base, step


def _share(part: Int, whole: Int) -> Int:
    """Part over whole in millionths, without leaving int64 however many bytes there are."""
    large = whole >= PARTS * PARTS
    small = np.where(large, 0, np.minimum(part, _MOST)) * PARTS // np.maximum(whole, 1)
    share: Int = np.where(large, part // np.maximum(whole // PARTS, 1), small)
    return np.minimum(share, _MOST)
