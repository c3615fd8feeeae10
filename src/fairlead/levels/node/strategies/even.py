"""Global: the utilisation of the nodes as even as it can be, with and without regard to where the workload piles up."""

from heapq import heappop, heappush

import numpy as np

from fairlead.kernel.level import level
from fairlead.levels.node.ask import NodeAsk
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
    """As `greedy`, but the last lap (as many replicas as nodes) goes one at a time with an eye on the workload.

    The nodes less used than the least used one would be with one more replica count as equals; among equals the one
    with the fewest replicas of this workload, old and new, is taken, then the lowest result, then name. So the workload
    does not pile up, and the highest utilisation stays below that of `greedy` plus two replicas' rates, or plus one
    where all rates are equal.
    """
    lap = min(ask.need, len(nodes))
    added = greedy(nodes, NodeAsk(need=ask.need - lap, each=ask.each, limit=ask.limit))
    taken = np.array(_walk(nodes, added, lap), dtype=np.int64)
    return added + np.bincount(taken, minlength=len(nodes))


def _walk(nodes: NodeTable, added: Int, steps: int) -> list[int]:
    """The rows that take the last `steps` replicas, in turn.

    `lowest` finds the least used node; `waiting` feeds `equal`, the nodes that were once among the equals. Entries are
    whole numbers, used · result · rank or held · result · rank, which compare faster than tuples. A node with room is
    in `waiting` or in `equal`, never in both; one that is too used goes back. In `lowest` its older entries are stale.
    """
    rate, rank = nodes.rate.tolist(), nodes.rank.tolist()
    used, held = _used(nodes, added).tolist(), (nodes.count + added).tolist()
    left = np.minimum(nodes.capacity - added, steps).tolist()
    row_of = np.argsort(nodes.rank).tolist()
    low = len(rank).bit_length()
    mask = (1 << low) - 1
    high = (
        low
        + max((at + step * (more + 1) for at, step, more in zip(used, rate, left, strict=True)), default=0).bit_length()
    )
    lowest = sorted(
        at << high | at + step << low | place
        for at, step, place, more in zip(used, rate, rank, left, strict=True)
        if more
    )
    waiting, equal = list(lowest), list[int]()
    taken: list[int] = []
    while lowest and len(taken) < steps:
        least = row_of[lowest[0] & mask]
        if lowest[0] >> high != used[least] or not left[least]:
            heappop(lowest)
            continue
        edge = used[least] + rate[least]
        bar = max(edge << high, lowest[0] + 1)
        while waiting and waiting[0] < bar:
            row = row_of[heappop(waiting) & mask]
            heappush(equal, held[row] << high | used[row] + rate[row] << low | rank[row])
        row = -1
        # Until the least used node itself is taken, the edge stays where it is.
        while row != least and len(taken) < steps:
            row = row_of[heappop(equal) & mask]
            result = used[row] + rate[row]
            if used[row] >= edge and row != least:
                heappush(waiting, used[row] << high | result << low | rank[row])
                continue
            taken.append(row)
            left[row] -= 1
            held[row] += 1
            used[row] = result
            if left[row]:
                tail = result + rate[row] << low | rank[row]
                heappush(lowest, result << high | tail)
                if result < edge:
                    heappush(equal, held[row] << high | tail)
                else:
                    heappush(waiting, result << high | tail)
    return taken


def _used(nodes: NodeTable, added: Int) -> Wide:
    """Utilisation with the replicas added."""
    most = int(nodes.usage.max(initial=0)) + int(nodes.rate.max(initial=0)) * int(added.max(initial=0))
    usage = nodes.usage.astype(object) if most > INT64_MAX else nodes.usage
    return usage + added * nodes.rate
