"""Disruption budgets beside drains and upgrades: which one stops it, and how many steps the others ask for."""

import json
from pathlib import Path
from typing import Any

import pytest

from fairlead.model.budgets import Budget
from tests.cli.clusters import Folder, keeper, node, pod


def budget(**spec: Any) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    meta = {"name": "keep", "namespace": "shop"}
    body = {"selector": selector, **spec}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta, "spec": body}


def cluster(path: Path, *budgets: dict[str, Any]) -> Folder:
    """Four pods of a Deployment, three of them on n1 in zone a, and a daemon of the same labels."""
    places = ("n1", "n1", "n1", "n2")
    return Folder(
        path,
        node("n1", cpu="8", zone="a"),
        node("n2", cpu="8", zone="b"),
        keeper("Deployment", "web", replicas=4),
        *(pod(f"web-{row}", place, "Deployment/web") for row, place in enumerate(places)),
        pod("agent-1", "n1", "DaemonSet/agent"),
        *budgets,
    )


@pytest.mark.parametrize(
    ("spec", "allowed", "steps"),
    [
        ({"minAvailable": 3}, 1, 3),
        ({"minAvailable": 4}, 0, None),
        ({"maxUnavailable": 2}, 2, 2),
        ({"maxUnavailable": "75%"}, 3, 1),
        ({"minAvailable": "60%"}, 1, 3),
        ({"maxUnavailable": 0}, 0, None),
        ({}, 0, None),
    ],
)
def test_drain_tells_the_steps_within_the_budget(
    spec: dict[str, Any], allowed: int, steps: int | None, tmp_path: Path
) -> None:
    """Three of four pods have to go: 4 − 3 at a time are three steps, and so on; the daemon stays."""
    here = cluster(tmp_path, budget(**spec))
    record = json.loads(here.run("plan", "--drain", "n1", "-o", "json").stdout)
    assert record["budgets"] == [{"budget": "shop/keep", "evicted": 3, "allowed": allowed, "steps": steps}]
    assert record["steps"] == steps
    told = here.run("plan", "--drain", "n1", "-o", "table").stdout
    assert ("budget shop/keep stops it: 3 would be evicted" in told) == (steps is None)


def test_upgrade_tells_the_budgets_of_each_zone(tmp_path: Path) -> None:
    """Zone a evicts three, zone b one."""
    told = cluster(tmp_path, budget(maxUnavailable=1)).run("plan", "--upgrade", "-o", "table").stdout.splitlines()
    assert told[1] == "  budget shop/keep: 3 evicted, 1 at a time, 3 steps"
    assert told[3] == "  budget shop/keep: 1 evicted, 1 at a time, 1 step"


def test_budgets_that_nothing_touches_are_silent(tmp_path: Path) -> None:
    """Another namespace, another label, no selector; a bound that cannot be read is named."""
    other, labelled, empty = budget(minAvailable=4), budget(minAvailable=4), budget(minAvailable=4)
    other["metadata"]["namespace"] = "elsewhere"
    labelled["metadata"]["name"], labelled["spec"]["selector"] = "labelled", {"matchLabels": {"app": "db"}}
    empty["metadata"]["name"] = "empty"
    del empty["spec"]["selector"]
    assert "budgets" not in json.loads(
        cluster(tmp_path, other, labelled, empty).run("plan", "--drain", "n1", "-o", "json").stdout
    )
    broken = cluster(tmp_path, budget(minAvailable="many")).run("plan", "-o", "json")
    assert "spec.minAvailable: is 'many'; expected a number or a percentage" in broken.stderr


def test_allowance_stays_within_what_there_is() -> None:
    """Never negative, never more than all."""
    few = Budget(name="b", namespace="n", selector=None, least=9)
    many = Budget(name="b", namespace="n", selector=None, missing=9)
    assert (few.allows(4), many.allows(4)) == (0, 4)
