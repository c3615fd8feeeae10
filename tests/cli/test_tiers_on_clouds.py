"""Tiers on clusters as they are: the same answer from `plan`, `explain`, `simulate` and the webhook, on every cloud."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.kube.admission.review import patch_of
from fairlead.levels.tier.presets import PRESETS
from tests.tier.pods import patched

HEAD = "apiVersion: fairlead.io/v1alpha1\nkind: Configuration\n"


def node(name: str, **labels: str) -> dict[str, Any]:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name} | labels},
        "status": {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def deployment(name: str, replicas: int, **template: Any) -> dict[str, Any]:
    labels = {"app": name, **template.pop("labels", {})}
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop", "uid": f"uid-{name}", **template.pop("metadata", {})},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **template}},
        },
    }


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), standalone_mode=False)


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Write objects to a file of that name; its path."""

    def write(name: str, *objects: dict[str, Any]) -> str:
        path = tmp_path / name
        path.write_text(yaml.safe_dump_all(objects))
        return str(path)

    return write


def placed(result: Result) -> dict[str, dict[str, int]]:
    record = json.loads(result.stdout)
    return {
        each["workload"]: {name: count for part in each["parts"] for name, count in part["placements"].items()}
        for site in record["sites"]
        for each in site["workloads"]
    }


def test_stock_cluster_places_single_replicas(written: Any) -> None:
    """Four ordinary nodes and a Deployment of one replica: it is placed, and the plan says that there are no tiers."""
    stock = written("stock.yaml", *(node(f"n{number}") for number in range(1, 5)), deployment("web", 1))
    result = run("plan", "-f", stock, "-o", "json")
    assert placed(result) == {"shop/web": {"n1": 1}}
    assert result.return_value == 0
    assert json.loads(result.stdout)["sites"][0]["tiers"] == {"labels": [], "onDemand": 0, "spot": 0, "other": 4}
    assert "tiers: none, no node carries a label" in run("plan", "-f", stock, "-o", "table").stdout
    assert "no node carries a label that tells on-demand from spot, so web is not split" in (
        run("explain", "-f", stock, "shop/web").stdout
    )


@pytest.mark.parametrize("preset", PRESETS, ids=lambda each: each.name)
def test_every_preset_is_planned_and_lost(preset: Any, written: Any) -> None:
    """A single replica stays on demand, and `--lose tier=spot` takes exactly the spot nodes."""
    nodes = [
        node("spot-1", **{preset.key: preset.spot[0]}),
        node("spot-2", **{preset.key: preset.spot[-1]}),
        node("stays", **{preset.key: preset.on_demand[0]}),
    ]
    file = written("cloud.yaml", *nodes, deployment("web", 1), deployment("api", 3))
    assert placed(run("plan", "-f", file, "-o", "json"))["shop/web"] == {"stays": 1}
    assert f"tiers: {preset.key}, 1 on-demand, 2 spot" in run("plan", "-f", file, "-o", "table").stdout
    lost = json.loads(run("plan", "-f", file, "--lose", "tier=spot", "-o", "json").stdout)
    assert lost["sites"][0]["openNodes"]["after"] == 1
    assert "expected on-demand or spot" in str(run("plan", "-f", file, "--lose", "tier=cheap").exception)


def test_losing_a_tier_without_tiers_is_bad_input(written: Any) -> None:
    """The message says what is missing."""
    stock = written("stock.yaml", node("n1"), deployment("web", 1))
    assert "there is no spot node; no node carries a label that tells tiers apart" in (
        str(run("plan", "-f", stock, "--lose", "tier=spot").exception)
    )


def test_two_clouds_at_once(written: Any) -> None:
    """EKS groups beside Karpenter: on demand is spot by neither."""
    nodes = [
        node("eks-spot", **{"eks.amazonaws.com/capacityType": "SPOT"}),
        node("karpenter-spot", **{"karpenter.sh/capacity-type": "spot"}),
        node("z-stays", **{"eks.amazonaws.com/capacityType": "ON_DEMAND"}),
    ]
    file = written("two.yaml", *nodes, deployment("web", 1))
    assert placed(run("plan", "-f", file, "-o", "json")) == {"shop/web": {"z-stays": 1}}


def test_azures_spot_nodes_are_used(written: Any) -> None:
    """Their taint keeps others away, and not those that prefer spot."""
    spot = node("spot", **{"kubernetes.azure.com/scalesetpriority": "spot"})
    spot["spec"] = {
        "taints": [{"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"}]
    }
    annotated = {"annotations": {"distributed-scheduling/min-available": "1"}}
    file = written("aks.yaml", spot, node("stays"), deployment("web", 3, metadata=annotated), deployment("api", 2))
    assert placed(run("plan", "-f", file, "-o", "json")) == {
        "shop/web": {"stays": 1, "spot": 2},
        "shop/api": {"stays": 2},
    }


def test_system_classes_and_opt_out_are_left_alone(written: Any) -> None:
    """A single replica that must not be tied to on-demand nodes; `explain` says why."""
    file = written(
        "out.yaml",
        node("a-spot", **{"karpenter.sh/capacity-type": "spot"}),
        node("b-stays", **{"karpenter.sh/capacity-type": "on-demand"}),
        deployment("dns", 1, priorityClassName="system-cluster-critical"),
        deployment("own", 1, labels={"distributed-scheduling/tier": "none"}),
        deployment("web", 1),
    )
    decided = json.loads(run("plan", "-f", file, "-o", "json").stdout)["sites"][0]["workloads"]
    assert {each["workload"]: each["onDemand"] for each in decided} == {
        "shop/dns": None,
        "shop/own": None,
        "shop/web": 1,
    }
    assert "dns has a priority class of the system" in run("explain", "-f", file, "shop/dns").stdout
    assert "own carries the label that opts out of tiers" in run("explain", "-f", file, "shop/own").stdout


