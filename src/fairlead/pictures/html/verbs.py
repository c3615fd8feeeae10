"""The answers of the five verbs for a notebook."""

import json

from fairlead.engine.explain_queue import replicas
from fairlead.kube.admission.review import patch_of
from fairlead.kube.manifests.splitting import Answered
from fairlead.levels.disk.balance import Balance
from fairlead.levels.disk.rebalance import Rebalance
from fairlead.levels.fleet.divide import Division
from fairlead.levels.node.place import NodePlacement
from fairlead.levels.node.realloc import Resize
from fairlead.levels.queue.result import Sharing
from fairlead.model.amounts import quantity
from fairlead.model.nodes import UNLIMITED
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import Finding
from fairlead.pictures.balance import size_text
from fairlead.pictures.html.parts import BLUE, GREEN, GREY, ORANGE, Html, bar, joined, paragraph, table

MOST_ROWS = 60
"""Rows of a table; what is left out is counted."""


def _why(finding: Finding | None) -> tuple[Html, ...]:
    return () if finding is None else (paragraph(f"{finding.sentence} ({finding.code})"),)


def division(decision: Division) -> Html:
    """Clusters with their floor and their part of the residual."""
    most = max(decision.placements.values(), default=0) or 1
    rows = []
    for cluster in natural_sorted(decision.placements):
        count = decision.placements[cluster]
        floor = min(decision.floors.get(cluster, count), count)
        said = f"{cluster}: {count}, of which {count - floor} beyond the floor"
        drawn = bar([(floor / most, BLUE), ((count - floor) / most, ORANGE)], said)
        removed = decision.removed.get(cluster)
        rows.append((cluster, count, decision.floors.get(cluster, ""), drawn, removed.code if removed else ""))
    return joined((table("", ("cluster", "replicas", "floor", "", ""), rows), *_why(decision.finding)))


def sharing(decision: Sharing) -> Html:
    """Queues with what they use, deserve and ask for; then the jobs that wait and the evictions."""
    rows = []
    for queue in decision.queues:
        for name in decision.resources:
            used, fair, asked = queue.allocated[name], queue.deserved[name], queue.requested[name]
            whole = max(1, *(max(each.requested[name], each.allocated[name]) for each in decision.queues))
            within = min(used, fair)
            parts = [(within / whole, BLUE), ((used - within) / whole, ORANGE), ((asked - used) / whole, GREY)]
            amounts = [quantity(name, each) for each in (used, fair, asked)]
            said = f"{queue.name}: {amounts[0]} of {amounts[1]} {name} deserved, {amounts[2]} asked for"
            rows.append((queue.name, name, *amounts, bar(parts, said)))
    waiting = [job for job in decision.jobs if job.pending]
    jobs = [
        (job.name, job.admitted, job.pending, f"{job.finding.sentence} ({job.finding.code})" if job.finding else "")
        for job in waiting[:MOST_ROWS]
    ]
    gone = [
        paragraph(f"{each.action}: {replicas(each.count)} of {each.job} must go for {each.beneficiary}")
        for each in decision.victims[:MOST_ROWS]
    ]
    tables = [table("", ("queue", "resource", "used", "deserved", "asked for", ""), rows)]
    if jobs:
        tables.append(table(f"{len(waiting)} jobs wait", ("job", "admitted", "wait", "why"), jobs))
    return joined((*tables, *gone))


def verdict(answered: Answered) -> Html:
    """The sentences, and what the patch changes."""
    rows = [(each["op"], each["path"], _json(each.get("value", ""))) for each in patch_of(answered.review)]
    parts = [paragraph(line) for line in answered.sentences]
    return joined((*parts, *([table("Patch", ("operation", "path", "value"), rows)] if rows else [])))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def placement(decision: NodePlacement | Resize) -> Html:
    """Nodes with what was there and what is new."""
    if isinstance(decision, Resize):
        cores = [(core, pieces) for core, pieces in decision.pin.cores.items()] if decision.pin else []
        return joined((table(decision.node, ("core", "pieces"), cores), *_why(decision.finding)))
    nodes, added = decision.nodes, decision.added.tolist()
    order = sorted(range(len(nodes)), key=lambda row: (added[row] == 0, int(nodes.rank[row])))[:MOST_ROWS]
    most = max((int(nodes.count[row]) + added[row] for row in order), default=0) or 1
    rows = []
    for row in sorted(order, key=lambda row: int(nodes.rank[row])):
        old, new, capacity = int(nodes.count[row]), added[row], int(nodes.capacity[row])
        drawn = bar([(old / most, GREY), (new / most, BLUE)], f"{nodes.names[row]}: {old} there, {new} new")
        rows.append((nodes.names[row], old, new, "∞" if capacity == UNLIMITED else capacity, drawn))
    more = [paragraph(f"… and {len(nodes) - len(order)} other nodes")] if len(nodes) > len(order) else []
    return joined((table("", ("node", "old", "new", "capacity", ""), rows), *more, *_why(decision.finding)))


def disks(decision: Balance | Rebalance) -> Html:
    """Disks before and after; moves where it is about moves."""
    table_of, before, after = decision.disks, decision.usable_before_bytes, decision.usable_after_bytes
    changed = (before != after).tolist()
    order = sorted(range(len(table_of)), key=lambda row: (not changed[row], row))[:MOST_ROWS]
    most = max(int(before.max(initial=0)), int(after.max(initial=0)), 1)
    rows = []
    for row in sorted(order):
        old, new = int(before[row]), int(after[row])
        colour = ORANGE if new < old else GREEN
        said = f"{table_of.place(row)}: usable {size_text(old)}, then {size_text(new)}"
        drawn = bar([(min(old, new) / most, BLUE), (abs(old - new) / most, colour)], said)
        rows.append(
            (table_of.nodes[int(table_of.node_of[row])], table_of.names[row], size_text(old), size_text(new), drawn)
        )
    parts = [table("", ("node", "disk", "usable", "then", ""), rows)]
    if isinstance(decision, Rebalance):
        moves = [
            (
                each.replica or each.volume,
                size_text(each.size_bytes),
                table_of.place(each.source),
                table_of.place(each.target),
            )
            for each in decision.moves
        ]
        parts.append(table("Moves", ("replica", "size", "from", "to"), moves))
    else:
        placed = [(each.volume or "replica", each.node, each.disk) for each in decision.placed]
        parts.append(table("Placed", ("volume", "node", "disk"), placed))
    return joined((*parts, *_why(decision.finding)))
