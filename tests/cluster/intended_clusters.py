"""For each intended difference a cluster that shows it, as small as it gets."""

from typing import Any

Raw = dict[str, Any]
ONE_GI = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
STATIC = {
    "metadata": {"name": "static"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}


def node(ready: str = "True", **allocatable: str) -> Raw:
    """The node `n`, in zone a."""
    return {
        "metadata": {"name": "n", "labels": {"zone": "a"}},
        "status": {"allocatable": {"pods": "9", **allocatable}, "conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(name: str = "p", namespace: str = "here", *amounts: str, **spec: Any) -> Raw:
    """A pod with a container for each amount of memory."""
    containers = [
        {"name": f"c{number}", "image": "x", "resources": {"requests": {"memory": amount}}}
        for number, amount in enumerate(amounts or ("0",))
    ]
    return {
        "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{name}"},
        "spec": {"containers": containers, **spec},
    }


def using(*claims: str) -> Raw:
    """Volumes of a pod that name these claims."""
    return {
        "volumes": [
            {"name": f"v{number}", "persistentVolumeClaim": {"claimName": claim}} for number, claim in enumerate(claims)
        ]
    }


def claim(name: str, **spec: Any) -> Raw:
    """A claim of 1Gi."""
    meta = {"name": name, "namespace": "here", "uid": f"uid-{name}", "annotations": {}}
    if "volumeName" in spec:
        meta["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return {"metadata": meta, "spec": {"storageClassName": "static", **ONE_GI, **spec}, "status": {"phase": "Pending"}}


def volume(name: str, disk: str = "ssd") -> Raw:
    """A free volume of 1Gi."""
    csi = {"driver": "csi.example.com", "volumeHandle": name}
    spec = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "static", "csi": csi}
    return {"metadata": {"name": name, "labels": {"disk": disk}}, "spec": spec, "status": {"phase": "Available"}}


def attachment(name: str) -> Raw:
    """The volume is attached to the node."""
    spec = {"attacher": "csi.example.com", "nodeName": "n", "source": {"persistentVolumeName": name}}
    return {"metadata": {"name": f"a-{name}"}, "spec": spec}


NOT_BLUE = {
    "topologyKey": "zone",
    "labelSelector": {},
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["blue"]}]},
}
APART = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NOT_BLUE]}}}
LIMIT = {"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 2}}


def reserved(name: str, **more: Any) -> Raw:
    """A volume that is kept for the claim `one`."""
    made = volume(name)
    return {**made, "spec": {**made["spec"], "claimRef": {"namespace": "here", "name": "one"}, **more}}


NOWHERE = {"required": {"nodeSelectorTerms": [{}]}}
NAMED_TWICE_WITH_A_CHOICE: dict[str, list[Raw]] = {
    "nodes": [node()],
    "pods": [pod(**using("one", "one"))],
    "persistentvolumeclaims": [claim("one")],
    "persistentvolumes": [reserved("v"), reserved("w", nodeAffinity=NOWHERE)],
    "storageclasses": [STATIC],
}
"""Named once, the claim gets `v` or, by chance, `w`, which no node reaches."""

CLUSTERS: dict[str, dict[str, list[Raw]]] = {
    "ClosedNodesAreTainted": {"nodes": [node("False")], "pods": [pod()]},
    "NamespaceSelectorsOfAbsence": {
        "namespaces": [{"metadata": {"name": "there", "labels": {"team": "blue"}}}],
        "nodes": [node()],
        "pods": [pod(**APART), pod("q", "there", nodeName="n")],
    },
    "ClaimsCountOnce": {
        "nodes": [node()],
        "pods": [pod(**using("one", "one"))],
        "persistentvolumeclaims": [claim("one")],
        "persistentvolumes": [volume("v")],
        "storageclasses": [STATIC],
    },
    "AttachedVolumesCountOnce": {
        "nodes": [node()],
        "pods": [pod(**using("one"))],
        "persistentvolumeclaims": [claim("one", volumeName="v")],
        "persistentvolumes": [volume("v"), volume("w")],
        "storageclasses": [STATIC],
        "csinodes": [{"metadata": {"name": "n"}, "spec": {"drivers": [LIMIT]}}],
        "volumeattachments": [attachment("v"), attachment("w")],
    },
    "WholeBytes": {"nodes": [node(memory="3")], "pods": [pod("p", "here", "1500m", "1500m")]},
    "EqualVolumes": {
        "nodes": [node()],
        "pods": [pod(**using("second", "first"))],
        "persistentvolumeclaims": [claim("first", selector={"matchLabels": {"disk": "ssd"}}), claim("second")],
        "persistentvolumes": [volume("v", "ssd"), volume("w", "hdd")],
        "storageclasses": [STATIC],
    },
}
