"""Random nodes and what drivers say about them."""

from __future__ import annotations

from collections.abc import Collection

from tools.oracle.draw import Draw, Raw
from tools.oracle.vocabulary import (
    DEVICE,
    DRIVER,
    EBS,
    EFFECTS,
    GCE,
    HOST,
    HUGE,
    NODE_LABELS,
    OLD_REGION,
    OLD_ZONE,
    OTHER_DRIVER,
    REGION,
    TAINT_KEYS,
    TAINT_VALUES,
    ZONE,
)

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


def node(draw: Draw, name: str, themes: Collection[str]) -> Raw:
    """A node: small amounts in the theme of room, so that one pod more or less decides."""
    return {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": _labels(draw, name)},
        "spec": _spec(draw, themes),
        "status": {
            "allocatable": _allocatable(draw, themes),
            "conditions": _conditions(draw, themes),
            **(_features(draw) if "features" in themes else {}),
        },
    }


def _labels(draw: Draw, name: str) -> Raw:
    found = {key: draw.one(values) for key, values in NODE_LABELS.items() if draw.chance(0.8)}
    if draw.chance(0.9):
        found[HOST] = name
    if draw.chance(0.2):
        found[OLD_ZONE] = draw.one(NODE_LABELS[ZONE])
    if draw.chance(0.1):
        found[OLD_REGION] = draw.one(NODE_LABELS[REGION])
    return found


def _spec(draw: Draw, themes: Collection[str]) -> Raw:
    if "taints" not in themes:
        return {}
    spec: Raw = {}
    if draw.chance(0.2):
        spec["unschedulable"] = True
    taints = {}
    for _ in range(draw.number(0, 2)):
        taint = {"key": draw.one(TAINT_KEYS), "effect": draw.one(EFFECTS)}
        taints[taint["key"], taint["effect"]] = {**taint, "value": draw.one(TAINT_VALUES)}
    return {**spec, "taints": list(taints.values())}


def _allocatable(draw: Draw, themes: Collection[str]) -> Raw:
    if "room" not in themes:
        return {"cpu": "64", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "110", DEVICE: "8", HUGE: "1Gi"}
    found = {
        "cpu": draw.one(("1", "2", "1500m", "4", "3001m", "0.7504")),
        "memory": draw.one(("1Gi", "2Gi", "1073741825", "2000000k", "1G", "3")),
        "ephemeral-storage": draw.one(("10Gi", "1Gi", "500M")),
        "pods": draw.one(("1", "2", "4", "110")),
        DEVICE: draw.one(("0", "1", "2", "4")),
        HUGE: draw.one(("0", "2Mi", "8Mi")),
    }
    return draw.part(found, 0.93)


def _conditions(draw: Draw, themes: Collection[str]) -> list[Raw]:
    """Ready, mostly. A node that is not ready is told by its taint too, so only the theme of taints has such."""
    if "taints" in themes and draw.chance(0.12):
        return [] if draw.chance(0.4) else [{"type": "Ready", "status": draw.one(("False", "Unknown"))}]
    return [{"type": "Ready", "status": "True"}]


def _features(draw: Draw) -> Raw:
    names = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport", "UserNamespacesHostNetwork")
    return {"declaredFeatures": sorted(draw.some(names, 3))}


def csi_node(draw: Draw, name: str, *, limits: bool) -> Raw:
    """What drivers say of the node: limits where the cluster is about them; and the in-tree volumes they take over."""
    drivers = [
        {
            "name": driver,
            "nodeID": name,
            **({"allocatable": {"count": draw.number(0, 3)}} if limits and draw.chance(0.8) else {}),
        }
        for driver in draw.some((DRIVER, OTHER_DRIVER, GCE, EBS), 4, 1)
    ]
    found: Raw = {"metadata": {"name": name}, "spec": {"drivers": drivers}}
    if draw.chance(0.4):
        taken = draw.some(("kubernetes.io/gce-pd", "kubernetes.io/aws-ebs"), 2, 1)
        found["metadata"]["annotations"] = {MIGRATED: ",".join(taken)}
    return found
