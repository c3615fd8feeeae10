"""Node, Pod and workload manifests to what `fairlead place` decides on."""

from typing import Any

import pytest

from fairlead.kube.manifests.catalogue import CLUSTER, Catalogue, catalogue
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.manifests.node import place_manifests
from fairlead.model.errors import InputError


def found(*objects: dict[str, Any]) -> Catalogue:
    """These objects, decoded."""
    made = catalogue([Manifest(place=f"file:{row}", value=each) for row, each in enumerate(objects)])
    assert not made.errors
    return made


def meta(name: str, cluster: str = "", **more: Any) -> dict[str, Any]:
    """A name, and where it was read from."""
    return {"name": name, **({"annotations": {CLUSTER: cluster}} if cluster else {}), **more}


def node(name: str, cluster: str = "", ready: str = "", **spec: Any) -> dict[str, Any]:
    """A node of four cores."""
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    status = {"allocatable": {"cpu": "4", "pods": "9"}, "conditions": conditions}
    return {"apiVersion": "v1", "kind": "Node", "metadata": meta(name, cluster), "spec": spec, "status": status}


def pod(
    name: str, on: str, *, cpu: str = "1", phase: str = "Running", cluster: str = "", of: str = ""
) -> dict[str, Any]:
    """A pod on a node, of a ReplicaSet that belongs to a Deployment `of`."""
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{of}-1", "uid": f"{of}-1", "controller": True}]
    more = {"namespace": "shop", "labels": {"app": of}, **({"ownerReferences": owners} if of else {})}
    spec = {"nodeName": on, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
    about = meta(name, cluster, **more)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": about, "spec": spec, "status": {"phase": phase}}


def deployment(name: str, replicas: int, *, namespace: str = "shop", cpu: str = "500m") -> list[dict[str, Any]]:
    """A Deployment and its ReplicaSet."""
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"{name}-0", "controller": True}
    head = {"namespace": namespace, "uid": f"{name}-0"}
    below = {"namespace": namespace, "uid": f"{name}-1", "ownerReferences": [owner]}
    return [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta(name, **head), "spec": spec},
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta(f"{name}-1", **below), "spec": spec},
    ]


def used(made: Catalogue, **options: Any) -> dict[str, int]:
    """Thousandths of a core that are used, by node."""
    state = place_manifests(made, **options).state
    column = state.column("cpu")
    assert column is not None
    return dict(zip(state.names, state.used[:, column].tolist(), strict=True))


ONE = {"request": {"cpu": 500}}


def test_pods_that_run_are_used_and_finished_ones_are_not() -> None:
    """Two of one core each; one that ended holds nothing, one without a node neither."""
    pods = [pod("a", "n1"), pod("b", "n1"), pod("c", "n1", phase="Succeeded"), pod("d", "n2", phase="Failed")]
    assert used(found(node("n1"), node("n2"), *pods, pod("e", "")), **ONE) == {"n1": 2000, "n2": 0}


def test_a_request_given_apart_is_the_shape_and_needs_a_pod() -> None:
    """Amounts in order; a replica is one pod."""
    made = place_manifests(found(node("n1")), **ONE)
    assert made.shape.request == (("cpu", 500), ("pods", 1))
    assert (made.running, made.need) == ({}, 0)


@pytest.mark.parametrize(
    ("given", "closed"),
    [
        (node("n"), False),
        (node("n", ready="True"), False),
        (node("n", ready="False"), True),
        (node("n", ready="Unknown"), True),
        (node("n", unschedulable=True), True),
        (node("n", ready="True", unschedulable=True), True),
    ],
    ids=["no word of it", "ready", "not ready", "nobody knows", "cordoned", "ready and cordoned"],
)
def test_a_node_that_is_cordoned_or_not_ready_takes_nothing(given: dict[str, Any], closed: bool) -> None:
    """A manifest written by hand says nothing of its state, and is taken to be ready."""
    assert place_manifests(found(given), **ONE).state.unschedulable.tolist() == [closed]


def test_what_runs_of_the_workload_is_known_and_the_rest_is_needed() -> None:
    """Five are asked for, two run on one node and one on another."""
    pods = [pod("a", "n1", of="web"), pod("b", "n1", of="web"), pod("c", "n2", of="web"), pod("d", "n2", of="")]
    made = place_manifests(found(node("n1"), node("n2"), *deployment("web", 5), *pods))
    assert (dict(made.running), made.need) == ({"n1": 2, "n2": 1}, 2)
    assert dict(made.shape.request)["cpu"] == 500


def test_more_running_than_asked_for_needs_nothing() -> None:
    """Scaling down is not this command's work."""
    pods = [pod(name, "n1", of="web") for name in "abc"]
    assert place_manifests(found(node("n1"), *deployment("web", 2), *pods)).need == 0


def test_a_workload_is_meant_by_name_or_with_its_namespace() -> None:
    """Two of one name in two namespaces need the longer one."""
    both = found(node("n1"), *deployment("web", 5), *deployment("db", 2), *deployment("db", 3, namespace="lab"))
    assert place_manifests(both, workload="web").need == 5
    assert place_manifests(both, workload="lab/db").need == 3
    with pytest.raises(InputError, match="2 workloads among the manifests"):
        place_manifests(both, workload="db")
    with pytest.raises(InputError, match=r"3 workloads among the manifests .*choose one with --workload"):
        place_manifests(both)
    with pytest.raises(InputError, match="no workload 'cart'"):
        place_manifests(both, workload="cart")


def test_only_pods_of_the_cluster_of_the_nodes_count() -> None:
    """Nodes read from one cluster; a node of the same name elsewhere has pods of its own."""
    made = found(node("n1", "west"), pod("a", "n1", cluster="west"), pod("b", "n1", cluster="east", cpu="2"))
    assert used(made, **ONE) == {"n1": 1000}


def test_nodes_of_no_cluster_or_of_several_are_refused() -> None:
    """One question is about one cluster."""
    with pytest.raises(InputError, match="there is no Node"):
        place_manifests(found(pod("a", "n1")), **ONE)
    with pytest.raises(InputError, match=r"several clusters \(east, west\); use fairlead plan"):
        place_manifests(found(node("n1", "west"), node("n2", "east")), **ONE)
