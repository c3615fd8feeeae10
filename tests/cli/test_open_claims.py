"""Claims that have no volume yet, limits of attached volumes, and all of it in what-ifs and simulations."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.cli.clusters import ZONE, Folder, keeper, node, pod
from tests.cli.test_bound_volumes import claim, volume

NODES = (node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"))
DRIVER = "disks.example.com"


def storage_class(name: str = "wait", mode: str = "WaitForFirstConsumer", **more: Any) -> dict[str, Any]:
    meta = {"name": name, **more.pop("metadata", {})}
    given = {"provisioner": DRIVER, "volumeBindingMode": mode, **more}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": meta, **given}


def csi_node(name: str, count: int | None = None, keys: tuple[str, ...] = ()) -> dict[str, Any]:
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": list(keys)}
    if count is not None:
        driver["allocatable"] = {"count": count}
    meta = {"name": name}
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": meta, "spec": {"drivers": [driver]}}


def database(replicas: int, storage: str | None = "wait", **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {"resources": {"requests": {"storage": "1Gi"}}, **more}
    if storage is not None:
        spec["storageClassName"] = storage
    templates = [{"metadata": {"name": "data"}, "spec": spec}]
    return keeper("StatefulSet", "db", replicas=replicas, volumeClaimTemplates=templates)


def using(kind: str, name: str, replicas: int, claimed: str) -> dict[str, Any]:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claimed}}]
    return keeper(kind, name, replicas=replicas, pods={"volumes": volumes})


def open_claim(name: str, storage: str | None = "wait", phase: str = "", **spec: Any) -> dict[str, Any]:
    made = claim(name)
    made["spec"] = {"resources": {"requests": {"storage": "1Gi"}}, **spec}
    if storage is not None:
        made["spec"]["storageClassName"] = storage
    if phase:
        made["status"] = {"phase": phase}
    return made


def supply(name: str, zone: str, storage: str = "wait", size: str = "2Gi") -> dict[str, Any]:
    return volume(name, zone, storageClassName=storage, capacity={"storage": size})


def test_volume_is_made_where_the_class_allows(tmp_path: Path) -> None:
    """Only zone b: three of four fit beside one another on its one node, and one waits with that reason."""
    topologies = [{"matchLabelExpressions": [{"key": ZONE, "values": ["b"]}]}]
    bound = storage_class(allowedTopologies=topologies)
    here = Folder(tmp_path, *NODES, bound, database(5))
    assert (here.placed()["shop/db"], here.waits()) == ({"b1": 4}, 1)
    assert Folder(tmp_path, *NODES, storage_class(), database(5)).waits() == 0
    default = storage_class(
        allowedTopologies=topologies,
        metadata={"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    )
    here = Folder(tmp_path, *NODES, default, database(2, None))
    assert here.placed()["shop/db"] == {"b1": 2}, "the default class is filled in"


def test_free_volumes_serve_one_claim_each(tmp_path: Path) -> None:
    """Nothing can be made: two volumes, in zones a and b, serve two of three replicas; one of them is too small."""
    none = storage_class(provisioner="kubernetes.io/no-provisioner")
    here = Folder(
        tmp_path, *NODES, none, database(3), supply("v1", "a"), supply("v2", "b"), supply("v3", "b", size="1Mi")
    )
    assert sum(here.placed()["shop/db"].values()) == 2
    assert here.placed()["shop/db"]["b1"] == 1
    assert here.waits() == 1
    assert "NoVolume" in str(here.plan())


def test_replicas_that_share_a_new_volume_stay_with_it(tmp_path: Path) -> None:
    """Beside it while there is room, then in its zone, by the driver's topology; the third zone mate waits."""
    drivers = [csi_node(name, keys=(ZONE,)) for name in ("a1", "a2", "b1")]
    here = Folder(
        tmp_path, *NODES, storage_class(), open_claim("data"), *drivers, using("Deployment", "web", 9, "data")
    )
    assert (here.placed()["shop/web"], here.waits()) == ({"a1": 4, "a2": 4}, 1)


