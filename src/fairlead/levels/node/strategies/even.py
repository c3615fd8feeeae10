"""Global: the utilisation of the nodes as even as it can be, with and without regard to where the workload piles up."""

import numpy as np

from fairlead.kernel.level import level
from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.strategies.last_lap import LastLap
from fairlead.levels.node.strategies.ties import by_capacity
from fairlead.model.amounts import INT64_MAX
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable, Wide


def greedy(nodes: NodeTable, ask: NodeAsk) -> Int:
    """Every replica goes where the utilisation is lowest afterwards; ties: more capacity, then name.

    So the highest utilisation among the nodes that were given something is the lowest possible. A node whose rate is
    0 takes all it can once it is lowest.
    """
    return level(ask.need, nodes.usage, nodes.rate, nodes.capacity, tie_rank=by_capacity(nodes))


def global_(nodes: NodeTable, ask: NodeAsk) -> Int:
    """As `greedy`, but the last lap (as many replicas as nodes) has an eye on the workload.

    As if one replica went after another: the nodes less used than the least used one would be with one more replica
    count as equals, and so do equally used nodes that do not rise; among equals the one with the fewest replicas of
    this workload, old and new, is taken, then the lowest result, then name. So the workload does not pile up, and the
    highest utilisation stays below that of `greedy` plus two replicas' rates, or plus one where all rates are equal.
    """
    lap = min(ask.need, len(nodes))
    added = greedy(nodes, NodeAsk(need=ask.need - lap, each=ask.each, limit=ask.limit))
    by_name = np.empty(len(nodes), dtype=np.int64)
    by_name[nodes.rank] = np.arange(len(nodes))
    open_ = by_name[(nodes.capacity > added)[by_name]]
    used, held, room = _used(nodes, added), nodes.count + added, nodes.capacity - added
    added[open_] += LastLap(used[open_], nodes.rate[open_], held[open_], room[open_], lap).run()
    return added


def _used(nodes: NodeTable, added: Int) -> Wide:
    """Utilisation with the replicas added."""
    most = int(nodes.usage.max(initial=0)) + int(nodes.rate.max(initial=0)) * int(added.max(initial=0))
    usage = nodes.usage.astype(object) if most > INT64_MAX else nodes.usage
    return usage + added * nodes.rate
