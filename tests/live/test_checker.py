"""The independent checker of placements can fail: every rule has a case that breaks it."""

from typing import Any

import pytest

from tests.cluster.checker import Cluster, pod_request, quantity, violations

ZONE, HOST = "zone", "host"


def node(name: str, **more: Any) -> dict[str, Any]:
    """A node of two cores."""
    return {
        "metadata": {"name": name, "labels": {ZONE: more.get("zone", name[0]), HOST: name}},
        "spec": {"taints": more.get("taints", []), "unschedulable": more.get("cordoned", False)},
        "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "10"}},
    }


def pod(name: str, on: str = "", cpu: str = "100m", **spec: Any) -> dict[str, Any]:
    """A pod labelled with its name's first letter."""
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": spec.pop("ports", [])}
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": {"app": name[0]}},
        "spec": {"nodeName": on, "containers": [container], **spec},
        "status": {},
    }


def term(app: str, key: str = ZONE) -> dict[str, Any]:
    """A required wish about an app."""
    wish = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [wish]}


def spread(app: str, skew: int = 1, least: int = 1) -> list[dict[str, Any]]:
    """A hard spread over zones."""
    return [
        {
            "topologyKey": ZONE,
            "maxSkew": skew,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": app}},
            "minDomains": least,
        }
    ]


NODES = [node("a1"), node("a2"), node("b1")]
PORT = [{"hostPort": 80}]
CLAIM = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
BROKEN = {
    "resources": [pod("p", "a1", "1500m"), pod("q", "a1", "600m")],
    "selector": [pod("p", "a1", nodeSelector={ZONE: "b"})],
    "ports": [pod("p", "a1", ports=PORT), pod("q", "a1", ports=PORT)],
    "apart": [pod("p", "a1", affinity={"podAntiAffinity": term("q")}), pod("q", "a2")],
    "together": [pod("p", "a1", affinity={"podAffinity": term("q")}), pod("q", "b1")],
    "spread": [pod(f"p{number}", "a1", topologySpreadConstraints=spread("p")) for number in range(2)],
    "volumes": [pod("p", "a1", volumes=CLAIM)],
}
KEPT = {
    "resources": [pod("p", "a1", "1500m"), pod("q", "a1", "500m")],
    "ports": [pod("p", "a1", ports=PORT), pod("q", "a2", ports=PORT)],
    "apart": [pod("p", "a1", affinity={"podAntiAffinity": term("q")}), pod("q", "b1")],
    "together": [pod("p", "a1", affinity={"podAffinity": term("q")}), pod("q", "a2")],
    "founder": [
        pod("p", "a1", affinity={"podAffinity": term("p")}),
        pod("p2", "a2", affinity={"podAffinity": term("p")}),
    ],
    "spread": [pod(f"p{number}", on, topologySpreadConstraints=spread("p")) for number, on in enumerate(["a1", "b1"])],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_checker_finds_a_broken_rule(rule: str) -> None:
    """Each rule, broken on purpose, is named."""
    found = violations(Cluster(NODES, BROKEN[rule]))
    assert found
    assert rule in found[0]


@pytest.mark.parametrize("rule", KEPT)
def test_checker_accepts_what_is_kept(rule: str) -> None:
    """Each rule, kept, is not complained about."""
    assert violations(Cluster(NODES, KEPT[rule])) == []


def test_checker_finds_a_pod_left_out() -> None:
    """A pod waits although a node is free; not so where taints or cordons explain it."""
    assert violations(Cluster(NODES, [pod("p")])) == ["p waits although a1 would take it"]
    closed = [node("a1", cordoned=True), node("a2", taints=[{"key": "k", "effect": "NoExecute"}])]
    assert violations(Cluster(closed, [pod("p")])) == []
    assert violations(Cluster([node("a1")], [pod("p", cpu="3")])) == []


def test_checker_lets_a_kind_begin_anew_beside_those_without_a_domain() -> None:
    """Required affinity: a pod on a node without the key is nobody's neighbour, so the next may begin anywhere."""
    keyless = node("c1")
    del keyless["metadata"]["labels"][ZONE]
    follower = pod("p2", "a1", affinity={"podAffinity": term("p")})
    assert violations(Cluster([*NODES, keyless], [pod("p1", "c1"), follower])) == []
    assert violations(Cluster([*NODES, keyless], [pod("p1", "b1"), follower])) == ["p2 on a1 breaks together"]


def test_checker_counts_requests() -> None:
    """Init containers by their peak, sidecars all along, overhead on top, pod-level instead of the sum."""
    init = [
        {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
        {"name": "i", "resources": {"requests": {"cpu": "2"}}},
    ]
    assert pod_request(pod("p", cpu="500m", initContainers=init))["cpu"] == 3
    assert pod_request(pod("p", cpu="2500m", initContainers=init, overhead={"cpu": "1"}))["cpu"] == quantity("4500m")
    assert pod_request(pod("p", resources={"requests": {"cpu": "7"}}))["cpu"] == 7
