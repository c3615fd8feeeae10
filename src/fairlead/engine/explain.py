"""A plan as sentences, level by level: for a workload, for a node, for volumes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from fairlead.engine import explain_disk, explain_fleet
from fairlead.engine.plan import Plan
from fairlead.engine.site_plan import PartPath, Path, SitePlan, spots
from fairlead.engine.tier_parts import tier_names
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.feasible import Constraints
from fairlead.levels.node.heights import PARTS, use
from fairlead.levels.queue.result import NamespaceRow, QueueRow
from fairlead.model.amounts import quantities
from fairlead.model.columns import Int
from fairlead.model.errors import InputError
from fairlead.model.order import natural_rank, natural_sorted
from fairlead.model.reasons import Cure, Finding
from fairlead.model.workload import AUTO

MOST = 12
"""Nodes named one by one."""
BEST = 5
"""Nodes told with their scores."""

CURES = {
    Cure.ROOM: "more room would change it",
    Cure.EVICTION: "it would change if a replica ended or moved",
    Cure.EDIT: "it takes a change of the workload, the node or a policy",
    Cure.NOTHING: "nothing needs to change",
}


def workload_lines(plan: Plan, name: str) -> tuple[str, ...]:
    """Everything the plan decided about a workload, as a person calls it."""
    lines: list[str] = []
    for each in plan.divided:
        if each.workload.is_called(name):
            lines += [f"Fleet: {each.workload.title}", *_indent(explain_fleet.lines(each.division))]
            lines += _indent(tuple(f"{finding.sentence}." for finding in each.beyond))
    for site in plan.sites:
        for path in site.paths:
            divided = path.workload.key in {each.workload.key for each in plan.divided}
            if path.workload.is_called(name) and (path.replicas or path.parts[0].part.running or not divided):
                lines += _path(site, path)
    if not lines:
        known = {path.workload.title for site in plan.sites for path in site.paths}
        raise InputError(name, f"no such workload in the plan; {_known(known)}")
    return tuple(lines)


def _known(names: Iterable[str]) -> str:
    """Some of the names there are, for a message."""
    ordered = natural_sorted(names)
    more = f" and {len(ordered) - MOST} more" if len(ordered) > MOST else ""
    return f"there are {', '.join(ordered[:MOST])}{more}" if ordered else "there are none"


def volume_name(plan: Plan, what: str) -> str | None:
    """The volume that is meant: empty for all of them, None where the words mean no volume."""
    if what == "volumes":
        return ""
    if what.startswith("volume/"):
        return what.removeprefix("volume/")
    called = any(path.workload.is_called(what) for site in plan.sites for path in site.paths)
    there = any(each.volume.name == what for decision in plan.storage.values() for each in decision.outcomes)
    return what if there and not called else None


def volume_lines(plan: Plan, name: str = "") -> tuple[str, ...]:
    """Everything about the storage replicas of one volume, or of all."""
    found = [
        replace(
            decision,
            placed=tuple(each for each in decision.placed if name in ("", each.volume)),
            outcomes=tuple(each for each in decision.outcomes if name in ("", each.volume.name)),
            # The scores that are kept are those of the first replica of the first volume.
            first=decision.first if name in ("", decision.outcomes[0].volume.name) else None,
        )
        for decision in plan.storage.values()
        if decision.outcomes
    ]
    if name and not any(decision.outcomes for decision in found):
        known = {each.volume.name for decision in plan.storage.values() for each in decision.outcomes}
        raise InputError(name, f"no such volume in the plan; {_known(known)}")
    lines = tuple(line for decision in found if decision.outcomes for line in explain_disk.lines(decision))
    return lines or ("No volume waits for a storage replica.",)


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


def _site_of(plan: Plan, node: str) -> SitePlan:
    for site in plan.sites:
        if node in site.site.nodes.rows:
            return site
    names = [name for site in plan.sites for name in site.site.nodes.names]
    raise InputError(node, f"no such node in the plan; {_known(names)}")


def _indent(lines: tuple[str, ...]) -> list[str]:
    return [f"  {line}" for line in lines]


def _path(site: SitePlan, path: Path) -> Iterator[str]:
    where = f" on cluster {site.site.name}" if site.site.name else ""
    running = sum(part.part.running for part in path.parts)
    if not path.replicas and not running:
        yield f"{path.workload.kind} {path.workload.title}{where}: {path.workload.idle or 'it asks for 0 replicas'}."
        return
    yield f"{path.workload.kind} {path.workload.title}{where}: {_replicas(path.replicas)}, {running} running already"
    yield from _tier(site, path)
    if path.job.queue:
        yield from _queue(site, path)
    for part in path.parts:
        if part.part.need:
            yield from _node(site, part)
    for finding in path.findings:
        yield f"  {_finding(finding)}"


def _replicas(count: int) -> str:
    return "1 replica" if count == 1 else f"{count} replicas"


def _tier(site: SitePlan, path: Path) -> Iterator[str]:
    split, tiers = path.split, site.site.tiers
    if path.workload.tiered:
        yield f"  {tiers.sentence(tier_names(site.site.nodes, tiers))}"
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
    constraints = Constraints(site.before, part.part.shape, site.site.population)
    codes = constraints.codes()
    if part.granted:
        yield from _scores(site, part, np.flatnonzero(codes == 0), constraints.preference)
    refused = np.bincount(codes, minlength=len(reasons.FILTERS) + 1)
    for code, reason in enumerate(reasons.FILTERS, start=1):
        if refused[code]:
            some = ", ".join(names[row] for row in np.flatnonzero(codes == code)[:3])
            more = ", …" if refused[code] > 3 else ""
            nodes = "1 node" if refused[code] == 1 else f"{refused[code]} nodes"
            yield f"    not {nodes} ({some}{more}): {reason.sentence} ({reason.code})"


def _scores(site: SitePlan, part: PartPath, rows: Int, preference: Int) -> Iterator[str]:
    """The best few of the nodes that could take a replica, by what was compared: preference, then the level."""
    if not len(rows):
        return
    by_use = part.part.workload.strategy != AUTO
    if by_use:
        before, after = use(site.before, part.part.shape)[0], use(site.after, part.part.shape)[0]
    else:
        before = site.site.present.get(part.part.workload.key, np.zeros_like(part.counts))
        after = before + part.counts
    rank = natural_rank(site.before.names)
    order = sorted(rows.tolist(), key=lambda row: (-preference[row], -part.counts[row], after[row], rank[row]))
    what = "the lowest use" if by_use else "the fewest replicas of the workload"
    first = "the preferred nodes, then " if preference[rows].any() else ""
    parts = ", ".join(
        f"{site.before.names[row]} {_level(before[row], by_use)} → {_level(after[row], by_use)}" for row in order[:BEST]
    )
    more = f", … of {len(rows)}" if len(rows) > BEST else ""
    yield f"    first {first}{what}: {parts}{more}"


def _level(value: int, by_use: bool) -> str:
    return f"{value / PARTS:.0%}" if by_use else str(value)


def _finding(finding: Finding) -> str:
    return f"{finding.code}: {finding.sentence}; {CURES[finding.reason.cure]}."


def _amounts(amounts: Mapping[str, int]) -> str:
    shown = {name: value for name, value in amounts.items() if value and name != "pods"}
    return ", ".join(f"{text} {name}" for name, text in quantities(shown).items()) or "nothing"
