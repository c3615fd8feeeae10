"""Global: the utilisation of the nodes as even as it can be, with and without regard to where the workload piles up."""

from heapq import heappop, heappush

import numpy as np

from fairlead.kernel.level import level
from fairlead.levels.node.ask import Ask
from fairlead.levels.node.strategies.ties import by_capacity
from fairlead.model.amounts import INT64_MAX
from fairlead.model.columns import Int
from fairlead.model.nodes import NodeTable, Wide


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

    Nodes lie by utilisation in `order` (as it was before the lap) and in the heap `risen` (those that took one since):
    the least used node is the first entry that is still true of its node. They enter `equal`, by replicas held, once
    they are among the equals, and wait in `again` where they are too used for now. Entries are whole numbers, which
    compare faster than tuples: used (or held), then result, then rank.
    """
    rate, rank = nodes.rate.tolist(), nodes.rank.tolist()
    used, held = _used(nodes, added).tolist(), (nodes.count + added).tolist()
    left = np.minimum(nodes.capacity - added, steps).tolist()
    row_of = np.argsort(nodes.rank).tolist()
    low = len(rank).bit_length()
    high = (
        low
        + max((at + step * (more + 1) for at, step, more in zip(used, rate, left, strict=True)), default=0).bit_length()
    )
    mask = (1 << low) - 1

    def entry(lead: int, row: int) -> int:
        return lead << high | used[row] + rate[row] << low | rank[row]

    end = 1 << 2 * high
    order = [*sorted(entry(used[row], row) for row in range(len(rank)) if left[row]), end]
    first, entered = 0, 0
    risen, again, equal = [end], [end], list[int]()
    taken: list[int] = []
    while len(taken) < steps:
        least = min(order[first], risen[0])
        if least == end:
            break
        bottom = row_of[least & mask]
        if least >> high != used[bottom] or not left[bottom]:
            if least == order[first]:
                first += 1
            else:
                heappop(risen)
            continue
        edge = used[bottom] + rate[bottom]
        bar = max(edge << high, least + 1)
        while order[entered] < bar or again[0] < bar:
            if order[entered] < bar:
                found = order[entered]
                entered += 1
            else:
                found = heappop(again)
            row = row_of[found & mask]
            if found >> high == used[row] and left[row]:
                heappush(equal, entry(held[row], row))
        found = heappop(equal)
        row = row_of[found & mask]
        if found >> high != held[row] or not left[row]:
            continue
        if used[row] >= edge and row != bottom:
            heappush(again, entry(used[row], row))
            continue
        taken.append(row)
        left[row] -= 1
        held[row] += 1
        used[row] += rate[row]
        if left[row]:
            heappush(risen, entry(used[row], row))
            heappush(again, entry(used[row], row))
    return taken


def _used(nodes: NodeTable, added: Int) -> Wide:
    """Utilisation with the replicas added."""
    most = int(nodes.usage.max(initial=0)) + int(nodes.rate.max(initial=0)) * int(added.max(initial=0))
    usage = nodes.usage.astype(object) if most > INT64_MAX else nodes.usage
    return usage + added * nodes.rate
