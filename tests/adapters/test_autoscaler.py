"""HorizontalPodAutoscaler: what if it goes to its maximum?"""

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.adapters.cluster import answer, made, template


def test_scale_hpa_max_asks_for_the_maximum(tmp_path: Path) -> None:
    """Two replicas fit; at eight, four of them wait on four cores."""
    web = made("apps/v1", "Deployment", {"replicas": 2, "template": template()}, "web")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 8}
    scaler = made("autoscaling/v2", "HorizontalPodAutoscaler", spec, "web")
    assert answer(tmp_path, web, scaler, cpus=4)["unplaced"] == 0
    record = answer(tmp_path, web, scaler, cpus=4, more=["--scale-hpa", "max"])
    assert record["unplaced"] == {"before": 0, "after": 4}
    small = answer(tmp_path, web, scaler, cpus=4, more=["--scale-hpa", "min"])
    assert small["plan"]["sites"][0]["workloads"][0]["replicas"] == 1


def test_an_autoscaler_of_something_else_stops_nothing(tmp_path: Path) -> None:
    """One of a Rollout, which no plan knows, or of a Deployment that is gone, is told and left out."""
    web = made("apps/v1", "Deployment", {"replicas": 1, "template": template()}, "web")
    scalers = [
        made("autoscaling/v2", "HorizontalPodAutoscaler", {"scaleTargetRef": target, "maxReplicas": 3}, name)
        for name, target in {
            "web": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "api": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "api"},
        }.items()
    ]
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all([web, *scalers]))
    done = CliRunner().invoke(cli, ["plan", "-f", str(file), "--scale-hpa", "max", "-o", "json"], standalone_mode=False)
    assert json.loads(done.stdout)["plan"]["sites"][0]["workloads"][0]["replicas"] == 3
    namespace = web["metadata"].get("namespace", "default")
    told = f"HorizontalPodAutoscaler {namespace}/api: there is no Rollout {namespace}/api to scale; it is left out"
    assert done.stderr == f"fairlead: {told}\n"


@pytest.mark.parametrize(("least", "expected"), [(1, 0), (0, 3)], ids=["scaled to none", "none is its minimum"])
def test_scale_hpa_leaves_a_workload_of_0_replicas_as_its_autoscaler_does(
    tmp_path: Path, least: int, expected: int
) -> None:
    """Somebody has switched it off; an autoscaler that may go to 0 itself comes back from there."""
    web = made("apps/v1", "Deployment", {"replicas": 0, "template": template()}, "web")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": least, "maxReplicas": 3}
    file = tmp_path / "all.yaml"
    node = made("v1", "Node", {}, "n1") | {"status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "9"}}}
    file.write_text(yaml.safe_dump_all([node, web, made("autoscaling/v2", "HorizontalPodAutoscaler", spec, "web")]))
    done = CliRunner().invoke(cli, ["plan", "-f", str(file), "--scale-hpa", "max", "-o", "json"], standalone_mode=False)
    record = json.loads(done.stdout)
    assert record.get("plan", record)["sites"][0]["workloads"][0]["replicas"] == expected
    assert ("Deployment" in done.stderr and "has 0 replicas" in done.stderr) == (expected == 0)


@pytest.mark.parametrize(
    ("written", "planned"), [(None, 3), (1, 3), (4, 4), (9, 5), (0, 0)], ids=["none", "low", "within", "high", "zero"]
)
def test_a_plan_has_what_the_autoscaler_keeps_whatever_it_measures(
    tmp_path: Path, written: int | None, planned: int
) -> None:
    """Between its bounds; a workload that is scaled to none is left alone. `share` counts the same."""
    replicas = {} if written is None else {"replicas": written}
    web = made("apps/v1", "Deployment", {**replicas, "template": template()}, "web")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 5}
    scaler = made("autoscaling/v2", "HorizontalPodAutoscaler", spec, "web")
    record = answer(tmp_path, web, scaler, cpus=16)
    assert record["sites"][0]["workloads"][0]["replicas"] == planned
    shared = answer(tmp_path, web, scaler, cpus=16, command="share")
    assert sum(shared["placements"].values()) == planned


def test_an_autoscaler_of_a_template_that_a_fleet_divides_is_not_counted(tmp_path: Path) -> None:
    """Its bounds are those of each cluster's part; the plan says that it did not count."""
    web = made("apps/v1", "Deployment", {"replicas": 1, "template": template()}, "web")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    scaler = made(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 5},
        "web",
    )
    member = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "m1"}, "spec": {}}
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    policy = made(
        "policy.karmada.io/v1alpha1",
        "PropagationPolicy",
        {"resourceSelectors": selectors, "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}},
        "all",
    )
    record = answer(tmp_path, web, scaler, member, policy)
    assert record["fleet"][0]["placements"] == {"m1": 1}
    assert record["notCounted"] == {"HorizontalPodAutoscaler of a fleet's template": 1}
