"""The order in which objects are given changes no letter of an answer."""

import json
from random import Random
from typing import Any

import fairlead

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
    told = [str(plan.explain(f"shop/{name}")) for name in "abc"]
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
