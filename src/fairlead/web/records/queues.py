"""Queues: what each deserves, uses and asks for, down to namespaces and jobs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairlead.engine.plan import Plan
from fairlead.engine.records_queue import sharing_record
from fairlead.engine.site_plan import Path, SitePlan
from fairlead.levels.queue.result import Sharing
from fairlead.model.amounts import quantities
from fairlead.model.queuestate import QueueEntry


def queues_record(decided: Plan) -> dict[str, Any]:
    """The queues of every cluster."""
    return {"sites": [_site(each) for each in decided.sites]}


def _site(site: SitePlan) -> dict[str, Any]:
    known = {queue.name: queue for queue in site.site.queues}
    weights = {name: queue.weight for name, queue in known.items()}
    whole = site.before.allocatable[~site.before.unschedulable].sum(axis=0).tolist()
    record = sharing_record(_used_now(site), weights)
    after = {row.name: row.allocated for row in site.sharing.queues}
    spaces = {(row.queue, row.namespace): row.allocated for row in site.sharing.namespaces}
    jobs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in site.paths:
        if path.replicas or any(part.part.running for part in path.parts):
            jobs.setdefault((path.job.queue, path.workload.namespace), []).append(_job(path))
    for queue in record["queues"]:
        queue |= {"after": quantities(after[queue["name"]]), **_bounds(known.get(queue["name"]))}
        for space in queue["namespaces"]:
            pair = (queue["name"], space["name"])
            space |= {"after": quantities(spaces[pair]), "jobs": jobs.get(pair, [])}
    return {
        "cluster": site.site.name,
        "whole": quantities(dict(zip(site.before.resources, whole, strict=True))),
        **record,
    }


def _bounds(queue: QueueEntry | None) -> dict[str, Any]:
    if queue is None:
        return {"parent": "", "open": True, "guarantee": {}, "capability": {}}
    return {
        "parent": queue.parent,
        "open": queue.open,
        "guarantee": quantities(queue.guarantee),
        "capability": quantities(queue.capability),
    }


def _job(path: Path) -> dict[str, Any]:
    return {
        "workload": path.workload.key,
        "title": path.workload.title,
        "gang": path.workload.least_together,
        "priority": path.workload.priority,
        "request": quantities(dict(path.workload.shape.request)),
        "replicas": path.replicas,
        "running": sum(part.part.running for part in path.parts),
        "starts": sum(part.placed for part in path.parts),
        "waiting": path.unplaced,
        "reason": path.findings[0].code if path.findings else None,
    }


def _used_now(site: SitePlan) -> Sharing:
    """The sharing with what runs now in place of what would run after it."""
    held: dict[tuple[str, str], dict[str, int]] = {}
    for path in site.paths:
        count = sum(part.part.running for part in path.parts)
        own = held.setdefault((path.job.queue, path.workload.namespace), {})
        for name, amount in (*path.workload.shape.request, ("pods", 1)):
            own[name] = own.get(name, 0) + count * amount
    sharing = site.sharing
    return replace(
        sharing,
        queues=tuple(
            replace(row, allocated=_sum(row.allocated, [own for (queue, _), own in held.items() if queue == row.name]))
            for row in sharing.queues
        ),
        namespaces=tuple(
            replace(row, allocated=_sum(row.allocated, [held.get((row.queue, row.namespace), {})]))
            for row in sharing.namespaces
        ),
    )


def _sum(names: Mapping[str, int], amounts: list[dict[str, int]]) -> dict[str, int]:
    return {name: sum(each.get(name, 0) for each in amounts) for name in names}
