"""A plan as plain JSON values."""

from typing import Any

import numpy as np

from fairlead.engine.evenness import evenness, fairness, node_use
from fairlead.engine.plan import Divided, Plan
from fairlead.engine.site_plan import PartPath, Path, SitePlan, spots
from fairlead.engine.tier_parts import tier_names
from fairlead.levels.disk.balance import Balance
from fairlead.model.amounts import WHOLE, quantities
from fairlead.model.columns import Int, ints, totals
from fairlead.model.decision import trace_record
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Finding
from fairlead.model.snapshot import Site
from fairlead.model.tiers import ON_DEMAND, OTHER, SPOT


def plan_record(plan: Plan) -> dict[str, Any]:
    """Everything the plan decided, level by level."""
    return {
        "fleet": [divided_record(each) for each in plan.divided],
        "sites": [site_record(each) for each in plan.sites],
        "storage": {name: storage_record(each) for name, each in plan.storage.items()},
        "unplaced": plan.unplaced,
    }


def finding_record(finding: Finding) -> dict[str, Any]:
    """A finding with its code, sentence and cure."""
    return {"reason": finding.code, "message": finding.sentence, "cure": finding.reason.cure.value}


def divided_record(each: Divided) -> dict[str, Any]:
    """One workload that the fleet divides."""
    division = each.division
    return {
        "workload": each.workload.title,
        "kind": each.workload.kind,
        "replicas": each.workload.replicas,
        "placements": dict(division.placements),
        "mode": division.mode.value,
        "rule": division.rule,
        "kept": division.kept,
        "unplaced": division.unplaced,
        "findings": [finding_record(f) for f in (*filter(None, [division.finding]), *each.beyond)],
        "trace": trace_record(division.trace),
    }


def tiers_record(site: Site) -> dict[str, Any]:
    """By which labels the nodes of a site are told apart, and how many are of each tier."""
    names = tier_names(site.nodes, site.tiers)
    counts = {"onDemand": names.count(ON_DEMAND), "spot": names.count(SPOT), "other": names.count(OTHER)}
    return {"labels": list(site.tiers.keys), **counts}


def site_record(plan: SitePlan) -> dict[str, Any]:
    """One site: its workloads, its queues, and how even its nodes are before and after."""
    names = plan.site.nodes.names
    return {
        "cluster": plan.site.name,
        "nodes": len(names),
        "openNodes": int((~plan.after.unschedulable).sum()),
        "tiers": tiers_record(plan.site),
        "workloads": [path_record(path, plan.site) for path in plan.paths],
        "queues": [
            {
                "queue": row.name,
                "deserved": quantities(row.deserved),
                "allocated": quantities(row.allocated),
            }
            for row in plan.sharing.queues
        ],
        "namespaces": [
            {
                "queue": row.queue,
                "namespace": row.namespace,
                "weight": row.weight,
                "allocated": quantities(row.allocated),
            }
            for row in plan.sharing.namespaces
        ],
        "use": {"before": use_record(plan.before), "after": use_record(plan.after)},
        "evenness": {"before": evenness(plan.before), "after": evenness(plan.after)},
        "fairness": dict(zip(("before", "after"), served(plan), strict=True)),
    }


def served(plan: SitePlan) -> tuple[float, float]:
    """How fairly the namespaces are served by what runs, and by what will run."""
    state = plan.before
    whole = ints([min(amount, WHOLE) for amount in totals(state.allocatable[~state.unschedulable])])
    found = []
    for new in (False, True):
        held: dict[str, Int] = {}
        waiting = set()
        for path in plan.paths:
            request, space = dict(path.workload.shape.request), path.workload.namespace
            count = sum(part.part.running + new * part.placed for part in path.parts)
            vector = ints([min(count * request.get(name, 0), WHOLE) for name in state.resources])
            held[space] = np.minimum(held.get(space, 0) + vector, WHOLE)
            if path.unplaced if new else any(part.part.need for part in path.parts):
                waiting.add(space)
        found.append(round(fairness(held, whole, state.resources, plan.site.weights, waiting), 4))
    return found[0], found[1]


def path_record(path: Path, site: Site) -> dict[str, Any]:
    """One workload on one site: what runs, what may start, where it goes."""
    names = site.nodes.names
    there = site.present.get(path.workload.key)
    return {
        "workload": path.workload.title,
        "kind": path.workload.kind,
        "replicas": path.replicas,
        "running": sum(each.part.running for each in path.parts),
        "runs": {} if there is None else {names[row]: int(there[row]) for row in np.flatnonzero(there).tolist()},
        "onDemand": path.split.target,
        "queue": path.job.queue,
        "granted": sum(each.granted for each in path.parts),
        "parts": [_part(each, names) for each in path.parts if each.part.need],
        "unplaced": path.unplaced,
        "findings": [finding_record(finding) for finding in (*path.split.warnings, *path.findings)],
    }


def _part(path: PartPath, names: tuple[str, ...]) -> dict[str, Any]:
    return {
        **({"tier": path.part.tier} if path.part.tier else {}),
        "need": path.part.need,
        "granted": path.granted,
        "placements": dict(spots(path, names)),
        **(
            {
                "rejected": [
                    {"reason": each.reason.code, "count": each.count, "names": list(each.names)}
                    for each in path.rejected
                ]
            }
            if path.rejected
            else {}
        ),
    }


def use_record(nodes: NodeState) -> dict[str, float]:
    """Lowest, mean and highest use of the nodes that take replicas, in percent."""
    use = node_use(nodes)[~nodes.unschedulable]
    if not len(use):
        return {"lowest": 0.0, "mean": 0.0, "highest": 0.0}
    return {
        "lowest": round(float(use.min()) * 100, 1),
        "mean": round(float(use.mean()) * 100, 1),
        "highest": round(float(use.max()) * 100, 1),
    }


def storage_record(decision: Balance) -> dict[str, Any]:
    """Where storage replicas go."""
    return {
        "placements": [
            {
                "volume": each.volume,
                "node": each.node,
                "disk": each.disk,
                **({"reuses": each.reuses} if each.reuses else {}),
            }
            for each in decision.placed
        ],
        "unplaced": decision.unplaced,
        "findings": [finding_record(each.finding) for each in decision.outcomes if each.finding],
    }