CONFIGURATIONS: dict[str, tuple[str, dict[str, int], str]] = {
    "detected": ("", {"b-od": 1}, "on-demand"),
    "presets of another cloud": ("tier: {presets: [eks]}\n", {"a-spot": 1}, "on-demand"),
    "no tiers": ("tier: {presets: []}\n", {"a-spot": 1}, "unmanaged"),
    "a label of one's own": (
        "tier: {onDemandRequirement: {key: pool, values: [kept]}, spotRequirement: {key: pool, values: [cheap]}}\n",
        {"c-kept": 1},
        "on-demand",
    ),
    "single replicas anywhere": ("tier: {singleReplica: false}\n", {"a-spot": 1}, "unmanaged"),
}


@pytest.mark.parametrize("case", CONFIGURATIONS)
def test_one_configuration_gives_one_answer(case: str, written: Any, tmp_path: Path) -> None:
    """`plan`, `explain`, `simulate` and the webhook's decision on the same cluster and configuration agree."""
    text, want, verdict = CONFIGURATIONS[case]
    config = tmp_path / "fairlead.yaml"
    config.write_text(HEAD + text)
    objects = [
        node("a-spot", **{"karpenter.sh/capacity-type": "spot"}),
        node("b-od", **{"karpenter.sh/capacity-type": "on-demand"}),
        node("c-kept", **{"karpenter.sh/capacity-type": "spot", "pool": "kept"}),
        deployment("web", 1),
    ]
    file = written("cluster.yaml", *objects)
    options = ("--config", str(config))
    assert placed(run("plan", "-f", file, "-o", "json", *options)) == {"shop/web": want}
    (where,) = want
    assert where in run("explain", "-f", file, "shop/web", *options).stdout
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text("name: s\nuntil: 1m\nmanifests: [cluster.yaml]\n")
    simulated = json.loads(run("simulate", str(scenario), "-o", "json", *options).stdout)["policies"][0]
    on_demand = {"detected": ("b-od",), "presets of another cloud": ("a-spot",), "a label of one's own": ("c-kept",)}
    assert simulated["onDemandShare"] == (1.0 if where in on_demand.get(case, ("b-od",)) else 0.0)
    assert split(written, tmp_path, objects, options) == (verdict, want)


def split(
    written: Any, folder: Path, objects: list[dict[str, Any]], options: tuple[str, ...]
) -> tuple[str, dict[str, int]]:
    """The webhook's verdict on the first pod, and where a plan puts the pod as patched."""
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "rs", "controller": True}
    parent = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-web", "controller": True}
    meta = {"name": "web-1", "namespace": "shop", "uid": "rs", "ownerReferences": [parent]}
    state = written("state.yaml", *objects, {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta})
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-1-x", "namespace": "shop", "labels": {"app": "web"}, "ownerReferences": [owner]},
        "spec": objects[-1]["spec"]["template"]["spec"],
    }
    request = {"uid": "u", "operation": "CREATE", "namespace": "shop", "object": pod}
    review = folder / "review.json"
    review.write_text(json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))
    answer = json.loads(run("split", "-f", str(review), "--state", state, "-o", "json", *options).stdout)
    after = patched(pod, patch_of(answer))
    del after["metadata"]["ownerReferences"]
    none = folder / "none.yaml"
    none.write_text(HEAD + "tier: {presets: []}\n")
    file = written("patched.yaml", *objects[:-1], after)
    placements = placed(run("plan", "-f", file, "-o", "json", "--config", str(none)))
    return answer["response"]["auditAnnotations"]["tier"], placements["shop/web-1-x"]


def test_default_strategy_comes_from_the_configuration(written: Any, tmp_path: Path) -> None:
    """`explain` levels what the live scheduler would level."""
    config = tmp_path / "fairlead.yaml"
    config.write_text(HEAD + "scheduler: {strategy: global-greedy}\n")
    file = written("cluster.yaml", node("n1"), node("n2"), deployment("web", 2))
    own, greedy = (run("explain", "-f", file, "shop/web", *more).stdout for more in ((), ("--config", str(config))))
    assert own != greedy


def test_own_mark_is_no_deletion_cost_of_the_user(tmp_path: Path) -> None:
    """A pod that already carries our slot and cost is not warned about; one with the cost alone is."""
    state = Path("examples/tiers/cluster.yaml").read_text()
    review = json.loads(Path("examples/tiers/review.json").read_text())
    cost = {"controller.kubernetes.io/pod-deletion-cost": "1"}
    (tmp_path / "state.yaml").write_text(state)
    for marks, want in (({"distributed-scheduling/slot": "x", **cost}, 0), (cost, 1)):
        review["request"]["object"]["metadata"]["annotations"] = marks
        (tmp_path / "review.json").write_text(json.dumps(review))
        arguments = ("split", "-f", str(tmp_path / "review.json"), "--state", str(tmp_path / "state.yaml"))
        answer = json.loads(run(*arguments, "-o", "json").stdout)["response"]
        assert sum("deletion cost" in each for each in answer.get("warnings", ())) == want