def test_two_share_a_volume_beside_one_that_is_made_and_evenly_where_one_is_there(tmp_path: Path) -> None:
    """The live scheduler, too, waits for a node's new volume; a volume that is there is reached from its whole zone."""
    drivers = [csi_node(name, keys=(ZONE,)) for name in ("a1", "a2", "b1")]
    shared = (*NODES, *drivers, storage_class(), open_claim("data"), using("Deployment", "web", 2, "data"))
    assert Folder(tmp_path, *shared).placed()["shop/web"] == {"a1": 2}
    assert Folder(tmp_path, *shared, supply("there", "a")).placed()["shop/web"] == {"a1": 1, "a2": 1}


def test_claim_of_a_class_that_binds_at_once(tmp_path: Path) -> None:
    """Applied, it gets the smallest volume that suits; seen pending by a server, it has none and its pod waits."""
    at_once = storage_class(mode="Immediate", provisioner="kubernetes.io/no-provisioner")
    offered = (supply("large", "a", size="9Gi"), supply("small", "b"))
    web = using("Deployment", "web", 1, "data")
    assert Folder(tmp_path, *NODES, at_once, open_claim("data"), *offered, web).placed()["shop/web"] == {"b1": 1}
    here = Folder(tmp_path, *NODES, at_once, open_claim("data", phase="Pending"), *offered, web)
    assert here.waits() == 1
    assert "ClaimUnbound" in str(here.plan())
    nothing = Folder(tmp_path, *NODES, at_once, open_claim("data"), web)
    assert nothing.waits() == 1
    made = Folder(tmp_path, *NODES, storage_class(mode="Immediate"), open_claim("data"), web)
    assert made.plan()["notCounted"] == {"PersistentVolumeClaim without a known volume or class": 1}
    assert made.waits() == 0


def test_claim_for_one_pod_at_a_time(tmp_path: Path) -> None:
    """ReadWriteOncePod: one of two runs; when its node is drained, it is that one that moves."""
    sole = open_claim("data", accessModes=["ReadWriteOncePod"], volumeName="v")
    web = using("Deployment", "web", 2, "data")
    here = Folder(tmp_path, *NODES, sole, volume("v", "a"), web)
    assert (sum(here.placed()["shop/web"].values()), here.waits()) == (1, 1)
    runs = pod("web-1", "a1", "Deployment/web")
    runs["spec"]["volumes"] = web["spec"]["template"]["spec"]["volumes"]
    here = Folder(tmp_path, *NODES, sole, volume("v", "a"), web, runs)
    assert (here.placed().get("shop/web", {}), here.waits()) == ({}, 1)
    assert "ClaimTaken" in str(here.plan())
    assert (here.placed("--drain", "a1")["shop/web"], here.waits("--drain", "a1")) == ({"a2": 1}, 1)


def test_driver_attaches_so_many_volumes(tmp_path: Path) -> None:
    """Two a node, one of them taken by a pod that runs: five of six replicas on three nodes, as on new ones."""
    drivers = [csi_node(name, 2) for name in ("a1", "a2", "b1")]
    uses = pod("other", "a1")
    uses["spec"]["volumes"] = [{"name": "x", "persistentVolumeClaim": {"claimName": "x"}}]
    csi = {"driver": DRIVER, "volumeHandle": "h"}
    there = volume("vx", "a", csi=csi)
    here = Folder(tmp_path, *NODES, *drivers, storage_class(), database(6), uses, claim("x", "vx"), there)
    assert (here.placed()["shop/db"], here.waits()) == ({"a1": 1, "a2": 2, "b1": 2}, 1)
    assert "TooManyVolumes" in str(here.plan())
    assert here.waits("--add-nodes", "1", "--like", "b1") == 0
    assert here.waits("--scale", "shop/db=7", "--add-nodes", "1", "--like", "b1") == 0
    eight = ("--scale", "shop/db=8", "--add-nodes", "1", "--like", "b1")
    assert here.waits(*eight) == 1, "new replicas have claims, too"


def test_attachment_that_is_still_there_counts(tmp_path: Path) -> None:
    """Its pod is gone, the volume is not."""
    drivers = [csi_node(name, 1) for name in ("a1", "a2", "b1")]
    there = volume("vx", "a", csi={"driver": DRIVER, "volumeHandle": "h"})
    spec = {"attacher": DRIVER, "nodeName": "a1", "source": {"persistentVolumeName": "vx"}}
    kept = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "k"}, "spec": spec}
    here = Folder(tmp_path, *NODES, *drivers, storage_class(), database(3), there, kept)
    assert (here.placed()["shop/db"], here.waits()) == ({"a2": 1, "b1": 1}, 1)


