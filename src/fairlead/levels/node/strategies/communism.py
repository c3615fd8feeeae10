"""Communism: old and new replicas of the workload as even over the nodes as they can be."""

import numpy as np

from fairlead.kernel.level import level
from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.strategies.ties import by_capacity
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable


def communism(nodes: NodeTable, ask: NodeAsk) -> Int:
    """Raise the lowest totals first; `limit` is the highest total a node may reach.

    The totals, sorted, are lexicographically minimal from the top. Ties: more capacity, then name.
    """
    room = nodes.capacity
    if ask.limit:
        room = np.minimum(room, np.maximum(ask.limit - nodes.count, 0))
    return level(ask.need, nodes.count, np.ones(len(nodes), dtype=np.int64), room, tie_rank=by_capacity(nodes))
