"""The verb of the node level: capacities in, counts per node out, and why it is no more."""

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kernel.select import lowest
from fairlead.levels.node import reasons
from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.capacity import Fit, reason_of
from fairlead.levels.node.pins import MOST_PINS, ReplicaPin, pins
from fairlead.levels.node.strategies import BY_NAME, StrategyRule
from fairlead.levels.node.strategies.fill import taking_part
from fairlead.model.amounts import INT64_MAX
from fairlead.model.columns import Bool, Int, frozen
from fairlead.model.decision import Decision, Rejection, Score, Trace
from fairlead.model.errors import InputError
from fairlead.model.nodes import UNLIMITED, NodeTable
from fairlead.model.reasons import Finding, Reason, because


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlacement(Decision):
    """New replicas per node. `added` is the column behind `placements`, which leaves out the zeros.

    `wanted` is how many new replicas were asked for, `missing` how many of them have no room. `fit` is there where
    the capacities were computed from resources, and then `pins` has those of the replicas placed.
    """

    nodes: NodeTable
    ask: NodeAsk
    strategy: str
    added: Int
    wanted: int
    missing: int = 0
    fit: Fit | None = None
    pins: Mapping[str, tuple[ReplicaPin, ...]] = field(default_factory=dict)


def place(
    nodes: NodeTable, ask: NodeAsk, strategy: str, *, partial: bool = False, fit: Fit | None = None
) -> NodePlacement:
    """Place what `ask` wants by the named strategy: all of it or, unless `partial`, nothing."""
    if strategy not in BY_NAME:
        raise InputError("$.strategy", f"{strategy!r} is no strategy; expected one of {', '.join(sorted(BY_NAME))}")
    if ask.limit < 0:
        raise InputError("$.nodesLimit", f"{ask.limit} is negative; expected 0 for no limit, or more")
    if ask.limit > INT64_MAX:
        raise InputError("$.nodesLimit", f"{ask.limit} is too large; expected at most 2^63 − 1, or 0 for no limit")
    # 1. What the strategy can do, and what it was asked to do.
    rule = BY_NAME[strategy]
    able = rule.strategy(nodes, ask)
    wanted = rule.wanted(nodes, ask)
    missing = wanted - sum(able.tolist())
    # 2. All or nothing, unless a part will do.
    added = able if partial or not missing else np.zeros_like(able)
    finding = _finding(rule, nodes, ask, able, wanted)
    # 3. The record.
    rows = _in_order(nodes, np.flatnonzero(added))
    listed = _pins(nodes, added, fit)
    return NodePlacement(
        placements={nodes.names[row]: int(added[row]) for row in rows},
        unplaced=wanted - sum(added.tolist()),
        finding=finding,
        trace=_trace(rule, nodes, ask, fit, _scores(nodes, able, done=added is able), _notes(fit, added, listed)),
        nodes=nodes,
        ask=ask,
        strategy=rule.name,
        added=frozen(added),
        wanted=wanted,
        missing=missing,
        fit=fit,
        pins=listed,
    )


def _in_order(nodes: NodeTable, rows: Int) -> list[int]:
    """The rows in natural order of their names."""
    ordered: list[int] = rows[np.argsort(nodes.rank[rows])].tolist()
    return ordered


def _finding(rule: StrategyRule, nodes: NodeTable, ask: NodeAsk, able: Int, wanted: int) -> Finding | None:
    placeable = sum(able.tolist())
    if rule.name == "fill" and not wanted:
        return because(reasons.ALREADY_FILLED, nodes=taking_part(nodes, ask), each=ask.each)
    if placeable == wanted:
        return None
    where = f"{placeable} fit on {int((able > 0).sum())} of {len(nodes)} nodes"
    if rule.per_node:
        filling = rule.name == "fill"
        enough = int((nodes.capacity >= (np.maximum(ask.each - nodes.count, 0) if filling else ask.each)).sum())
        verb = "hold" if filling else "take"
        where = f"{enough} of {len(nodes)} nodes can {verb} {ask.each}, {taking_part(nodes, ask)} are asked for"
    elif rule.name == "auto" and ask.limit:
        where += f", with at most {ask.limit} on one node"
    return because(reasons.INSUFFICIENT_CAPACITY, missing=wanted - placeable, wanted=wanted, where=where)


