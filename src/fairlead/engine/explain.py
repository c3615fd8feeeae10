"""A plan as sentences, level by level: for a workload, for a node, and why a workload is not on a node."""

from collections.abc import Iterator, Mapping

import numpy as np

from fairlead.engine import explain_disk, explain_fleet
from fairlead.engine.plan import Plan
from fairlead.engine.site import PartPath, Path, SitePlan, spots
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.feasible import Constraints
from fairlead.levels.queue.result import NamespaceRow, QueueRow
from fairlead.model.amounts import quantities
from fairlead.model.errors import InputError
from fairlead.model.reasons import Cure, Finding

MOST = 12
"""Nodes named one by one."""

CURES = {
    Cure.ROOM: "more room would change it",
    Cure.EVICTION: "it would change if a replica ended or moved",
    Cure.EDIT: "it takes a change of the workload, the node or a policy",
    Cure.NOTHING: "nothing needs to change",
}


def workload_lines(plan: Plan, name: str) -> tuple[str, ...]:
    """Everything the plan decided about a workload (its name, or namespace/name)."""
    lines: list[str] = []
    for divided in plan.divided:
        if name in (divided.workload.name, divided.workload.title):
            lines += [f"Fleet: {divided.workload.title}", *_indent(explain_fleet.lines(divided.division))]
            lines += _indent(tuple(f"{finding.sentence}." for finding in divided.beyond))
    for site in plan.sites:
        for path in site.paths:
            if name in (path.workload.name, path.workload.title) and (path.replicas or path.parts[0].part.running):
                lines += _path(site, path)
    if not lines:
        known = sorted({path.workload.title for site in plan.sites for path in site.paths})
        raise InputError(name, f"no such workload in the plan; there are {', '.join(known) or 'none'}")
    return tuple(lines)


def volume_lines(plan: Plan) -> tuple[str, ...]:
    """Everything about storage replicas."""
    return tuple(line for decision in plan.storage.values() for line in explain_disk.lines(decision))


def node_lines(plan: Plan, node: str) -> tuple[str, ...]:
    """What is on a node now, what the plan adds, and what it has left."""
    site = _site_of(plan, node)
    row = site.site.nodes.rows[node]
    lines = [f"Node {node}" + (f" of cluster {site.site.name}" if site.site.name else "")]
    for path in site.paths:
        column = site.site.present.get(path.workload.key)
        runs = 0 if column is None else int(column[row])
        new = sum(int(part.counts[row]) for part in path.parts)
        if runs or new:
            lines.append(f"  {path.workload.title}: {runs} running, {new} new")
    free = dict(zip(site.after.resources, site.after.free[row].tolist(), strict=True))
    lines.append(f"  left afterwards: {_amounts(free)}")
    if site.site.nodes.unschedulable[row]:
        lines.append("  it is cordoned or not ready: nothing new is placed here")
    return tuple(lines)


def why_not(plan: Plan, name: str, node: str) -> tuple[str, ...]:
    """Why a workload does not get (more) replicas on a node, asked of the node as the plan leaves it."""
    site = _site_of(plan, node)
    row = site.site.nodes.rows[node]
    found = [path for path in site.paths if name in (path.workload.name, path.workload.title)]
    if not found:
        raise InputError(name, f"no such workload on the cluster of node {node}")
    lines = []
    for part in found[0].parts:
        code = int(Constraints(site.after, part.part.shape, site.site.population).codes()[row])
        what = f"replicas of {found[0].workload.title}" + (f" ({part.part.tier})" if part.part.tier else "")
        if code:
            reason = reasons.FILTERS[code - 1]
            lines.append(f"{node} takes no more {what}: {reason.code}, {reason.sentence}; {CURES[reason.cure]}.")
        elif not part.part.need:
            lines.append(f"{node} would take {what}, but no more are asked for.")
        else:
            here = int(part.counts[row])
            lines.append(
                f"{node} would take one more of the {what}; it has {here} new, and others were lower or came first."
            )
    return tuple(lines)


def _site_of(plan: Plan, node: str) -> SitePlan:
    for site in plan.sites:
        if node in site.site.nodes.rows:
            return site
    raise InputError(node, "no such node in the plan")


def _indent(lines: tuple[str, ...]) -> list[str]:
    return [f"  {line}" for line in lines]


def _path(site: SitePlan, path: Path) -> Iterator[str]:
    where = f" on cluster {site.site.name}" if site.site.name else ""
    running = sum(part.part.running for part in path.parts)
    yield f"{path.workload.kind} {path.workload.title}{where}: {path.replicas} replicas, {running} running already"
    yield from _tier(path)
    yield from _queue(site, path)
    for part in path.parts:
        if part.part.need:
            yield from _node(site, part)
    for finding in path.findings:
        yield f"  {_finding(finding)}"


def _tier(path: Path) -> Iterator[str]:
    split = path.split
    if split.target is not None:
        needs = {part.part.tier: part.part.need for part in path.parts}
        yield (
            f"  Tier: {split.target} must be on on-demand nodes; of the new ones {needs['on-demand']} must, "
            f"{needs['spot']} prefer spot"
        )
    elif split.finding:
        yield f"  Tier: {split.finding.sentence}"
    for warning in split.warnings:
        yield f"  Note: {warning.sentence}"


def _queue(site: SitePlan, path: Path) -> Iterator[str]:
    granted = sum(part.granted for part in path.parts)
    wanted = sum(part.part.need for part in path.parts)
    queue = next((row for row in site.sharing.queues if row.name == path.job.queue), None)
    space = next(
        (
            row
            for row in site.sharing.namespaces
            if row.queue == path.job.queue and row.namespace == path.workload.namespace
        ),
        None,
    )
    yield f"  Queue {path.job.queue}: {granted} of {wanted} may start{_standing(queue, space)}"


def _standing(queue: QueueRow | None, space: NamespaceRow | None) -> str:
    if queue is None or space is None:
        return ""
    return (
        f"; the queue deserves {_amounts(queue.deserved)} and gets {_amounts(queue.allocated)}, "
        f"namespace {space.namespace} (weight {space.weight}) {_amounts(space.allocated)}"
    )


def _node(site: SitePlan, part: PartPath) -> Iterator[str]:
    kind = f" ({part.part.tier})" if part.part.tier else ""
    names = site.site.nodes.names
    found = spots(part, names)
    if len(found) > MOST:
        where = f"{part.placed} on {len(found)} nodes, at most {int(part.counts.max())} each"
    else:
        where = ", ".join(f"{name} {count}" for name, count in found.items()) or "nowhere"
    yield f"  Node{kind}: {part.placed} of {part.granted} placed: {where}"
    codes = Constraints(site.before, part.part.shape, site.site.population).codes()
    refused = np.bincount(codes, minlength=len(reasons.FILTERS) + 1)
    for code, reason in enumerate(reasons.FILTERS, start=1):
        if refused[code]:
            some = ", ".join(names[row] for row in np.flatnonzero(codes == code)[:3])
            more = ", …" if refused[code] > 3 else ""
            yield f"    not {refused[code]} nodes ({some}{more}): {reason.sentence}"


def _finding(finding: Finding) -> str:
    return f"{finding.code}: {finding.sentence}; {CURES[finding.reason.cure]}."


def _amounts(amounts: Mapping[str, int]) -> str:
    shown = {name: value for name, value in amounts.items() if value and name != "pods"}
    return ", ".join(f"{text} {name}" for name, text in quantities(shown).items()) or "nothing"
