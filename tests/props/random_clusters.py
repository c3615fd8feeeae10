"""Random small clusters as objects of the API: fragmented nodes, every kind of rule, several queues, gangs, tiers.

The same objects are asked of `plan` (controllers), of a simulation (the snapshot) and of the live scheduler (the pods
that controllers and the webhook would make of them).
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fairlead.kube.admission.patches import on_demand, spot
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.load import Manifest
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.model.snapshot import Site
from fairlead.model.tiers import Tiers
from tests.tier.pods import CAPACITY, patched, reference

ZONE, HOST, DISK = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "disk"
Raw = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """One workload; it is as old as its place among the others, and so is its name."""

    name: str
    namespace: str
    replicas: int
    spec: Raw
    queue: str = ""
    least: int = 0
    """The gang's minimum, 0 for none."""
    on_demand: int | None = None
    """How many must be on demand; None where the workload says nothing."""

    @property
    def kind(self) -> str:
        return "Job" if self.least else "Deployment"

    @property
    def annotations(self) -> Raw:
        if self.least:
            return {"scheduling.k8s.io/group-name": self.name}
        return {"volcano.sh/queue-name": self.queue} if self.queue else {}

    @property
    def created(self) -> str:
        return f"1970-01-12T13:46:{int(self.name[1:]):02d}Z"