def _pins(nodes: NodeTable, added: Int, fit: Fit | None) -> dict[str, tuple[ReplicaPin, ...]]:
    if fit is None or not (fit.request.pieces or fit.request.automatic):
        return {}
    result, left = {}, MOST_PINS
    for row in _in_order(nodes, np.flatnonzero(added)):
        found = pins(fit, row, min(int(added[row]), left))
        left -= len(found)
        if found:
            result[nodes.names[row]] = found
    return result


def _notes(fit: Fit | None, added: Int, listed: Mapping[str, tuple[ReplicaPin, ...]]) -> tuple[str, ...]:
    """What a reader must know about the limits of the computation."""
    notes = []
    if fit is not None and (fit.upper > fit.capacity).any():
        rows = fit.upper > fit.capacity
        notes.append(
            f"the search for the best packing of volumes gave up on {int(rows.sum())} nodes; there at most "
            f"{int((fit.upper - fit.capacity)[rows].max())} more replicas a node could fit"
        )
    shown = sum(len(each) for each in listed.values())
    if listed and shown < sum(added.tolist()):
        notes.append(f"pins are listed for the first {shown} replicas only")
    return tuple(notes)


def _trace(
    rule: StrategyRule,
    nodes: NodeTable,
    ask: NodeAsk,
    fit: Fit | None,
    scores: tuple[Score, ...],
    notes: tuple[str, ...],
) -> Trace:
    rejected = []
    for reason, rows in _rejections(rule, nodes, ask, fit):
        if rows.any():
            names = tuple(nodes.names[row] for row in _in_order(nodes, np.flatnonzero(rows))[:3])
            rejected.append(Rejection(reason=reason, count=int(rows.sum()), names=names))
    return Trace(considered=len(nodes), rejected=tuple(rejected), scores=scores, notes=notes)


def _rejections(rule: StrategyRule, nodes: NodeTable, ask: NodeAsk, fit: Fit | None) -> list[tuple[Reason, Bool]]:
    """Nodes that can take nothing, each under the first reason that holds."""
    open_ = np.ones(len(nodes), dtype=np.bool_)
    found: list[tuple[Reason, Bool]] = []
    for name, column in (fit.limits if fit is not None else {}).items():
        found.append((reason_of(name), open_ & (column == 0)))
        open_ = open_ & (column != 0)
    found.append((reasons.NO_CAPACITY, open_ & (nodes.capacity == 0)))
    open_ = open_ & (nodes.capacity != 0)
    if rule.name == "auto" and ask.limit:
        found.append((reasons.NODE_LIMIT_REACHED, open_ & (nodes.count >= ask.limit)))
    return found


def _scores(nodes: NodeTable, able: Int, *, done: bool) -> tuple[Score, ...]:
    """The five nodes that get most, or would where nothing is placed (not `done`), with what ranked them."""
    best = lowest(min(5, len(nodes)), -able, nodes.rank).tolist()
    return tuple(
        Score(
            target=nodes.names[row],
            terms={
                "added" if done else "placeable": int(able[row]),
                "count": int(nodes.count[row]),
                "capacity": "unlimited" if nodes.capacity[row] == UNLIMITED else int(nodes.capacity[row]),
                **(_utilisation(nodes, row, int(able[row])) if nodes.rate.any() or nodes.usage.any() else {}),
            },
        )
        for row in sorted(best, key=lambda row: (-able[row], nodes.rank[row]))
    )


def _utilisation(nodes: NodeTable, row: int, added: int) -> dict[str, str]:
    after = int(nodes.usage[row]) + added * int(nodes.rate[row])
    return {"usage": f"{int(nodes.usage[row])}/{nodes.scale}", "after": f"{after}/{nodes.scale}"}
