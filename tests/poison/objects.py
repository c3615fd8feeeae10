"""Makers of poisonous objects, as plain values like those in the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.kube.resources import (
    CLUSTERS,
    CSI_DRIVERS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_GROUPS,
    PODS,
    QUEUES,
    RESOURCE_BINDINGS,
    STORAGE_CLASSES,
    TIER_LEDGERS,
    Resource,
)

Object = dict[str, Any]
Made = tuple[Resource[Any], Object]
GROUP = "scheduling.k8s.io/group-name"
QUEUE = "scheduling.volcano.sh/queue-name"
POOL = "fairlead.test/poisoned"
"""A label of poisonous nodes; ordinary pods stay away from them by their own selector."""


@dataclass(frozen=True, slots=True)
class Told:
    """How people learn of a poison: `how` is where (`pod`, `binding`, `event`, `report`, or `works` where nothing is
    wrong with it), `who` the object, `text` part of the words."""

    how: str
    who: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Poison:
    """Objects that are created one after the other, and what is told of them."""

    objects: tuple[Made, ...]
    told: tuple[Told, ...]


def poison(*objects: Made, told: tuple[str, str, str] | Told, more: tuple[Told, ...] = ()) -> Poison:
    """One row of the table."""
    return Poison(objects, (told if isinstance(told, Told) else Told(*told), *more))


def pod(name: str, *requests: Mapping[str, str], annotations: Mapping[str, str] | None = None, **spec: Any) -> Made:
    """A pod with one container for each of the requests."""
    containers = [
        {"name": f"c{number}", "image": "x", "resources": {"requests": dict(each), "limits": _limits(each)}}
        for number, each in enumerate(requests or ({"cpu": "1m"},))
    ]
    body = {
        "metadata": {"name": name, "labels": {"app": name}, "annotations": dict(annotations or {})},
        "spec": {
            "schedulerName": "fairlead",
            "terminationGracePeriodSeconds": 0,
            "containers": containers,
            **spec,
        },
    }
    return PODS, body


def _limits(request: Mapping[str, str]) -> dict[str, str]:
    """Resources that cannot be had beyond their request have a limit too, or the server refuses them."""
    return {name: value for name, value in request.items() if "/" in name or name.startswith("hugepages")}


def node(name: str, annotations: Mapping[str, str] | None = None, **given: Any) -> Made:
    """A node of its own for a poison; `spec` and `labels` besides what it offers."""
    spec, labels = given.pop("spec", {}), given.pop("labels", {})
    offered = {"cpu": "4", "memory": "16Gi", "pods": "110", **given.pop("offered", {})}
    return NODES, {
        "metadata": {"name": name, "labels": {POOL: "yes", **labels}, "annotations": dict(annotations or {})},
        "spec": spec,
        "status": {"allocatable": offered, "capacity": offered},
    }


def group(name: str, annotations: Mapping[str, str] | None = None, **spec: Any) -> Made:
    return POD_GROUPS, {
        "apiVersion": POD_GROUPS.api_version,
        "kind": "PodGroup",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {"minMember": 1, **spec},
    }


def queue(name: str, status: Object | None = None, **spec: Any) -> Made:
    body: Object = {
        "apiVersion": QUEUES.api_version,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, **spec},
    }
    return QUEUES, body if status is None else {**body, "status": status}


def in_queue(name: str, of: str) -> Made:
    """A small pod that names a queue."""
    return pod(name, annotations={QUEUE: of})


def in_group(name: str, of: str, *requests: Mapping[str, str]) -> Made:
    """A pod that names a PodGroup."""
    return pod(name, *requests, annotations={GROUP: of})


def claim(name: str, size: str, storage_class: str, **spec: Any) -> Made:
    return PERSISTENT_VOLUME_CLAIMS, {
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "resources": {"requests": {"storage": size}},
            **spec,
        },
    }


def storage_class(name: str, provisioner: str, **more: Any) -> Made:
    return STORAGE_CLASSES, {
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        **more,
    }


def driver(name: str) -> Made:
    """A driver that tells where there is room."""
    return CSI_DRIVERS, {"metadata": {"name": name}, "spec": {"storageCapacity": True, "attachRequired": True}}


def user_of(name: str, *claims: str) -> Made:
    """A pod that mounts these claims."""
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": each}} for number, each in enumerate(claims)
    ]
    return pod(name, volumes=volumes)


def ledger(name: str, spec: Object, **more: Any) -> Made:
    return TIER_LEDGERS, {
        "apiVersion": TIER_LEDGERS.api_version,
        "kind": "TierLedger",
        "metadata": {"name": name},
        "spec": spec,
        **more,
    }


def binding(name: str, replicas: Any = 3, annotations: Mapping[str, str] | None = None, **spec: Any) -> Made:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "x", "name": name, "uid": f"uid-{name}"}
    return RESOURCE_BINDINGS, {
        "apiVersion": RESOURCE_BINDINGS.api_version,
        "kind": "ResourceBinding",
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {"resource": resource, "replicas": replicas, "schedulerName": "fairlead", "placement": {}, **spec},
    }


def cluster(name: str, status: Object | None = None, **spec: Any) -> Made:
    body: Object = {
        "apiVersion": CLUSTERS.api_version,
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {"syncMode": "Push", **spec},
    }
    return CLUSTERS, body if status is None else {**body, "status": status}


def deep(levels: int) -> Object:
    """A value nested that deep."""
    found: Object = {}
    for _ in range(levels):
        found = {"a": found}
    return found
