"""A plan as the objects to write: workloads bound to clusters, pods to nodes, storage replicas to disks.

Each object has its identity and the fields that the plan decides, so that it can be applied or compared on its own.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairlead.engine.plan import Divided, Plan
from fairlead.engine.site_plan import Path, SitePlan
from fairlead.kube.admission.rules import requires_on_demand
from fairlead.kube.codec.longhorn import storage
from fairlead.kube.manifests.catalogue import CLUSTER, Catalogue
from fairlead.kube.manifests.controllers import owner_key, replica_set_owners
from fairlead.kube.objects.karmada import ResourceBinding
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.kube.objects.pod import Pod
from fairlead.model.order import natural_key
from fairlead.model.tiers import Tiers

Object = dict[str, Any]


def written(found: Catalogue, plan: Plan) -> list[Object]:
    """The objects, in the order of the levels. A workload without pods yet has nothing to bind on nodes."""
    objects = [_division(found, divided) for divided in plan.divided]
    for site in plan.sites:
        objects += _bindings(found, site)
    for name, decision in plan.storage.items():
        stored = storage(
            found.at(LonghornNode, name),
            found.at(LonghornVolume, name),
            found.at(LonghornReplica, name),
            found.at(LonghornSetting, name),
        )
        spaces = {each.metadata.name: each.metadata.namespace for each in found.at(LonghornReplica, name)}
        for placed in decision.placed:
            if placed.replica:
                place = f"{placed.node}/{placed.disk}"
                spec = {"nodeID": placed.node, "diskID": stored.uuids[place], "diskPath": stored.paths[place]}
                objects.append(
                    _object("longhorn.io/v1beta2", "Replica", spaces[placed.replica], placed.replica, name, spec=spec)
                )
    return objects


def unwritten(found: Catalogue, plan: Plan) -> list[str]:
    """Workloads that the plan places and of which fewer pods wait than it places: their pods are yet to be created."""
    names = []
    for site in plan.sites:
        waiting = _waiting(found, site.site.name)
        for path in site.paths:
            if sum(part.placed for part in path.parts) > len(waiting.get(path.workload.key, ())):
                names.append(path.workload.title)
    return names


def _object(api: str, kind: str, namespace: str, name: str, cluster: str = "", **fields: Any) -> Object:
    meta: Object = {"name": name, **({"namespace": namespace} if namespace else {})}
    if cluster:
        meta["annotations"] = {CLUSTER: cluster}
    return {"apiVersion": api, "kind": kind, "metadata": meta, **fields}


def _division(found: Catalogue, divided: Divided) -> Object:
    """The binding of a workload; where there is none yet, under the name that Karmada would give it."""
    workload = divided.workload
    clusters = [{"name": name, "replicas": count} for name, count in divided.division.placements.items() if count]
    for binding in found.of(ResourceBinding):
        bound = binding.spec.resource
        if (bound.kind, bound.namespace, bound.name) == (workload.kind, workload.namespace, workload.name):
            name = binding.metadata.name
            break
    else:
        name = f"{workload.name}-{workload.kind.lower()}"
    spec = {"clusters": clusters}
    return _object("work.karmada.io/v1alpha2", "ResourceBinding", workload.namespace, name, spec=spec)


def _waiting(found: Catalogue, cluster: str) -> dict[str, list[Pod]]:
    """The pods that wait for a node, by the key of their workload."""
    owners = replica_set_owners(found, cluster)
    waiting: dict[str, list[Pod]] = defaultdict(list)
    for pod in found.at(Pod, cluster):
        if not (pod.spec.node_name or pod.finished or pod.spec.scheduling_gates or pod.metadata.deletion_timestamp):
            waiting[owner_key(pod, owners)].append(pod)
    return waiting


def _bindings(found: Catalogue, site: SitePlan) -> Iterator[Object]:
    """A Binding for every waiting pod that has a place."""
    waiting = _waiting(found, site.site.name)
    for path in site.paths:
        for pod, node in _assigned(path, site.site.nodes.names, waiting.get(path.workload.key, []), site.site.tiers):
            target = {"apiVersion": "v1", "kind": "Node", "name": node}
            meta = pod.metadata
            yield _object("v1", "Binding", meta.namespace, meta.name, site.site.name, target=target)


def _assigned(path: Path, names: tuple[str, ...], pods: list[Pod], tiers: Tiers) -> Iterator[tuple[Pod, str]]:
    """Pods in natural order to the places found; those that must be on demand to the places that are."""
    ordered = sorted(pods, key=lambda pod: natural_key(pod.metadata.name))
    required = [pod for pod in ordered if requires_on_demand(pod.spec, tiers)]
    others = [pod for pod in ordered if not requires_on_demand(pod.spec, tiers)]
    for part in path.parts:
        places = [names[row] for row in np.repeat(np.arange(len(names)), part.counts).tolist()]
        queue = required if part.part.tier == "on-demand" else others
        for node in places:
            if queue:
                yield queue.pop(0), node
