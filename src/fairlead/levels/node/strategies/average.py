"""Average: `each` more replicas on each of `limit` nodes, whatever is there already."""

import numpy as np

from fairlead.kernel.select import lowest
from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.strategies.fill import taking_part
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable


def average(nodes: NodeTable, ask: NodeAsk) -> Int:
    """`each` on the nodes with most capacity, ties by name; a node with less than `each` takes what it has room for."""
    added = np.zeros(len(nodes), dtype=np.int64)
    rows = lowest(min(taking_part(nodes, ask), len(nodes)), -nodes.capacity, nodes.rank)
    added[rows] = np.minimum(nodes.capacity[rows], ask.each)
    return added


def wanted(nodes: NodeTable, ask: NodeAsk) -> int:
    """`each` on every node that takes part."""
    return ask.each * taking_part(nodes, ask)
