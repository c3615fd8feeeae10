"""One workload's way through the levels: fleet, tier, queue, node, disk."""

from typing import Any

from fairlead.engine.explain import workload_lines
from fairlead.engine.plan import Plan
from fairlead.engine.record import divided_record, path_record
from fairlead.engine.site_plan import Path, SitePlan
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.claimed import claimed_volumes
from fairlead.model.amounts import quantities
from fairlead.model.workload import Workload


def workloads_record(decided: Plan) -> dict[str, Any]:
    """Every workload with its counts over all clusters, for lists and for search."""
    rows: dict[str, dict[str, Any]] = {}
    for each in decided.divided:
        rows[each.workload.key] = _summary(each.workload, each.division.unplaced)
    for site in decided.sites:
        for path in site.paths:
            row = rows.setdefault(path.workload.key, _summary(path.workload, 0))
            row["replicas"] += path.replicas
            row["running"] += sum(part.part.running for part in path.parts)
            row["placed"] += sum(part.placed for part in path.parts)
            row["waiting"] += path.unplaced
    return {"workloads": [{"workload": key, **row} for key, row in rows.items()]}


def _summary(workload: Workload, waiting: int) -> dict[str, Any]:
    return {
        "title": workload.title,
        "kind": workload.kind,
        "gang": f"PodGroup/{workload.gang}" if workload.gang else "",
        "replicas": 0,
        "running": 0,
        "placed": 0,
        "waiting": waiting,
    }


def workload_record(decided: Plan, key: str, found: Catalogue) -> dict[str, Any] | None:
    """The records of every level that decided about the workload `key`, and the sentences; None: no such workload.

    `found` tells which volumes are the workload's.
    """
    divided = next((each for each in decided.divided if each.workload.key == key), None)
    here = [(site, path) for site in decided.sites for path in site.paths if path.workload.key == key]
    if divided is None and not here:
        return None
    return {
        "workload": key,
        "title": divided.workload.title if divided else here[0][1].workload.title,
        "fleet": divided_record(divided) if divided else None,
        "sites": [
            {**_site(site, path), "volumes": _volumes(decided, site, claimed_volumes(found, site.site.name, key))}
            for site, path in here
            if path.replicas or any(part.part.running for part in path.parts)
        ],
        "explain": list(_lines(decided, key)),
    }


def _volumes(decided: Plan, site: SitePlan, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Where the storage replicas of these volumes are, and where the plan puts those that wait."""
    held = [
        {"volume": volume.name, "disk": f"{each.node}/{each.disk}" if each.disk else each.node, "new": False}
        for volume in site.site.volumes
        if volume.name in names
        for each in volume.held
        if not each.failed
    ]
    decision = decided.storage.get(site.site.name)
    placed = decision.placed if decision else ()
    return held + [
        {"volume": each.volume, "disk": f"{each.node}/{each.disk}", "new": True}
        for each in placed
        if each.volume in names
    ]


def _lines(decided: Plan, key: str) -> tuple[str, ...]:
    kind, _, title = key.partition("/")
    return workload_lines(decided, f"{kind.lower()}/{title}")


def _site(site: SitePlan, path: Path) -> dict[str, Any]:
    queue = next((row for row in site.sharing.queues if row.name == path.job.queue), None)
    return {
        "cluster": site.site.name,
        **path_record(path, site.site),
        "request": quantities(dict(path.workload.shape.request)),
        "gang": path.workload.least_together,
        "deserved": quantities(queue.deserved) if queue else {},
        "allocated": quantities(queue.allocated) if queue else {},
    }
