"""Global: the utilisation of the nodes as even as it can be, with and without regard to where the workload piles up."""

from heapq import heapify, heappop, heappush

import numpy as np

from fairlead.kernel.level import level
from fairlead.levels.node.ask import Ask
from fairlead.levels.node.strategies.ties import by_capacity
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable


def greedy(nodes: NodeTable, ask: Ask) -> Int:
    """Every replica goes where the utilisation is lowest afterwards; ties: more capacity, then name.

    So the highest utilisation among the nodes that were given something is the lowest possible. A node whose rate is
    0 takes all it can once it is lowest.
    """
    return level(ask.need, nodes.usage, nodes.rate, nodes.capacity, tie_rank=by_capacity(nodes))


def global_(nodes: NodeTable, ask: Ask) -> Int:
    """As `greedy`, but the last lap (as many replicas as nodes) goes one at a time with an eye on the workload.

    The nodes less used than the least used one would be with one more replica count as equals; among equals the one
    with the fewest replicas of this workload, old and new, is taken, then the lowest result, then name. So utilisation
    stays within one replica of the most even, and the workload does not pile up.
    """
    lap = min(ask.need, len(nodes))
    added = greedy(nodes, Ask(need=ask.need - lap, each=ask.each, limit=ask.limit))
    for row in _walk(nodes, added, lap):
        added[row] += 1
    return added


def _walk(nodes: NodeTable, added: Int, steps: int) -> list[int]:
    """The rows that take the last `steps` replicas, in turn.

    `waiting` holds nodes by utilisation, `equal` those that were once among the equals by replicas. An entry of either
    is stale once its node holds more replicas than it says; a node in `equal` that is too used for now goes back.
    """
    rate, rank = nodes.rate.tolist(), nodes.rank.tolist()
    used = (nodes.usage.astype(object) + added.astype(object) * nodes.rate).tolist()
    held = (nodes.count + added).tolist()
    left = np.minimum(nodes.capacity - added, steps).tolist()
    # Two heaps over all nodes with room: `lowest` finds the least used one, `waiting` feeds the equals.
    lowest = [(used[row], used[row] + rate[row], rank[row], row, held[row]) for row in range(len(used)) if left[row]]
    heapify(lowest)
    waiting = list(lowest)
    equal: list[tuple[int, int, int, int, int]] = []
    taken: list[int] = []
    while lowest and len(taken) < steps:
        least = lowest[0]
        if least[4] != held[least[3]]:
            heappop(lowest)
            continue
        edge = least[1]
        while waiting and (waiting[0][0] < edge or waiting[0] == least):
            at, result, place, row, version = heappop(waiting)
            if version == held[row]:
                heappush(equal, (version, result, place, row, at))
        version, result, place, row, at = heappop(equal)
        if version != held[row]:
            continue
        if at >= edge and row != least[3]:
            heappush(waiting, (at, result, place, row, version))
            continue
        taken.append(row)
        left[row] -= 1
        held[row] += 1
        used[row] += rate[row]
        if left[row]:
            entry = (used[row], used[row] + rate[row], rank[row], row, held[row])
            heappush(lowest, entry)
            heappush(waiting, entry)
    return taken
