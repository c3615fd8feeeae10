"""What is asked of a strategy."""

from collections.abc import Callable

from fairlead.dataclass import dataclass
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAsk:
    """`need`: new replicas in total. `each`: replicas a node, for the strategies that count per node.

    `limit`: the highest total a node may reach (communism), or how many nodes take part (fill, average);
    0 is no limit, all nodes. The other strategies do not read it.
    """

    need: int
    each: int
    limit: int = 0


Strategy = Callable[[NodeTable, NodeAsk], Int]
"""New replicas per row. A strategy that cannot place all returns what it can; the inputs are never changed."""
