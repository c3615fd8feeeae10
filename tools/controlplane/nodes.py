"""Nodes without machines: objects that KWOK answers for, so that pods bound to them become Running."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

from tools.controlplane.api import Api, Object

Labels = Mapping[str, str] | Callable[[int], Mapping[str, str]]


def kwok_node(name: str, allocatable: Mapping[str, str], labels: Mapping[str, str], taints: Sequence[Object]) -> Object:
    """A Node that is Ready from its first moment: no controller has to touch it before pods can be bound."""
    now = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "type": "kwok"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {**own, **labels},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {"taints": list(taints)},
        "status": {
            "allocatable": dict(allocatable),
            "capacity": dict(allocatable),
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {
                "architecture": "amd64",
                "operatingSystem": "linux",
                "kubeletVersion": "kwok",
                "kubeProxyVersion": "",
                "containerRuntimeVersion": "",
                "kernelVersion": "",
                "osImage": "",
                "machineID": "",
                "systemUUID": "",
                "bootID": "",
            },
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "kwok",
                    "lastHeartbeatTime": now,
                    "lastTransitionTime": now,
                }
            ],
        },
    }


def create_kwok_nodes(
    api: Api,
    count: int,
    *,
    cpu: str = "8",
    memory: str = "32Gi",
    pods: int = 110,
    labels: Labels | None = None,
    resources: Mapping[str, str] | None = None,
    taints: Sequence[Object] = (),
    prefix: str = "node-",
) -> list[str]:
    """Create `count` nodes `<prefix>0` … and return their names in that order.

    `labels` is one mapping for all or a function of the node's number; `resources` are extended ones
    (`{"nvidia.com/gpu": "8"}`).
    """
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods), **(resources or {})}
    names = [f"{prefix}{number}" for number in range(count)]

    def labels_of(number: int) -> Mapping[str, str]:
        return labels(number) if callable(labels) else labels or {}

    bodies = (kwok_node(name, allocatable, labels_of(number), taints) for number, name in enumerate(names))
    api.create_many("/api/v1/nodes", bodies)
    return names
