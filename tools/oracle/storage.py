"""Random volumes, claims, classes and what drivers report."""

from __future__ import annotations

from tools.oracle.draw import Draw, Raw
from tools.oracle.vocabulary import (
    DRIVER,
    HOST,
    NAMESPACES,
    NODE_LABELS,
    OLD_REGION,
    OLD_ZONE,
    OTHER_DRIVER,
    REGION,
    ZONE,
)
from tools.oracle.wishes import expression, node_term

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
CLASSES = ("at-once", "static", "made", "reported", "unknown-driver")
MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SIZES = ("1Gi", "2Gi", "5Gi")


def classes(draw: Draw) -> list[Raw]:
    """One class of each kind, sometimes one is missing."""
    provisioners = {
        "at-once": DRIVER,
        "static": "kubernetes.io/no-provisioner",
        "made": draw.one((DRIVER, "kubernetes.io/gce-pd")),
        "reported": OTHER_DRIVER,
        "unknown-driver": "nobody.example.com",
    }
    found = []
    for name, provisioner in provisioners.items():
        mode = "Immediate" if name == "at-once" else "WaitForFirstConsumer"
        one: Raw = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}
        if name != "static" and draw.chance(0.4):
            one["allowedTopologies"] = [_topology(draw) for _ in range(draw.number(1, 2))]
        if draw.chance(0.95):
            found.append(one)
    return found


def _topology(draw: Draw) -> Raw:
    keys = draw.some((ZONE, REGION), 2, 1)
    return {"matchLabelExpressions": [{"key": key, "values": draw.some(NODE_LABELS[key], 2, 1)} for key in keys]}


def drivers(draw: Draw) -> list[Raw]:
    """The drivers; the second reports its room."""
    found: list[Raw] = [{"metadata": {"name": DRIVER}, "spec": {"attachRequired": draw.chance(0.8)}}]
    if draw.chance(0.9):
        found.append({"metadata": {"name": OTHER_DRIVER}, "spec": {"storageCapacity": draw.chance(0.9)}})
    return draw.some(found, 2, 1)


def rooms(draw: Draw) -> list[Raw]:
    """What the driver reports of its room, by topology."""
    found = []
    for number in range(draw.number(0, 4)):
        one: Raw = {"metadata": {"name": f"room{number}", "namespace": "here"}, "storageClassName": draw.one(CLASSES)}
        if draw.chance(0.8):
            one["storageClassName"] = "reported"
        if draw.chance(0.9):
            one["nodeTopology"] = _node_topology(draw)
        if draw.chance(0.9):
            one["capacity"] = draw.one((*SIZES, "0"))
        if draw.chance(0.4):
            one["maximumVolumeSize"] = draw.one(SIZES)
        found.append(one)
    return found


def _node_topology(draw: Draw) -> Raw:
    if draw.chance(0.7):
        return {"matchLabels": {ZONE: draw.one(NODE_LABELS[ZONE])}}
    return {"matchExpressions": [expression(draw, NODE_LABELS, ("In", "NotIn", "Exists", "DoesNotExist"))]}


def volume(draw: Draw, name: str, nodes: list[str], claims: list[Raw]) -> Raw:
    """A volume: free, of a claim, kept for one, or released."""
    spec: Raw = {
        "capacity": {"storage": draw.one(SIZES)},
        "accessModes": draw.some(MODES[:3], 3, 1) if draw.chance(0.8) else ["ReadWriteOncePod"],
        "storageClassName": draw.one((*CLASSES, "", "static", "static")),
        **_source(draw, name),
    }
    if draw.chance(0.1):
        spec["volumeMode"] = "Block"
    if draw.chance(0.6) or "local" in spec:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": _terms(draw, nodes)}}
    if draw.chance(0.2) and "csi" in spec:
        spec["volumeAttributesClassName"] = draw.one(("gold", "silver"))
    found: Raw = {
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": _labels(draw)},
        "spec": spec,
        "status": {"phase": draw.one(("Available",) * 6 + ("Released", "Bound", "Pending", ""))},
    }
    if draw.chance(0.2) and claims:
        _keep_for(draw, found, draw.one(claims))
    if draw.chance(0.05):
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


def _keep_for(draw: Draw, one: Raw, claim: Raw) -> None:
    reference = {
        "kind": "PersistentVolumeClaim",
        "namespace": claim["metadata"]["namespace"],
        "name": claim["metadata"]["name"],
    }
    if draw.chance(0.5):
        reference["uid"] = claim["metadata"]["uid"] if draw.chance(0.8) else "uid-of-another"
    one["spec"]["claimRef"] = reference
    if draw.chance(0.6):
        one["spec"]["storageClassName"] = claim["spec"].get("storageClassName") or ""


