"""Clusters that spill over: the same answer from a bare problem, manifests, the plan and the live component."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from fairlead.live.fleet.decide import decide
from tests.live.bindings import binding, cluster

PLACEMENT = {
    "clusterAffinities": [
        {"affinityName": "near", "clusterNames": ["m1"], "overflowAffinities": [{"clusterNames": ["m2"]}]}
    ],
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}
ROOM = {"m1": 2, "m2": 10}


def called(*arguments: str, given: str = "") -> Any:
    """The JSON that a command prints."""
    result = CliRunner().invoke(cli, [*arguments, "-o", "json"], input=given, standalone_mode=False)
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


@pytest.fixture
def manifests(tmp_path: Path) -> Path:
    """A Deployment of five, its policy and two clusters, with room for two and for ten."""
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    pod = {"containers": [{"name": "web", "image": "web"}]}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "replicas": 5,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod},
            },
        },
        {
            "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"resourceSelectors": [selector], "placement": PLACEMENT},
        },
    ]  # fmt: skip
    for name, pods in ROOM.items():
        summary = {"allocatable": {"pods": str(pods)}}
        objects.append(
            {
                "apiVersion": "cluster.karmada.io/v1alpha1",
                "kind": "Cluster",
                "metadata": {"name": name},
                "status": {"resourceSummary": summary},
            }
        )
    (tmp_path / "fleet.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    return tmp_path


def test_bare_problem_spills_over() -> None:
    """Five replicas, room for two and ten: two and three."""
    problem = {
        "workload": {"name": "web", "replicas": 5},
        "policy": {"mode": "dynamic", "affinity": {"names": ["m1"], "overflow": [{"names": ["m2"]}]}},
        "clusters": [{"name": name, "capacity": room} for name, room in ROOM.items()],
    }
    assert called("divide", "-f", "-", given=json.dumps(problem))["placements"] == {"m1": 2, "m2": 3}


def test_manifests_divide_and_plan_alike(manifests: Path) -> None:
    """`divide` and `plan` read the policy and say the same."""
    divided = called("divide", "-f", str(manifests))
    assert divided["placements"] == {"m1": 2, "m2": 3}
    (planned,) = called("plan", "-f", str(manifests))["fleet"]
    assert planned["placements"] == {"m1": 2, "m2": 3}


def test_live_component_decides_alike() -> None:
    """The binding that Karmada makes of the same policy."""
    members = [cluster(name, resourceSummary={"allocatable": {"pods": str(room)}}) for name, room in ROOM.items()]
    (verdict,) = decide([binding("web", PLACEMENT, 5)], members)
    assert verdict.counts == {"m1": 2, "m2": 3}
