"""Rules of kube-scheduler's filters that are easily missed, each in words, on a cluster as small as it can be.

The comparison with kube-scheduler's own filters (`tools/oracle`) found them.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from tools.oracle.ours import opinions
from tools.oracle.process import Admitted

Raw = dict[str, Any]
ZONE = "topology.kubernetes.io/zone"
CORDONED, NOT_READY = "node.kubernetes.io/unschedulable", "node.kubernetes.io/not-ready"
EXISTS = {"operator": "Exists"}


def node(name: str, labels: Raw | None = None, ready: str = "True", allocatable: Raw | None = None, **spec: Any) -> Raw:
    """A node with room."""
    return {
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
        "status": {
            "allocatable": {"pods": "9", "cpu": "1", **(allocatable or {})},
            "conditions": [{"type": "Ready", "status": ready}],
        },
    }


def pod(name: str = "p", labels: Raw | None = None, requests: Raw | None = None, **spec: Any) -> Raw:
    """A pod; it waits unless it has a `nodeName`."""
    container = {"name": "c", "resources": {"requests": requests or {}}}
    meta = {"name": name, "namespace": "here", "uid": name, "labels": labels or {}}
    return {"metadata": meta, "spec": {"containers": [container], **spec}}


def init(port: int, **more: Any) -> Raw:
    """An init container with a port on the node."""
    return {"name": "i", "ports": [{"containerPort": port, "hostPort": port}], **more}


def wanting(key: str, operator: str, *values: str) -> Raw:
    """A spec with a required node affinity of one condition."""
    condition = {"key": key, "operator": operator, "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [condition]}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def spread(selector: Raw) -> Raw:
    """A spec with a hard spread over zones."""
    hard = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [hard]}


def claimed(**spec: Any) -> Raw:
    """A pod's spec, and beside it a claim of a class that waits, with one volume of that class for each node."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}]
    return {"volumes": volumes, **spec}


def claim(annotations: Raw | None = None, **spec: Any) -> Raw:
    """A claim of class `static`."""
    meta = {"name": "claim", "namespace": "here", "uid": "claim", "annotations": annotations or {}}
    asked = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"metadata": meta, "spec": {"storageClassName": "static", **asked, **spec}}


def volume(name: str = "v", labels: Raw | None = None, terms: list[Raw] | None = None, **spec: Any) -> Raw:
    """A volume of class `static`, free unless it has a `claimRef`."""
    own: Raw = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "static", **spec}
    if terms is not None:
        own["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return {"metadata": {"name": name, "labels": labels or {}}, "spec": own, "status": {"phase": "Available"}}


STATIC = {
    "metadata": {"name": "static"},
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}
BOUND = claim({"pv.kubernetes.io/bind-completed": "yes"}, volumeName="v")
FIELDS = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]


@dataclass(frozen=True)
class Case:
    """Objects, and the nodes that the pod `p` may use."""

    nodes: list[Raw]
    pods: list[Raw]
    want: str
    more: dict[str, list[Raw]] = field(default_factory=dict)


def stored(volumes: list[Raw], claims: list[Raw], want: str, nodes: list[Raw] | None = None) -> Case:
    """A pod with the claim, and what is stored."""
    more = {"persistentvolumes": volumes, "persistentvolumeclaims": claims, "storageclasses": [STATIC]}
    return Case(nodes or [node("n1"), node("n2")], [pod(**claimed())], want, more)