def _terms(draw: Draw, nodes: list[str]) -> list[Raw]:
    if draw.chance(0.5):
        names = draw.some(nodes, 3, 1)
        return [{"matchExpressions": [{"key": HOST, "operator": "In", "values": names}]}]
    return [node_term(draw, nodes) for _ in range(draw.number(1, 2))]


def _labels(draw: Draw) -> Raw:
    found: Raw = {}
    for key, share in ((ZONE, 0.15), (OLD_ZONE, 0.15), (REGION, 0.1), (OLD_REGION, 0.1)):
        if draw.chance(share):
            values = NODE_LABELS[REGION if key in (REGION, OLD_REGION) else ZONE]
            found[key] = draw.one(("__", "__", "__", "____")).join(draw.some(values, 2, 1))
    if draw.chance(0.3):
        found["disk"] = draw.one(("ssd", "hdd"))
    return found


def _source(draw: Draw, name: str) -> Raw:
    return draw.one(
        (
            {"csi": {"driver": DRIVER, "volumeHandle": f"h-{name}"}},
            {"csi": {"driver": DRIVER, "volumeHandle": "h-shared"}},
            {"csi": {"driver": OTHER_DRIVER, "volumeHandle": f"h-{name}"}},
            {"local": {"path": "/mnt"}},
            {"hostPath": {"path": "/mnt"}},
            {"gcePersistentDisk": {"pdName": f"gce-{name}"}},
            {"awsElasticBlockStore": {"volumeID": f"aws-{name}"}},
        )
    )


def claim(draw: Draw, name: str, namespace: str) -> Raw:
    """A claim that waits for its volume."""
    spec: Raw = {
        "accessModes": draw.some(MODES[:3], 2, 1) if draw.chance(0.75) else ["ReadWriteOncePod"],
        "resources": {"requests": {"storage": draw.one(SIZES)}},
    }
    if draw.chance(0.95):
        spec["storageClassName"] = draw.one((*CLASSES, "static", "made", "reported", "", "absent"))
    if draw.chance(0.1):
        spec["volumeMode"] = "Block"
    if draw.chance(0.15):
        spec["selector"] = {"matchLabels": {"disk": draw.one(("ssd", "hdd"))}}
    if draw.chance(0.08):
        spec["volumeAttributesClassName"] = draw.one(("gold", "silver"))
    annotations: Raw = {}
    if draw.chance(0.08):
        annotations[SELECTED_NODE] = draw.one(("n0", "n1", "gone"))
    if draw.chance(0.05):
        annotations[OLD_CLASS] = draw.one(CLASSES)
    found: Raw = {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "annotations": annotations,
        },
        "spec": spec,
        "status": {"phase": "Pending"},
    }
    if draw.chance(0.04):
        found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return found


def bind(draw: Draw, one: Raw, kept: Raw) -> None:
    """Tie claim and volume together: for good mostly, half way sometimes, or to a volume that is not there."""
    one["spec"]["volumeName"] = kept["metadata"]["name"] if draw.chance(0.95) else "gone"
    one["status"]["phase"] = draw.one(("Bound",) * 9 + ("Lost",))
    if draw.chance(0.9):
        one["metadata"]["annotations"][BIND_COMPLETED] = "yes"
    meta = one["metadata"]
    if draw.chance(0.95):
        kept["spec"]["claimRef"] = {"namespace": meta["namespace"], "name": meta["name"], "uid": meta["uid"]}
    kept["status"]["phase"] = "Bound"


def attachment(draw: Draw, name: str, volumes: list[Raw], nodes: list[str]) -> Raw:
    """A volume that is attached to a node, whatever the pods say."""
    source: Raw = {"persistentVolumeName": draw.one([*(each["metadata"]["name"] for each in volumes), "gone"])}
    return {
        "metadata": {"name": name},
        "spec": {"attacher": draw.one((DRIVER, OTHER_DRIVER)), "nodeName": draw.one(nodes), "source": source},
        "status": {"attached": draw.chance(0.7)},
    }


def namespaced_claims(draw: Draw, names: list[str]) -> list[Raw]:
    """Each name as a claim in most namespaces."""
    return [claim(draw, name, space) for name in names for space in NAMESPACES if draw.chance(0.97)]
