"""The order among nodes that a rule leaves equal: more capacity, then natural order of names."""

import numpy as np

from fairlead.model.columns import Int
from fairlead.model.nodes import UNLIMITED, NodeTable


def by_capacity(nodes: NodeTable) -> Int:
    """A distinct number per row, lower first: more capacity, then name.

    One multiplication where it fits in 63 bits, so that no row is sorted that no tie touches.
    """
    capacity, rows = nodes.capacity, len(nodes)
    finite = capacity[capacity < UNLIMITED]
    most = int(finite.max(initial=0)) + 1
    if most * rows + rows < UNLIMITED:
        key: Int = (most - np.minimum(capacity, most)) * rows + nodes.rank
        return key
    order = np.lexsort((nodes.rank, -capacity))
    place = np.empty(rows, dtype=np.int64)
    place[order] = np.arange(rows)
    return place
