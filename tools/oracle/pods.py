"""Random pods, those that wait and those that run."""

from __future__ import annotations

from collections.abc import Collection

from tools.oracle.draw import Draw, Raw
from tools.oracle.vocabulary import ADDRESSES, DEVICE, HUGE, NAMESPACES, POD_LABELS, PROTOCOLS
from tools.oracle.wishes import neighbours, node_wishes, spread, toleration

AMOUNTS = {
    "cpu": ("0", "100m", "250m", "0.5", "1", "500u", "750400u", "1e-1"),
    "memory": ("0", "1", "1500m", "100Mi", "512Mi", "1Gi", "129e6", "1G"),
    "ephemeral-storage": ("0", "1Gi", "500M", "1"),
}


def pod(draw: Draw, name: str, themes: Collection[str], nodes: list[str], claims: list[str]) -> Raw:
    """A pod that waits; `claims` are the names that its volumes may use."""
    spec: Raw = {"containers": _containers(draw, "c", draw.number(1, 2), themes), "schedulerName": "fairlead"}
    if draw.chance(0.4):
        spec["initContainers"] = _containers(draw, "i", draw.number(1, 3), themes)
        for each in spec["initContainers"]:
            if draw.chance(0.5):
                each["restartPolicy"] = "Always"
    if "room" in themes:
        spec |= _pod_level(draw)
    _wishes(draw, spec, themes, nodes)
    if "volumes" in themes or "limits" in themes:
        spec["volumes"] = _volumes(draw, claims)
    if "ports" in themes:
        _use_host_network(draw, spec)
    if "features" in themes:
        _use_features(draw, spec)
    if draw.chance(0.01):
        spec["resourceClaims"] = [{"name": "r", "resourceClaimName": "absent"}]
    if draw.chance(0.02):
        spec["schedulingGates"] = [{"name": "example.com/later"}]
    return {
        "metadata": {
            "name": name,
            "namespace": draw.one(NAMESPACES),
            "uid": f"uid-{name}",
            "labels": {key: draw.one(values) for key, values in POD_LABELS.items() if draw.chance(0.8)},
        },
        "spec": spec,
    }