def test_each_replica_of_a_deployment_gets_its_own_short_lived_claim(tmp_path: Path) -> None:
    """One volume a node may be attached: three of four run."""
    drivers = [csi_node(name, 1) for name in ("a1", "a2", "b1")]
    spec = {"storageClassName": "wait", "resources": {"requests": {"storage": "1Gi"}}}
    volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]
    web = keeper("Deployment", "web", replicas=4, pods={"volumes": volumes})
    here = Folder(tmp_path, *NODES, *drivers, storage_class(), web)
    assert (here.placed()["shop/web"], here.waits()) == ({"a1": 1, "a2": 1, "b1": 1}, 1)


def test_bare_pod_follows_its_volume(tmp_path: Path) -> None:
    """Nobody keeps it: it goes to zone b like any other."""
    lone = pod("lone", "")
    lone["spec"]["volumes"] = [{"name": "x", "persistentVolumeClaim": {"claimName": "x"}}]
    here = Folder(tmp_path, *NODES, lone, claim("x", "v"), volume("v", "b"))
    assert here.placed()["shop/lone"] == {"b1": 1}
    assert "VolumeElsewhere" in here.run("explain", "shop/lone", "--why-not", "a1").stdout


@pytest.mark.parametrize(("keys", "waits"), [((ZONE,), 1), ((), 0)])
def test_simulation_keeps_volumes_where_they_were_made(keys: tuple[str, ...], waits: int, tmp_path: Path) -> None:
    """Zone a goes for good: the replica whose volume was made there waits, unless the driver binds it to no zone."""
    nodes = (node("a1", zone="a"), node("b1", zone="b"))
    Folder(tmp_path, *nodes, storage_class(), database(2), *(csi_node(name, keys=keys) for name in ("a1", "b1")))
    story = {
        "name": "zone",
        "until": "1h",
        "manifests": ["."],
        "events": [{"at": "10m", "fail": {"labels": {"zone": "a"}}}],
    }
    told = tmp_path.parent / "story.json"
    story["manifests"] = [str(tmp_path)]
    told.write_text(json.dumps(story))
    done = CliRunner().invoke(cli, ["simulate", str(told), "-o", "json"], standalone_mode=False)
    assert done.exception is None, done.exception
    (policy,) = json.loads(done.stdout)["policies"]
    assert (policy["unplaced"], policy["placed"]) == (waits, 3 - waits)


def limit_range(kind: str, **item: Any) -> dict[str, Any]:
    spec = {"limits": [{"type": kind, **item}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l", "namespace": "shop"}, "spec": spec}


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (limit_range("Pod", max={"cpu": "1500m"}), "LimitRange l: cpu 2 of the pod is above 1500m"),
        (limit_range("Pod", min={"cpu": "3"}), "LimitRange l: cpu 2 of the pod is below 3"),
        (limit_range("Pod", min={"cpu": "2"}, max={"cpu": "2"}), ""),
        (limit_range("PersistentVolumeClaim", min={"storage": "2Gi"}), "storage 1Gi of claim data is below 2Gi"),
        (limit_range("PersistentVolumeClaim", max={"storage": "1Gi"}), ""),
    ],
)
def test_limit_range_of_pods_and_claims(item: dict[str, Any], told: str, tmp_path: Path) -> None:
    """Two containers of 1 cpu; the claim of each replica asks for 1Gi."""
    db = database(1)
    containers = db["spec"]["template"]["spec"]["containers"]
    containers.append({**containers[0], "name": "beside"})
    here = Folder(tmp_path, *NODES, storage_class(), item, db)
    assert here.waits() == (1 if told else 0)
    assert told in here.run("plan", "-o", "table").stdout


def test_claim_beyond_a_limit_range_is_an_error(tmp_path: Path) -> None:
    """One that a server has was there before; a ratio is not counted, and that is said."""
    bound = limit_range("PersistentVolumeClaim", max={"storage": "1Mi"}, maxLimitRequestRatio={"storage": "2"})
    here = Folder(tmp_path, *NODES, bound, open_claim("new"), open_claim("old", phase="Bound"))
    (error,) = here.plan()["errors"]
    assert error["path"] == "PersistentVolumeClaim shop/new"
    assert here.plan()["notCounted"] == {"LimitRange with maxLimitRequestRatio": 1}
