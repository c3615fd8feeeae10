"""The JSON of `fairlead place`: nodes given by capacity or by resources, a strategy, and the counts that follow."""

from collections.abc import Sequence
from typing import Any

import msgspec

from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.capacity import Fit, fit
from fairlead.levels.node.pins import MOST_PINS, ReplicaPin, pins
from fairlead.levels.node.place import NodePlacement, place
from fairlead.levels.node.realloc import Resize, resize
from fairlead.levels.node.usage import NOTHING, UsageShares, derived, shares
from fairlead.model.columns import distinct
from fairlead.model.decision import decision_record
from fairlead.model.errors import InputError
from fairlead.model.nodes import UNLIMITED, NodeTable, node_table
from fairlead.problems.rooms import (
    CurrentSpec,
    NodeInput,
    RequestSpec,
    barred_by,
    current_of,
    request_of,
    room_of,
    share_of,
)

MOST_REPLICAS = 10**12
"""Of one problem; keeps every sum exact."""


class PlaceProblem(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """`count` is in total, or a node for fill and average; `plans: all` lists the pins of all replicas that fit."""

    strategy: str = "auto"
    count: int = 1
    nodes_limit: int = 0
    partial: bool = False
    plans: str = "placed"
    request: RequestSpec | None = None
    nodes: list[NodeInput] = []
    current: CurrentSpec | None = None
    """Given, the question is another one: this replica at the size of `request`, on its own node."""


PROBLEM = PlaceProblem
"""What `cli.verb` decodes."""


def solve(problem: PlaceProblem) -> NodePlacement | Resize:
    """The placement, or InputError where the problem cannot be meant."""
    distinct([node.name for node in problem.nodes], "$.nodes")
    if problem.current is not None:
        return _resize(problem, problem.current)
    if not 1 <= problem.count <= MOST_REPLICAS:
        raise InputError("$.count", f"{problem.count} replicas; expected from 1 to {MOST_REPLICAS}")
    if problem.plans not in ("placed", "all"):
        raise InputError("$.plans", f'{problem.plans!r}; expected "placed" or "all"')
    fitted = _fit(problem)
    ask = NodeAsk(need=problem.count, each=problem.count, limit=problem.nodes_limit)
    return place(_table(problem, fitted), ask, problem.strategy.lower(), partial=problem.partial, fit=fitted)


def _resize(problem: PlaceProblem, spec: CurrentSpec) -> Resize:
    request = request_of(problem.request or RequestSpec())
    for row, node in enumerate(problem.nodes):
        if node.name == spec.node:
            return resize(room_of(node, f"$.nodes[{row}]", request), request, current_of(spec))
    raise InputError("$.current.node", f"{spec.node!r} is not among the nodes; expected one of them")


def answer(problem: PlaceProblem, decision: NodePlacement | Resize) -> dict[str, Any]:
    """The JSON answer; unlimited capacity is null."""
    record = decision_record(decision)
    trace = record.pop("trace")
    if isinstance(decision, Resize):
        if decision.pin is not None:
            record["pins"] = {decision.node: [_pin(decision.pin)]}
        return record | {"trace": trace}
    nodes = decision.nodes
    order = sorted(range(len(nodes)), key=lambda row: int(nodes.rank[row]))
    record["capacity"] = {nodes.names[row]: _plain(int(nodes.capacity[row])) for row in order}
    if decision.missing:
        record["missing"] = decision.missing
    if decision.pins:
        record["pins"] = {name: [_pin(each) for each in held] for name, held in decision.pins.items()}
    if problem.plans == "all" and decision.fit is not None:
        record["plans"] = _plans(decision.fit, order)
    record["trace"] = trace
    return record


def _plain(capacity: int) -> int | None:
    return None if capacity == UNLIMITED else capacity


def _plans(fitted: Fit, order: Sequence[int]) -> dict[str, list[dict[str, Any]]]:
    """The pins of every replica that would fit, node by node, until so many are listed."""
    plans, left = {}, MOST_PINS
    for row in order:
        capacity = int(fitted.capacity[row])
        found = () if capacity == UNLIMITED else pins(fitted, row, min(capacity, left))
        plans[fitted.rooms[row].name] = [_pin(each) for each in found]
        left -= len(found)
    return plans


def _pin(pin: ReplicaPin) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if pin.cores:
        record["cpu"] = dict(pin.cores)
    if pin.numa is not None:
        record["numa"] = pin.numa
    if pin.mounts:
        record["volumes"] = pin.volumes
        record["mounts"] = pin.mounts
    return record


def _fit(problem: PlaceProblem) -> Fit:
    request = request_of(problem.request or RequestSpec())
    rooms = [room_of(node, f"$.nodes[{row}]", request) for row, node in enumerate(problem.nodes)]
    barred = [barred_by(node.excluded, f"$.nodes[{row}].excluded") for row, node in enumerate(problem.nodes)]
    return fit(rooms, request, barred)


def _table(problem: PlaceProblem, fitted: Fit) -> NodeTable:
    nodes = problem.nodes
    shared = _shares(nodes, fitted)
    for row, node in enumerate(nodes):
        if not 0 <= node.count <= MOST_REPLICAS:
            raise InputError(f"$.nodes[{row}].count", f"{node.count}; expected from 0 to {MOST_REPLICAS}")
    return node_table(
        [node.name for node in nodes],
        fitted.capacity,
        count=[node.count for node in nodes],
        usage=shared.usage,
        rate=shared.rate,
        scale=shared.scale,
    )


def _shares(nodes: Sequence[NodeInput], fitted: Fit) -> UsageShares:
    pairs = []
    for row, node in enumerate(nodes):
        own = NOTHING, NOTHING
        if node.usage is None or node.rate is None:
            own = derived(fitted.rooms[row], fitted.request)
        usage = own[0] if node.usage is None else share_of(node.usage, f"$.nodes[{row}].usage")
        rate = own[1] if node.rate is None else share_of(node.rate, f"$.nodes[{row}].rate")
        pairs.append((usage, rate))
    return shares(pairs)