def bound(draw: Draw, waiting: Raw, themes: Collection[str], nodes: list[str]) -> Raw:
    """The same pod on a node: running, ended, leaving, or on a node that is gone."""
    waiting["spec"].pop("schedulingGates", None)
    waiting["spec"]["nodeName"] = draw.one(nodes) if draw.chance(0.97) else "gone"
    waiting["status"] = {"phase": draw.one(("Running",) * 8 + ("Pending", "Pending", "Succeeded", "Failed"))}
    if draw.chance(0.15):
        waiting["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if "resize" in themes and draw.chance(0.6):
        _resize(draw, waiting)
    return waiting


def _containers(draw: Draw, prefix: str, count: int, themes: Collection[str]) -> list[Raw]:
    found = []
    for number in range(count):
        container: Raw = {
            "name": f"{prefix}{number}",
            "image": "x",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "Always",
            "resources": _resources(draw, whole="room" in themes),
        }
        if "ports" in themes and draw.chance(0.5):
            container["ports"] = [_port(draw) for _ in range(draw.number(1, 2))]
        found.append(container)
    return found


def _resources(draw: Draw, *, whole: bool) -> Raw:
    """Requests and limits; where `whole`, devices and huge pages among them."""
    requests = {name: draw.one(values) for name, values in AMOUNTS.items() if draw.chance(0.5)}
    limits: Raw = {}
    for name in AMOUNTS:
        if draw.chance(0.15):
            limits[name] = "1Gi" if name != "cpu" else "1"
            requests.pop(name, None)
    if whole:
        for name, values in ((DEVICE, ("0", "1", "2")), (HUGE, ("2Mi", "4Mi"))):
            if draw.chance(0.2):
                limits[name] = draw.one(values)
                requests.setdefault("cpu", "100m")
                if draw.chance(0.5):
                    requests[name] = limits[name]
    return {"requests": requests, "limits": limits}


def _pod_level(draw: Draw) -> Raw:
    found: Raw = {}
    if draw.chance(0.2):
        found["overhead"] = draw.part({"cpu": "125m", "memory": "100Mi", "ephemeral-storage": "1M"}, 0.6)
    if draw.chance(0.25):
        amounts = {"cpu": draw.one(("500m", "2", "3")), "memory": draw.one(("512Mi", "2Gi", "3Gi"))}
        found["resources"] = {draw.one(("requests", "limits")): draw.part(amounts, 0.7)}
    return found


def _port(draw: Draw) -> Raw:
    number = draw.number(8080, 8083)
    port: Raw = {"containerPort": number, "protocol": draw.one(PROTOCOLS)}
    if draw.chance(0.6):
        port |= {"hostPort": number, "hostIP": draw.one(ADDRESSES)}
    return port


def _use_host_network(draw: Draw, spec: Raw) -> None:
    if draw.chance(0.2):
        spec["hostNetwork"] = True


def _use_features(draw: Draw, spec: Raw) -> None:
    if draw.chance(0.4):
        spec |= draw.one(({"hostNetwork": True, "hostUsers": True}, {"hostUsers": False}))
    if draw.chance(0.4):
        spec["restartPolicy"] = "Never"
        exits = {"operator": "In", "values": [42]}
        for each in spec["containers"]:
            action = draw.one(("Restart", "RestartAllContainers"))
            each |= {"restartPolicy": "Never", "restartPolicyRules": [{"action": action, "exitCodes": exits}]}


def _wishes(draw: Draw, spec: Raw, themes: Collection[str], nodes: list[str]) -> None:
    if "labels" in themes and draw.chance(0.6):
        spec |= node_wishes(draw, nodes)
    if "taints" in themes:
        spec["tolerations"] = [toleration(draw) for _ in range(draw.number(0, 3))]
    if "neighbours" in themes and draw.chance(0.6):
        spec["affinity"] = {**spec.get("affinity", {}), **neighbours(draw)}
    if "spread" in themes and draw.chance(0.7):
        used: set[tuple[str, str]] = set()
        found = [spread(draw, used) for _ in range(draw.number(1, 3))]
        spec["topologySpreadConstraints"] = [each for each in found if each is not None]


def _volumes(draw: Draw, claims: list[str]) -> list[Raw]:
    found: list[Raw] = []
    for number in range(draw.number(0, 3)):
        name = f"v{number}"
        if draw.chance(0.8):
            claim = draw.one(claims) if draw.chance(0.98) else "missing"
            source: Raw = {"persistentVolumeClaim": {"claimName": claim}}
        elif draw.chance(0.5):
            asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            source = {"ephemeral": {"volumeClaimTemplate": {"spec": asked}}}
        else:
            source = _inline(draw)
        found.append({"name": name, **source})
    return found


def _inline(draw: Draw) -> Raw:
    """A volume that the pod names itself."""
    read_only = draw.chance(0.5)
    return draw.one(
        (
            {"csi": {"driver": "csi.example.com"}},
            {"gcePersistentDisk": {"pdName": draw.one(("d1", "d2")), "readOnly": read_only}},
            {"awsElasticBlockStore": {"volumeID": draw.one(("e1", "e2"))}},
            {
                "iscsi": {
                    "targetPortal": "10.0.0.1",
                    "iqn": "iqn.2001-04.com.example:a",
                    "lun": 0,
                    "readOnly": read_only,
                }
            },
            {"rbd": {"monitors": draw.some(("m1", "m2"), 2, 1), "image": "i", "readOnly": read_only}},
            {"emptyDir": {}},
        )
    )


def _resize(draw: Draw, running: Raw) -> None:
    """Statuses of a pod that is being resized in place: allocated and actual amounts differ from the spec's."""
    status: Raw = running["status"]
    for kind, key in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
        status[key] = [_container_status(draw, each) for each in running["spec"].get(kind, ()) if draw.chance(0.8)]
    if draw.chance(0.5):
        reason = draw.one(("Infeasible", "Deferred"))
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    if running["spec"].get("resources") and draw.chance(0.6):
        status["allocatedResources"] = {"cpu": draw.one(AMOUNTS["cpu"]), "memory": draw.one(AMOUNTS["memory"])}
        status["resources"] = {"requests": {"cpu": draw.one(AMOUNTS["cpu"])}}


def _container_status(draw: Draw, container: Raw) -> Raw:
    status: Raw = {"name": container["name"], "image": "x", "imageID": "x", "ready": True, "restartCount": 0}
    if draw.chance(0.7):
        status["allocatedResources"] = {"cpu": draw.one(AMOUNTS["cpu"]), "memory": draw.one(AMOUNTS["memory"])}
    if draw.chance(0.6):
        status["resources"] = {"requests": {"cpu": draw.one(AMOUNTS["cpu"]), "memory": draw.one(AMOUNTS["memory"])}}
    return status
