"""An object that names no namespace is in `default`, whatever its kind."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fairlead.kube.manifests.catalogue import CLUSTER_WIDE, catalogue
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.resources import ALL, Resource
from tests.cli.clusters import Folder, keeper, node, pod, template

IN_NO_NAMESPACE = ("Node", "ClusterQueue")


def group(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": {"name": name}, "spec": more}


def objects() -> list[dict[str, Any]]:
    """Kinds that are looked up by the namespace of a pod, none of which names one."""
    train = keeper("Deployment", "train", replicas=3)
    train["spec"]["template"]["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "train"}
    workers = {"size": 3, "leaderTemplate": template("leader"), "workerTemplate": template("worker", cpu="9")}
    serve = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"name": "serve"}}
    running = pod("web-1", "n1", "Deployment/web")
    bounds = {"limits": [{"type": "Container", "defaultRequest": {"cpu": "2"}}]}
    plain = keeper("StatefulSet", "plain", replicas=1)
    plain["spec"]["template"]["spec"]["containers"] = [{"name": "c"}]
    batch = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "team"}}
    queued = {**plain, "metadata": {"name": "queued", "labels": {"kueue.x-k8s.io/queue-name": "team"}}}
    made = [
        train,
        group("train", minMember=9),
        {**serve, "spec": {"replicas": 1, "leaderWorkerTemplate": workers}},
        keeper("Deployment", "web", replicas=1),
        running,
        {
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
        },
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "bounds"}, "spec": bounds},
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "most"}, "spec": {"hard": {"pods": "4"}}},
        plain,
        {**batch, "spec": {"clusterQueue": "research"}},
        {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "research"}, "spec": {}},
        queued,
        node("n1", "8"),
        node("n2", "8"),
    ]  # fmt: skip
    for each in made:
        each["metadata"].pop("namespace", None)
    return made


def named(made: dict[str, Any]) -> dict[str, Any]:
    """The same object with the namespace written out."""
    if made["kind"] in IN_NO_NAMESPACE:
        return made
    copy = deepcopy(made)
    copy["metadata"]["namespace"] = "default"
    return copy


def test_default_is_the_namespace_of_what_names_none(tmp_path: Path) -> None:
    """Gangs, budgets, quotas, limits and queues are found as if the namespace were written out."""
    for name in ("silent", "spoken"):
        (tmp_path / name).mkdir()
    silent = Folder(tmp_path / "silent", *objects())
    spoken = Folder(tmp_path / "spoken", *(named(each) for each in objects()))
    assert silent.plan() == spoken.plan()
    assert silent.plan("--drain", "n1") == spoken.plan("--drain", "n1")
    assert silent.placed()["default/train"] == {}, "nine start together, and three are asked for"
    assert silent.placed()["default/serve-0-leader"] == {}, "a gang is whole or not at all"


@pytest.mark.parametrize("resource", [each for each in ALL if not each.namespaced], ids=lambda each: each.kind)
def test_kinds_without_a_namespace_get_none(resource: Resource[Any]) -> None:
    """What the API serves outside namespaces is read without one, so that file and cluster name the same object."""
    value = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}}
    found = catalogue([Manifest("file", value)])
    assert [each.metadata.namespace for each in found.of(resource.shape)] in ([""], [])
    assert (resource.group, resource.kind) in CLUSTER_WIDE
