"""Volumes on a real API server: static ones are tied to claims, others are made where the pod goes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api

from tests.cluster.test_scheduler import bound, condition, create, scheduler, workload

SELECTED = "volume.kubernetes.io/selected-node"


@pytest.fixture
def storage_class(api: Api, namespace: str) -> Any:
    """A function that makes a class which waits for a node, of this test alone."""
    made = []

    def make(provisioner: str) -> str:
        name = f"late-{namespace}-{len(made)}"
        made.append(name)
        body = {"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
        api.create("/apis/storage.k8s.io/v1/storageclasses", body)
        return name

    yield make
    for name in made:
        api.delete(f"/apis/storage.k8s.io/v1/storageclasses/{name}")


def claim(api: Api, namespace: str, name: str, storage_class: str) -> None:
    """A claim of one gibibyte."""
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": storage_class,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    api.create(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims", {"metadata": {"name": name}, "spec": spec})


def volume(name: str, node: str, storage_class: str, **more: Any) -> dict[str, Any]:
    """A volume on one node."""
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/x"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            **more,
        },
    }


def using(name: str) -> list[dict[str, Any]]:
    """The pod's volumes: one claim."""
    return [{"name": "v", "persistentVolumeClaim": {"claimName": name}}]


def test_scheduler_ties_a_free_volume_to_its_claim(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], storage_class: Any
) -> None:
    """The only free volume is on the third node, so the pod goes there; one for whom none is left is told why."""
    names = kwok_nodes(3, labels={"pool": namespace})
    kind = storage_class("kubernetes.io/no-provisioner")
    path = f"/api/v1/persistentvolumes/v-{namespace}"
    api.create("/api/v1/persistentvolumes", volume(f"v-{namespace}", names[2], kind))
    try:
        api.wait("the volume", lambda: api.get(path)["status"]["phase"] == "Available", seconds=60)
        claim(api, namespace, "first", kind)
        claim(api, namespace, "second", kind)
        create(api, namespace, workload(namespace, "first", 1, volumes=using("first")))
        with scheduler(kubeconfig, "--no-leader-election"):
            api.wait("the pod bound", lambda: bound(api, namespace), seconds=60)
            create(api, namespace, workload(namespace, "second", 1, volumes=using("second")))
            api.wait(
                "the reason",
                lambda: "NoVolumeThere" in condition(api, namespace, "second").get("message", ""),
                seconds=60,
            )
        assert list(bound(api, namespace).values()) == [names[2]]
        assert api.get(path)["spec"]["claimRef"]["name"] == "first"
    finally:
        api.delete(path)


def test_scheduler_waits_for_the_volume_it_asked_for(
    api: Api, kubeconfig: Path, namespace: str, kwok_nodes: Callable[..., list[str]], storage_class: Any
) -> None:
    """The claim is told the node; the pod is bound only when the provisioner (played here) has made the volume."""
    names = kwok_nodes(2, labels={"pool": namespace})
    kind = storage_class("disk.example.com")
    claim(api, namespace, "data", kind)
    create(api, namespace, workload(namespace, "db", 1, volumes=using("data")))
    path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/data"
    with scheduler(kubeconfig, "--no-leader-election"):
        api.wait("the node", lambda: SELECTED in api.get(path)["metadata"].get("annotations", {}), seconds=60)
        node = api.get(path)["metadata"]["annotations"][SELECTED]
        assert node in names
        assert not bound(api, namespace)
        reference = {"namespace": namespace, "name": "data", "uid": api.get(path)["metadata"]["uid"]}
        api.create("/api/v1/persistentvolumes", volume(f"v-{namespace}", node, kind, claimRef=reference))
        try:
            api.wait("the pod bound", lambda: bound(api, namespace), seconds=60)
            assert list(bound(api, namespace).values()) == [node]
        finally:
            api.delete(f"/api/v1/persistentvolumes/v-{namespace}")