@dataclass(frozen=True)
class Cluster:
    """Nodes, queues and namespaces with weights, and what is asked for, in order of age."""

    nodes: tuple[Raw, ...]
    asked: tuple[Asked, ...]
    queues: tuple[Raw, ...] = ()
    weights: dict[str, int] = field(default_factory=dict)

    @property
    def tiered(self) -> bool:
        return any(CAPACITY in node["metadata"]["labels"] for node in self.nodes)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Whatever a small cluster may hold; each kind of rule in one of a few workloads."""
    tiered, neighbours = draw(st.booleans()), draw(st.booleans())
    nodes = tuple(_node(draw, number, tiered) for number in range(1, draw(st.integers(1, 5)) + 1))
    names = draw(st.sampled_from([(), ("q",), ("q", "r")]))
    queues = tuple(_queue(draw, name) for name in names)
    asked = tuple(_asked(draw, f"w{place}", names, tiered, neighbours) for place in range(draw(st.integers(1, 6))))
    return Cluster(
        nodes,
        asked,
        (*queues, _plain_queue("default", {"weight": 1})),
        {name: draw(st.integers(1, 3)) for name in ("a", "b")},
    )


def _node(draw: st.DrawFn, number: int, tiered: bool) -> Raw:
    labels = {HOST: f"n{number}", ZONE: draw(st.sampled_from("ab")), DISK: draw(st.sampled_from(["ssd", "hdd"]))}
    if tiered:
        labels[CAPACITY] = draw(st.sampled_from(["on-demand", "spot"]))
    taints = [{"key": "kept", "value": "x", "effect": "NoSchedule"}] if draw(st.integers(0, 3)) == 0 else []
    amounts = {
        "cpu": str(draw(st.integers(1, 7))),
        "memory": f"{draw(st.integers(1, 8))}Gi",
        "pods": str(draw(st.sampled_from([3, 50]))),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"n{number}", "labels": labels},
        "spec": {"taints": taints},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _queue(draw: st.DrawFn, name: str) -> Raw:
    spec: Raw = {"weight": draw(st.integers(1, 3))}
    if draw(st.integers(0, 2)) == 0:
        spec["capability"] = {"cpu": str(draw(st.integers(2, 9)))}
    return _plain_queue(name, spec)


def _plain_queue(name: str, spec: Raw) -> Raw:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
        "status": {"state": "Open"},
    }


def _asked(draw: st.DrawFn, name: str, queues: tuple[str, ...], tiered: bool, neighbours: bool) -> Asked:
    replicas = draw(st.integers(1, 6))
    gang = draw(st.integers(0, 2)) == 0
    requests = {
        "cpu": draw(st.sampled_from(["500m", "1", "2", "3"])),
        "memory": draw(st.sampled_from(["512Mi", "1Gi", "2Gi"])),
    }
    spec: Raw = {
        "schedulerName": "fairlead",
        "priority": draw(st.sampled_from([0, 0, 5])),
        "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
    }
    if draw(st.integers(0, 3)) == 0:
        spec["nodeSelector"] = {DISK: draw(st.sampled_from(["ssd", "hdd"]))}
    if draw(st.integers(0, 2)) == 0:
        spec["tolerations"] = [{"key": "kept", "operator": "Exists"}]
    if neighbours:
        _minding(draw, name, spec)
    return Asked(
        name=name,
        namespace=draw(st.sampled_from(["a", "b", "c"])),
        replicas=replicas,
        spec=spec,
        queue=draw(st.sampled_from(["", *queues])),
        least=draw(st.integers(1, replicas)) if gang else 0,
        on_demand=draw(st.integers(0, replicas)) if tiered and not gang and draw(st.booleans()) else None,
    )


def _minding(draw: st.DrawFn, name: str, spec: Raw) -> None:
    """Rules about neighbours: not beside its own kind, or even over zones."""
    own = {"labelSelector": {"matchLabels": {"app": name}}}
    kind = draw(st.sampled_from(["", "apart", "spread", "soft"]))
    if kind == "apart":
        term = {**own, "topologyKey": draw(st.sampled_from([HOST, ZONE]))}
        spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    elif kind:
        hard = "DoNotSchedule" if kind == "spread" else "ScheduleAnyway"
        spec["topologySpreadConstraints"] = [{**own, "topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": hard}]


def site_of(cluster: Cluster) -> Site:
    """The cluster as a plan sees it: its controllers."""
    objects = [*cluster.nodes, *cluster.queues, *map(quota, cluster.weights.items())]
    for each in cluster.asked:
        objects += [controller(each), *([pod_group(each)] if each.least else [])]
    found = catalogue([Manifest("test", value) for value in objects])
    view = snapshot(found)
    assert found.errors == []
    (site,) = view.sites
    return site


def quota(weighted: tuple[str, int]) -> Raw:
    """The object by which a namespace has its weight."""
    namespace, weight = weighted
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "weight", "namespace": namespace},
        "spec": {"hard": {"volcano.sh/namespace.weight": str(weight)}},
    }


def pod_group(asked: Asked) -> Raw:
    """The gang of a Job."""
    queue = {"queue": asked.queue} if asked.queue else {}
    meta = {
        "name": asked.name,
        "namespace": asked.namespace,
        "uid": f"g-{asked.name}",
        "creationTimestamp": asked.created,
    }
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {**meta, "creationTimestamp": asked.created},
        "spec": {"minMember": asked.least, **queue},
    }


def controller(asked: Asked) -> Raw:
    """The Deployment or Job."""
    labels = {"app": asked.name}
    template = {"metadata": {"labels": labels, "annotations": asked.annotations}, "spec": asked.spec}
    meta: Raw = {
        "name": asked.name,
        "namespace": asked.namespace,
        "uid": f"u-{asked.name}",
        "creationTimestamp": asked.created,
    }
    if asked.on_demand is not None:
        meta["annotations"] = {"distributed-scheduling/min-available": str(asked.on_demand)}
    if asked.kind == "Job":
        spec = {"parallelism": asked.replicas, "completions": asked.replicas, "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}
    spec = {"replicas": asked.replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


def pods_of(asked: Asked, tiered: bool) -> list[Raw]:
    """The pods that its controller makes, each as the webhook lets it in."""
    kind = "Job" if asked.kind == "Job" else "ReplicaSet"
    owner = reference(kind, asked.name, f"u-{asked.name}")
    required = 1 if asked.replicas == 1 else asked.on_demand
    if not tiered or asked.kind == "Job":
        required = None
    made = []
    for number in range(asked.replicas):
        meta = {"labels": {"app": asked.name}, "annotations": dict(asked.annotations)}
        pod: Raw = {"metadata": meta, "spec": deepcopy(asked.spec)}
        if required is not None:
            tiers = Tiers()
            patch = on_demand(pod, tiers, slot=str(number), selector=False) if number < required else spot(pod, tiers)
            pod = patched(pod, patch)
        name = f"{asked.name}-{number}"
        pod["metadata"] |= {
            "name": name,
            "namespace": asked.namespace,
            "uid": f"u-{name}",
            "creationTimestamp": asked.created,
            "ownerReferences": [owner],
        }
        made.append(pod)
    return made


def replica_set(asked: Asked) -> Raw:
    """The owner of the pods of a Deployment."""
    meta = {"name": asked.name, "namespace": asked.namespace, "uid": f"u-{asked.name}"}
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": asked.replicas}}
