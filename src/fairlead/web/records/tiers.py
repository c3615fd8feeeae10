"""On demand and spot: each workload's minimum, how many replicas keep it, and what is missing."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from fairlead.engine.plan import Plan
from fairlead.engine.record import finding_record
from fairlead.engine.site_plan import SitePlan
from fairlead.engine.tier_parts import on_demand_nodes, spot_nodes
from fairlead.model.columns import Bool


def tiers_record(decided: Plan) -> dict[str, Any]:
    """One row a workload with a minimum on demand, and the replicas of each tier of a cluster."""
    return {
        "sites": [
            {"cluster": site.site.name, "nodes": _counts(site), "workloads": list(tier_rows(site))}
            for site in decided.sites
        ]
    }


def tier_rows(site: SitePlan) -> Iterator[dict[str, Any]]:
    """`onDemand` are replicas on on-demand nodes, `required` those bound to stay there; `repair` how many too few."""
    on_demand = on_demand_nodes(site.site.nodes, site.site.tiers)
    for path in site.paths:
        target = path.split.target
        if target is None:
            continue
        now = _on(site.site.present.get(path.workload.key), on_demand)
        new = sum(_on(part.counts, on_demand) for part in path.parts)
        required = _sum(site.site.required.get(path.workload.key))
        yield {
            "workload": path.workload.key,
            "title": path.workload.title,
            "replicas": path.replicas,
            "running": sum(part.part.running for part in path.parts),
            "text": path.workload.min_available,
            "minimum": target,
            "required": required,
            "onDemand": now,
            "onDemandAfter": now + new,
            "newOnDemand": next((part.placed for part in path.parts if part.part.tier == "on-demand"), 0),
            "repair": _repair(path.replicas, target, required, path.parts),
            "findings": [finding_record(each) for each in path.split.warnings],
        }


def _repair(replicas: int, target: int, required: int, parts: Any) -> int:
    """Replicas that run without the requirement and would have to be replaced, beyond what new ones bring."""
    coming = next((part.part.need for part in parts if part.part.tier == "on-demand"), 0)
    return max(min(target, replicas) - required - coming, 0)


def _on(column: Any, mask: Bool) -> int:
    return 0 if column is None else int(column[mask].sum())


def _sum(column: Any) -> int:
    return 0 if column is None else int(column.sum())


def _counts(site: SitePlan) -> dict[str, int]:
    nodes = site.site.nodes
    on_demand = on_demand_nodes(nodes, site.site.tiers)
    spot = spot_nodes(nodes, site.site.tiers)
    return {
        "onDemand": int(on_demand.sum()),
        "spot": int(spot.sum()),
        "other": int(np.count_nonzero(~(on_demand | spot))),
    }
