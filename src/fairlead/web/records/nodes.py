"""Nodes as columns: what they have, what is used now and after the plan, and the groups they can be shown in."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairlead.engine.plan import Plan
from fairlead.engine.site_plan import SitePlan
from fairlead.model.columns import Int
from fairlead.model.disks import DiskTable
from fairlead.model.nodestate import ABSENT, NodeState
from fairlead.model.snapshot import Site, Snapshot

STORAGE = "disks"
"""The storage of a node's disks, shown beside the resources of the node."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "zone": ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone"),
    "tier": (
        "node.kubernetes.io/capacity",
        "karpenter.sh/capacity-type",
        "eks.amazonaws.com/capacityType",
        "cloud.google.com/gke-provisioning",
        "kubernetes.azure.com/scalesetpriority",
    ),
    "pool": (
        "karpenter.sh/nodepool",
        "cloud.google.com/gke-nodepool",
        "eks.amazonaws.com/nodegroup",
        "kubernetes.azure.com/agentpool",
        "node.kubernetes.io/instance-type",
    ),
    "rack": ("topology.kubernetes.io/rack", "rack"),
}
"""What nodes can be grouped by, with the labels that say it; the first label that any node has counts."""


def map_record(view: Snapshot, decided: Plan | None) -> dict[str, Any]:
    """Every node of every cluster; before there is a plan, `after` is what is used now."""
    plans = {each.site.name: each for each in decided.sites} if decided else {}
    return {
        "planned": decided is not None,
        "sites": [site_nodes(site, plans.get(site.name)) for site in view.sites],
    }


def site_nodes(site: Site, plan: SitePlan | None) -> dict[str, Any]:
    """The nodes of one cluster, one column a resource."""
    nodes = site.nodes
    after = plan.after if plan else nodes
    record = {
        "cluster": site.name,
        "names": list(nodes.names),
        "resources": list(nodes.resources),
        "allocatable": nodes.allocatable.T.tolist(),
        "used": nodes.used.T.tolist(),
        "after": after.used.T.tolist(),
        "closed": np.flatnonzero(nodes.unschedulable).tolist(),
        "groups": {name: group for name, keys in GROUPS.items() if (group := _group(nodes, keys)) is not None},
    }
    if site.disks is not None and len(site.disks):
        whole, used = _storage(site.disks, nodes)
        record["resources"].append(STORAGE)
        for column, amounts in (("allocatable", whole), ("used", used), ("after", used)):
            record[column].append(amounts.tolist())
    return record


def _group(nodes: NodeState, keys: tuple[str, ...]) -> dict[str, Any] | None:
    for key in keys:
        column = nodes.labels.get(key)
        if column is not None and (column.codes != ABSENT).any():
            return {"label": key, "values": list(column.values), "codes": column.codes.tolist()}
    return None


def _storage(disks: DiskTable, nodes: NodeState) -> tuple[Int, Int]:
    """Per node the bytes of its disks that replicas may have, and those that they have."""
    whole, used = (np.zeros(len(nodes.names), dtype=np.int64) for _ in range(2))
    for row, node in enumerate(disks.nodes):
        place = nodes.rows.get(node)
        if place is not None:
            own = list(disks.rows_of(row))
            whole[place] = disks.total_bytes[own].sum()
            used[place] = (disks.total_bytes[own] - disks.usable_bytes[own]).sum()
    return whole, used


def node_record(decided: Plan, node: str) -> dict[str, Any] | None:
    """What is on one node: each workload with its running and its new replicas; None where there is no such node."""
    for site in decided.sites:
        row = site.site.nodes.rows.get(node)
        if row is not None:
            return {
                "node": node,
                "cluster": site.site.name,
                "labels": _labels(site.site.nodes, row),
                "taints": [
                    f"{each.key}{'=' + each.value if each.value else ''}:{each.effect}"
                    for each in site.site.nodes.taint_profiles[int(site.site.nodes.taint_profile[row])]
                ],
                "closed": bool(site.site.nodes.unschedulable[row]),
                "workloads": _residents(site, row),
            }
    return None


def _labels(nodes: NodeState, row: int) -> dict[str, str]:
    return {
        key: column.values[int(column.codes[row])]
        for key, column in sorted(nodes.labels.items())
        if column.codes[row] != ABSENT
    }


def _residents(site: SitePlan, row: int) -> list[dict[str, Any]]:
    found = []
    for path in site.paths:
        column = site.site.present.get(path.workload.key)
        running = 0 if column is None else int(column[row])
        new = sum(int(part.counts[row]) for part in path.parts)
        if running or new:
            found.append({"workload": path.workload.key, "running": running, "new": new})
    return found
