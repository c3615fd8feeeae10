"""A placement on nodes as sentences: how many fit each node and what binds, and why it got this many."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from fairlead.levels.node.capacity import reason_of
from fairlead.levels.node.place import NodePlacement
from fairlead.levels.node.realloc import Resize
from fairlead.model.nodes import UNLIMITED
from fairlead.model.reasons import Cure

MOST_NODES = 40
"""Nodes told one by one; of larger clusters those that got most, and the rest in sum."""

_RULES = {
    "auto": "old and new replicas as even over the nodes as they can be",
    "fill": "enough on each chosen node to hold the count asked for",
    "average": "the same number more on each chosen node",
    "global": "utilisation as even as it can be, the last lap to nodes with the fewest replicas of the workload",
    "global-greedy": "every replica where utilisation is lowest afterwards",
    "drained": "nodes with the least room left are used up first",
}
_CURES = {
    Cure.ROOM: "more free amounts on a node would change it",
    Cure.EVICTION: "moving something else away would change it",
    Cure.EDIT: "a change of the request, the limit or a node would change it",
    Cure.NOTHING: "nothing needs to change",
}


def lines(decision: NodePlacement | Resize) -> tuple[str, ...]:
    """One line for the whole, one for why it is not more, then one for each node in natural order."""
    if isinstance(decision, Resize):
        return tuple(_resize(decision))
    return (*_whole(decision), *_nodes(decision))


def _whole(decision: NodePlacement) -> Iterator[str]:
    placed = sum(decision.placements.values())
    yield (
        f"{placed} of {decision.wanted} replicas on {len(decision.placements)} of {len(decision.nodes)} nodes "
        f"by {decision.strategy}: {_RULES[decision.strategy]}."
    )
    if decision.finding:
        yield f"{decision.finding.code}: {decision.finding.sentence}; {_CURES[decision.finding.reason.cure]}."
    for rejection in decision.trace.rejected:
        names = ", ".join(rejection.names) + (" …" if rejection.count > len(rejection.names) else "")
        takers = "1 node takes" if rejection.count == 1 else f"{rejection.count} nodes take"
        yield f"{takers} none: {rejection.reason.sentence} ({rejection.reason.code}; {names})."
    for note in decision.trace.notes:
        yield f"{note[0].upper()}{note[1:]}."


def _nodes(decision: NodePlacement) -> Iterator[str]:
    nodes = decision.nodes
    order = np.lexsort((nodes.rank, -decision.added))[:MOST_NODES]
    for row in sorted(order.tolist(), key=lambda row: int(nodes.rank[row])):
        yield f"{nodes.names[row]}: {_got(decision, row)}; {_capacity(decision, row)}."
    if len(nodes) > MOST_NODES:
        rest = sum(decision.added.tolist()) - sum(decision.added[order].tolist())
        yield f"… and {rest} on {len(nodes) - MOST_NODES} other nodes."


def _capacity(decision: NodePlacement, row: int) -> str:
    """What fits, by resource, and which one binds."""
    capacity = int(decision.nodes.capacity[row])
    fit = decision.fit
    if fit is None or not fit.limits:
        return "room for any number" if capacity == UNLIMITED else f"room for {capacity}"
    parts = [
        f"{name} {int(column[row])}"
        for name, column in fit.limits.items()
        if column[row] != UNLIMITED and name == _resource(name)
    ]
    binding = fit.binding(row)
    if binding is None:
        return "room for any number: nothing that is asked for is limited here"
    if capacity == 0:
        return f"no room: {reason_of(binding).sentence} ({reason_of(binding).code})"
    if binding == "given":
        return f"room for {capacity}, as given"
    return f"room for {capacity}, bound by {binding}" + (
        f" (by resource: {', '.join(parts)})" if len(parts) > 1 else ""
    )


def _resource(name: str) -> str:
    """The name, if it is a resource; a filter's code is none."""
    return name if reason_of(name).code != name else ""


def _got(decision: NodePlacement, row: int) -> str:
    """How many, and why not more or fewer."""
    added, count = int(decision.added[row]), int(decision.nodes.count[row])
    what = f"{added} new" if added else "none"
    beside = f" beside {count}" if count else ""
    if not decision.nodes.capacity[row] or (decision.finding and not decision.placements):
        return what + beside
    return what + beside + _why(decision, row, added, count)


def _why(decision: NodePlacement, row: int, added: int, count: int) -> str:
    ask, capacity = decision.ask, int(decision.nodes.capacity[row])
    full = added == capacity
    if decision.strategy == "auto":
        highest = max((decision.nodes.count + decision.added).tolist())
        if full and added:
            return ", full"
        if ask.limit and count + added >= ask.limit:
            return f", at the limit of {ask.limit}"
        return f", total {count + added}" if added or count + added < highest else ", among the highest already"
    if decision.strategy == "fill":
        if added:
            return f", brought up to {count + added}"
        return (
            f", already holds {ask.each}"
            if count >= ask.each
            else ", not needed"
            if capacity >= ask.each - count
            else ", cannot hold enough"
        )
    if decision.strategy == "average":
        return "" if added else ", others have more room"
    if decision.strategy == "drained":
        return ", used up" if added and full else ", the last one needed" if added else ", has more room than needed"
    before, after = _usage(decision, row, 0), _usage(decision, row, added)
    return f", used {before} → {after}" if added else f", used {before}; with one more {_usage(decision, row, 1)}"


def _usage(decision: NodePlacement, row: int, added: int) -> str:
    nodes = decision.nodes
    share = Fraction(int(nodes.usage[row]) + added * int(nodes.rate[row]), nodes.scale)
    return f"{float(share * 100):.4g} %"


def _resize(decision: Resize) -> Iterator[str]:
    if decision.pin is None:
        assert decision.finding is not None
        yield f"The replica keeps its size: {decision.finding.sentence} ({decision.finding.code})."
        return
    held = sum(decision.current.cores.values())
    yield f"The replica stays on {decision.node}."
    if decision.pin.cores:
        kept = sum(decision.trace.kept.values())
        zone = f", inside NUMA node {decision.pin.numa}" if decision.pin.numa is not None else ""
        holds = sum(decision.pin.cores.values())
        yield f"It held {held} pieces and holds {holds}, {kept} of them where they were{zone}."
    for text, on in decision.pin.mounts.items():
        yield f"{text} is on {', '.join(on)}."
