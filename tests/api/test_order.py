"""The order in which objects are given changes no letter of an answer."""

import json
from random import Random
from typing import Any

import fairlead
from fairlead.cli.share_manifests import answer, problem_of, solve
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.manifest import Manifest

SIZE = {"cpu": "2", "memory": "4Gi", "pods": "8"}


def objects() -> list[dict[str, Any]]:
    """Four nodes of two cores, more asked for than they take, two quotas that bind alike, and two budgets."""
    nodes = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"n{row}"}, "status": {"allocatable": SIZE}}
        for row in (1, 2, 9, 10)
    ]
    return [*nodes, *(one for name in ("a", "b", "c") for one in owned(name)), quota("x"), quota("y")]


def owned(name: str) -> list[dict[str, Any]]:
    """A ReplicaSet, one of whose pods runs, with its budget."""
    meta = {"name": name, "namespace": "shop"}
    labels = {"labels": {"app": name}}
    pods = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "700m"}}}]}
    selector = {"matchLabels": labels["labels"]}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    spec = {"replicas": 5, "selector": selector, "template": {"metadata": labels, "spec": pods}}
    return [
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {**meta, "uid": name}, "spec": spec},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**meta, **labels, "ownerReferences": [owner]},
            "spec": {**pods, "nodeName": "n9"},
            "status": {"phase": "Running"},
        },
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": meta,
            "spec": {"maxUnavailable": 1, "selector": selector},
        },
    ]


def quota(name: str) -> dict[str, Any]:
    """Nine pods."""
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": meta, "spec": {"hard": {"pods": "9"}}}


def answers(given: list[dict[str, Any]]) -> str:
    """What a plan, its explanations and a what-if say."""
    plan = fairlead.plan(fairlead.read(given))
    (site,) = plan.to_dict()["sites"]
    told = [str(plan.explain(row["workload"])) for row in site["workloads"]]
    return json.dumps([plan.to_dict(), told, fairlead.what_if(plan, drain="n9").to_dict()])


def test_answers_do_not_depend_on_the_order_of_objects() -> None:
    """Refused nodes, placements, quotas and budgets are told in one order."""
    given, draw = objects(), Random(1)
    expected = answers(given)
    assert "QuotaExceeded" in expected
    assert '"budget": "shop/a"' in expected
    for _ in range(8):
        draw.shuffle(given)
        assert answers(given) == expected


def lost(name: str, phase: str) -> list[dict[str, Any]]:
    """Pods of a controller that is not there, created at different times, one of them of another shape."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
    sizes = {"10": "700m", "9": "600m", "x": "500m"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{row}",
                "namespace": "shop",
                "ownerReferences": [owner],
                "creationTimestamp": f"2026-01-{int(cpu[0]):02}T00:00:00Z",
            },
            "spec": {
                "schedulerName": "fairlead",
                "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
            },
            "status": {"phase": phase},
        }
        for row, cpu in sizes.items()
    ]


def scaler(name: str, least: int) -> dict[str, Any]:
    """One of several autoscalers that fight over a workload."""
    target = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "a"}
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": least}
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta, "spec": spec}


def test_pods_of_lost_controllers_and_autoscalers_of_one_target_are_told_in_one_way() -> None:
    """The first by name counts: of the pods the shape, of the autoscalers the bounds."""
    given = [*objects()[:4], *owned("a"), *lost("w", "Pending"), scaler("up", 4), scaler("down", 2)]
    draw, expected = Random(2), answers(given)
    for _ in range(8):
        draw.shuffle(given)
        assert answers(given) == expected
    (site,) = fairlead.plan(fairlead.read(given)).to_dict()["sites"]
    assert {row["workload"]: row["replicas"] for row in site["workloads"]} == {"shop/a": 2, "shop/w": 3}


def shared(given: list[dict[str, Any]]) -> str:
    """What `share` says of these objects."""
    found = catalogue([Manifest("here", each) for each in given])
    problem = problem_of(found, "here", planned=True)
    return json.dumps(answer(problem, solve(problem)))


def test_shares_do_not_depend_on_the_order_of_objects() -> None:
    """Jobs, their roles and the nodes are told in one order."""
    given = [*objects(), *lost("w", "Pending"), *lost("v", "Pending")]
    draw, expected = Random(3), shared(given)
    for _ in range(8):
        draw.shuffle(given)
        assert shared(given) == expected
