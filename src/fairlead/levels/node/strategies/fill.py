"""Fill: at least `each` replicas, old and new together, on `limit` nodes."""

import numpy as np

from fairlead.kernel.select import lowest
from fairlead.levels.node.ask import NodeAsk
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable


def fill(nodes: NodeTable, ask: NodeAsk) -> Int:
    """New replicas that bring the chosen nodes up to `each`.

    A node that already holds `each` counts, full or not. Chosen: highest count, then most capacity, then name,
    among the nodes that can be brought up to `each`; if these are too few, the nearest of the others follow and take
    what they can.
    """
    lacking = np.maximum(ask.each - nodes.count, 0)
    added = np.zeros(len(nodes), dtype=np.int64)
    rows = _chosen(nodes, ask, lacking)
    added[rows] = np.minimum(lacking, nodes.capacity)[rows]
    return added


def wanted(nodes: NodeTable, ask: NodeAsk) -> int:
    """What the chosen nodes lack, and `each` for every node that is not there."""
    lacking = np.maximum(ask.each - nodes.count, 0)
    rows = _chosen(nodes, ask, lacking)
    present: list[int] = lacking[rows].tolist()
    return sum(present) + ask.each * (taking_part(nodes, ask) - len(rows))


def taking_part(nodes: NodeTable, ask: NodeAsk) -> int:
    """How many nodes are meant: `limit`, or all there are (at least one, so that no nodes is not success)."""
    return ask.limit or max(len(nodes), 1)


def _chosen(nodes: NodeTable, ask: NodeAsk, lacking: Int) -> Int:
    limit = min(taking_part(nodes, ask), len(nodes))
    able = np.flatnonzero(nodes.capacity >= lacking)
    if len(able) >= limit:
        return able[lowest(limit, -nodes.count[able], -nodes.capacity[able], nodes.rank[able])]
    rest = np.flatnonzero(nodes.capacity < lacking)
    short = (lacking - nodes.capacity)[rest]
    nearest = rest[lowest(limit - len(able), short, -nodes.count[rest], nodes.rank[rest])]
    return np.concatenate([able, nearest])