CASES = {
    "a cordoned node takes no pod": Case([node("n1", unschedulable=True)], [pod()], ""),
    "a cordoned node takes a pod that tolerates its being cordoned": Case(
        [node("n1", unschedulable=True)], [pod(tolerations=[{"key": CORDONED, **EXISTS}])], "n1"
    ),
    "a cordoned node takes no pod that tolerates only unready ones": Case(
        [node("n1", unschedulable=True)], [pod(tolerations=[{"key": NOT_READY, **EXISTS}])], ""
    ),
    "a node that is not ready takes no pod": Case([node("n1", ready="False")], [pod()], ""),
    "a node that is not ready takes a pod that tolerates that": Case(
        [node("n1", ready="False"), node("n2", ready="Unknown")],
        [pod(tolerations=[{"key": NOT_READY, **EXISTS}])],
        "n1",
    ),
    "a not-ready taint with a value is the one to tolerate": Case(
        [node("n1", ready="False", taints=[{"key": NOT_READY, "value": "yes", "effect": "NoSchedule"}])],
        [pod(tolerations=[{"key": NOT_READY, "value": "yes"}])],
        "n1",
    ),
    "ports of an init container that ends are nobody's": Case(
        [node("n1")],
        [pod(initContainers=[init(80)]), pod("q", nodeName="n1", initContainers=[init(80, restartPolicy="Always")])],
        "n1",
    ),
    "ports of a sidecar are taken": Case(
        [node("n1")],
        [
            pod(initContainers=[init(80, restartPolicy="Always")]),
            pod("q", nodeName="n1", initContainers=[init(80, restartPolicy="Always")]),
        ],
        "",
    ),
    "a spread with an empty selector counts nobody": Case(
        [node("n1", {ZONE: "a"}), node("n2", {ZONE: "b"})],
        [pod(**spread({})), pod("q", nodeName="n1"), pod("r", nodeName="n1")],
        "n1 n2",
    ),
    "a spread with a selector counts its own": Case(
        [node("n1", {ZONE: "a"}), node("n2", {ZONE: "b"})],
        [pod(labels={"app": "a"}, **spread({"matchLabels": {"app": "a"}})), pod("q", {"app": "a"}, nodeName="n1")],
        "n2",
    ),
    "a bound beyond 64 bits is no number": Case(
        [node("n1", {"size": "1"})], [pod(**wanting("size", "Lt", "9223372036854775808"))], ""
    ),
    "a label with many leading zeros is a number": Case(
        [node("n1", {"size": "0" * 30 + "5"})], [pod(**wanting("size", "Gt", "4"))], "n1"
    ),
    "resources that no node offers are counted all the same": Case(
        [node("n1", allocatable={"memory": "1Gi", "ephemeral-storage": "1Gi"})],
        [pod(), pod("q", requests={"example.com/x": "1", "example.com/y": "1"}, nodeName="n1")],
        "n1",
    ),
    "a pod's own limit stands in for its request only where no container requests anything": Case(
        [node("n1")], [pod(requests={"cpu": "1"}, resources={"limits": {"cpu": "2"}})], "n1"
    ),
    "a pod's own limit stands in for its request": Case([node("n1")], [pod(resources={"limits": {"cpu": "2"}})], ""),
    "a volume kept for the claim is of the claim's class": stored(
        [volume(storageClassName="other", claimRef={"namespace": "here", "name": "claim"})], [claim()], ""
    ),
    "a volume kept for the claim serves it whatever its access modes": stored(
        [volume(accessModes=["ReadOnlyMany"], claimRef={"namespace": "here", "name": "claim"})], [claim()], "n1 n2"
    ),
    "volume and claim are of one attributes class": stored(
        [volume(volumeAttributesClassName="gold")], [claim(volumeAttributesClassName="silver")], ""
    ),
    "a volume's node names are not looked at": stored([volume(terms=FIELDS)], [BOUND], "n1 n2"),
    "a volume's term without any condition matches no node": stored([volume(terms=[{}])], [BOUND], ""),
    "every zone label of a volume is to be met": stored(
        [volume(labels={ZONE: "a", "failure-domain.beta.kubernetes.io/zone": "b"})],
        [BOUND],
        "n2",
        [node("n1", {ZONE: "a"}), node("n2", {ZONE: "a", "failure-domain.beta.kubernetes.io/zone": "b"})],
    ),
    "a zone label with an empty part says nothing": stored(
        [volume(labels={ZONE: "b____c"})], [BOUND], "n1", [node("n1", {ZONE: "a"})]
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rule(name: str) -> None:
    """The nodes that the pod may use, case by case."""
    case = CASES[name]
    objects = msgspec.convert({"nodes": case.nodes, "pods": case.pods, **case.more}, Admitted)
    assert case.want == " ".join(sorted(dict(opinions(objects))["here/p"].feasible))
