"""Nodes without machines: objects that KWOK answers for, so that pods bound to them become Running."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict, Unpack

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


class NodeShape(TypedDict, total=False):
    """What nodes look like; everything has a default. Amounts are Kubernetes quantities."""

    cpu: str  # 8
    memory: str  # 32Gi
    pods: int  # 110
    resources: Mapping[str, str]  # extended ones, {"nvidia.com/gpu": "8"}; none
    labels: Labels  # one mapping for all, or a function of the node's number; none beyond the usual four
    taints: Sequence[Object]  # none
    prefix: str  # of the names, "node-"


def create_kwok_nodes(api: Api, count: int, **shape: Unpack[NodeShape]) -> list[str]:
    """Create `count` nodes `<prefix>0`, `<prefix>1`, … and return their names in that order."""
    allocatable = {
        "cpu": shape.get("cpu", "8"),
        "memory": shape.get("memory", "32Gi"),
        "pods": str(shape.get("pods", 110)),
        **shape.get("resources", {}),
    }
    labels, taints = shape.get("labels", {}), shape.get("taints", ())
    names = [f"{shape.get('prefix', 'node-')}{number}" for number in range(count)]

    def node(number: int) -> Object:
        own = labels(number) if callable(labels) else labels
        return kwok_node(names[number], allocatable, own, taints)

    api.create_many("/api/v1/nodes", map(node, range(count)))
    return names
