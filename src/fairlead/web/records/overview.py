"""The first view: how many replicas are placed and wait, and how full, even and fair each cluster is."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairlead.engine.evenness import MILLION, evenness
from fairlead.engine.plan import Plan
from fairlead.engine.record import served
from fairlead.engine.site_plan import SitePlan
from fairlead.kernel.imbalance import jain
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Cure, Finding
from fairlead.model.snapshot import Site, Snapshot
from fairlead.web.records.tiers import tier_rows
from fairlead.web.records.waiting import unplaced


def overview_record(view: Snapshot, decided: Plan | None) -> dict[str, Any]:
    """Numbers of the whole, and of each cluster; without a plan only what the snapshot says."""
    if decided is None:
        return {"planned": False, "sites": [_site(each, None) for each in view.sites]}
    return {
        "planned": True,
        "replicas": _replicas(decided),
        "waiting": _by_cure(decided),
        "sites": [_site(each.site, each) for each in decided.sites],
        "fleet": {"workloads": len(decided.divided), "unplaced": sum(e.division.unplaced for e in decided.divided)},
        "storage": _storage(decided),
    }


def _replicas(decided: Plan) -> dict[str, int]:
    paths = [path for site in decided.sites for path in site.paths]
    parts = [part for path in paths for part in path.parts]
    return {
        "asked": sum(path.replicas for path in paths),
        "running": sum(part.part.running for part in parts),
        "placed": sum(part.placed for part in parts),
        "waiting": decided.unplaced,
    }


def _by_cure(decided: Plan) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for each in unplaced(decided):
        counts[_cure(each.finding)] += each.waiting
    return {cure.value: counts[cure.value] for cure in Cure}


def _cure(finding: Finding | None) -> str:
    return finding.reason.cure.value if finding else Cure.ROOM.value


def _site(site: Site, plan: SitePlan | None) -> dict[str, Any]:
    before, after = (plan.before, plan.after) if plan else (site.nodes, site.nodes)
    fair = served(plan) if plan else None
    tiers = list(tier_rows(plan)) if plan else []
    return {
        "cluster": site.name,
        "nodes": len(before.names),
        "openNodes": int((~before.unschedulable).sum()),
        "resources": list(_resources(before, after)),
        "evenness": {"before": evenness(before), "after": evenness(after)},
        "fairness": {"before": fair[0], "after": fair[1]} if fair else None,
        "onDemand": {
            "minimum": sum(row["minimum"] for row in tiers),
            "running": sum(min(row["onDemand"], row["minimum"]) for row in tiers),
            "after": sum(min(row["onDemandAfter"], row["minimum"]) for row in tiers),
        },
    }


def _resources(before: NodeState, after: NodeState) -> Iterator[dict[str, Any]]:
    """Each resource over the nodes that take replicas: sums, and how evenly its use is spread."""
    open_rows = ~before.unschedulable
    for column, name in enumerate(before.resources):
        offered = before.allocatable[open_rows, column]
        if offered.any():
            yield {
                "name": name,
                "allocatable": int(offered.sum()),
                "used": int(before.used[open_rows, column].sum()),
                "after": int(after.used[open_rows, column].sum()),
                "evenness": round(_jain(after, column), 4),
            }


def _jain(nodes: NodeState, column: int) -> float:
    """Jain's index of one resource's use, over the nodes that offer it and take replicas."""
    rows = ~nodes.unschedulable & (nodes.allocatable[:, column] > 0)
    return jain((nodes.used[rows, column] / nodes.allocatable[rows, column] * MILLION).astype(np.int64))


def _storage(decided: Plan) -> dict[str, int]:
    return {
        "placed": sum(len(each.placed) for each in decided.storage.values()),
        "waiting": sum(each.unplaced for each in decided.storage.values()),
    }
