"""Drained: use up the nodes that have least room left, so that others stay free."""

import numpy as np

from fairlead.levels.node.ask import NodeAsk
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable


def drained(nodes: NodeTable, ask: NodeAsk) -> Int:
    """Least capacity first, then the more used, then name; each node is used up before the next."""
    used = np.unique(nodes.usage, return_inverse=True)[1]
    order = np.lexsort((nodes.rank, -used, nodes.capacity))
    added = np.zeros(len(nodes), dtype=np.int64)
    left = ask.need
    room = np.minimum(nodes.capacity, ask.need)[order]
    if len(room) * ask.need < 2**62:
        added[order] = np.clip(ask.need - (np.cumsum(room) - room), 0, room)
        return added
    for row, most in zip(order.tolist(), room.tolist(), strict=True):
        added[row] = min(most, left)
        left -= min(most, left)
    return added
