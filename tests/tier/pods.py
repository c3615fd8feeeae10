"""Pods, workloads and nodes for tests, and small plain readings of Kubernetes' own rules to check patches against."""

import copy
from typing import Any

from fairlead.kube.objects.affinity import PREFERRED, REQUIRED

CAPACITY = "node.kubernetes.io/capacity"
NODES: dict[str, dict[str, str]] = {
    "od-a": {CAPACITY: "on-demand", "zone": "a"},
    "od-b": {CAPACITY: "on-demand", "zone": "b"},
    "spot-a": {CAPACITY: "spot", "zone": "a"},
    "spot-b": {CAPACITY: "spot", "zone": "b"},
    "plain-a": {"zone": "a"},
}
ON_DEMAND_TERM = {"matchExpressions": [{"key": CAPACITY, "operator": "In", "values": ["on-demand"]}]}
SPOT_TERM = {
    "weight": 100,
    "preference": {"matchExpressions": [{"key": CAPACITY, "operator": "In", "values": ["spot"]}]},
}


def reference(kind: str, name: str, uid: str, *, controller: bool = True) -> dict[str, Any]:
    """An owner reference to a workload."""
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": controller}


def pod(*, owner: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """A new pod as the API server hands it to a webhook."""
    owners = {"ownerReferences": [owner]} if owner else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | owners,
        "spec": {"containers": [{"name": "c", "image": "x"}]} | (spec or {}),
    }


def web_pod(**more: Any) -> dict[str, Any]:
    """A new pod of ReplicaSet web-1, which belongs to Deployment web."""
    return pod(owner=reference("ReplicaSet", "web-1", "rs-1"), generateName="web-1-", namespace="shop", **more)


def stored_pod(uid: str, tier: str, *, phase: str = "Running", terminating: bool = False) -> dict[str, Any]:
    """A pod that exists: of the ReplicaSet `uid`, with the node rules of `tier` (`none`: without any)."""
    affinity: dict[str, Any] = {}
    if tier == "on-demand":
        affinity = {REQUIRED: {"nodeSelectorTerms": [ON_DEMAND_TERM]}}
    elif tier == "spot":
        affinity = {PREFERRED: [SPOT_TERM]}
    made = pod(
        owner=reference("ReplicaSet", "any", uid), spec={"affinity": {"nodeAffinity": affinity}}, namespace="shop"
    )
    if terminating:
        made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return made | {"status": {"phase": phase}}


def workload(
    kind: str,
    name: str,
    uid: str,
    *,
    replicas: int | None = None,
    minimum: str | None = None,
    controller: dict[str, Any] | None = None,
    first_ordinal: int | None = None,
) -> dict[str, Any]:
    """A Deployment, ReplicaSet or StatefulSet that exists."""
    metadata: dict[str, Any] = {"name": name, "uid": uid, "namespace": "shop"}
    if minimum is not None:
        metadata["annotations"] = {"distributed-scheduling/min-available": minimum}
    if controller is not None:
        metadata["ownerReferences"] = [controller]
    spec: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    if first_ordinal is not None:
        spec["ordinals"] = {"start": first_ordinal}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def web(replicas: int | None, minimum: str | None) -> list[dict[str, Any]]:
    """Deployment web and its ReplicaSet web-1."""
    deployment = workload("Deployment", "web", "dep-1", replicas=replicas, minimum=minimum)
    return [deployment, workload("ReplicaSet", "web-1", "rs-1", controller=reference("Deployment", "web", "dep-1"))]


def review(obj: Any, *, operation: str = "CREATE", kind: str = "Pod", **more: Any) -> dict[str, Any]:
    """An admission review about `obj`."""
    request = {"uid": "u-1", "kind": {"version": "v1", "kind": kind}, "operation": operation, "object": obj}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"namespace": "shop", **request, **more},
    }


def patched(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The document after a JSON patch; fails as RFC 6902 does where a parent is missing."""
    document = copy.deepcopy(document)
    for operation in operations:
        *parents, last = (key.replace("~1", "/").replace("~0", "~") for key in operation["path"].split("/")[1:])
        here = document
        for key in parents:
            here = here[int(key)] if isinstance(here, list) else here[key]
        if operation["op"] == "test":
            assert here[last] == operation["value"]
        elif operation["op"] == "remove":
            del here[last]
        elif isinstance(here, list):
            here.insert(len(here) if last == "-" else int(last), operation["value"])
        else:
            here[last] = operation["value"]
    return document


def node_affinity(made: Any) -> dict[str, Any]:
    """The node affinity of a pod, empty where it has none."""
    return ((made["spec"].get("affinity") or {}).get("nodeAffinity")) or {}


def eligible(made: Any) -> list[str]:
    """The nodes that a pod's selector and required affinity allow, read as kube-scheduler does."""
    selector, required = made["spec"].get("nodeSelector") or {}, node_affinity(made).get(REQUIRED)
    names = [name for name, labels in NODES.items() if all(labels.get(key) == selector[key] for key in selector)]
    if required is not None:
        names = [name for name in names if any(_selects(term, name) for term in required["nodeSelectorTerms"])]
    return sorted(names)


def most_preferred(made: Any) -> list[str]:
    """The eligible nodes with the highest sum of preferred weights."""
    weights = {
        name: sum(
            each["weight"] for each in node_affinity(made).get(PREFERRED) or [] if _selects(each["preference"], name)
        )
        for name in eligible(made)
    }
    return sorted(name for name in weights if weights[name] == max(weights.values()))


def _selects(term: Any, name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    if not expressions and not fields:
        return False
    return all(_holds(each, NODES[name]) for each in expressions) and all(
        _holds(each, {"metadata.name": name}) for each in fields
    )


def _holds(expression: Any, labels: dict[str, str]) -> bool:
    value, values = labels.get(expression["key"]), expression.get("values") or []
    match expression["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    raise AssertionError(expression)
