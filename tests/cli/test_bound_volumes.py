"""Bound volumes in a plan and its what-ifs: a replica goes where its volume can be reached, or waits."""

import json
from pathlib import Path
from typing import Any

from tests.cli.clusters import ZONE, Folder, keeper, node, pod


def volume(name: str, zone: str, **more: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}, **more}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}


def claim(name: str, bound: str = "") -> dict[str, Any]:
    spec = {"volumeName": bound} if bound else {}
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": spec}


NODES = (node("a1", zone="a"), node("a2", zone="a"), node("b1", zone="b"))


def database(replicas: int) -> dict[str, Any]:
    templates = [{"metadata": {"name": "data"}}]
    return keeper("StatefulSet", "db", replicas=replicas, volumeClaimTemplates=templates)


def test_lost_zone_leaves_what_is_bound_to_it_waiting(tmp_path: Path) -> None:
    """db-0 has its volume in zone a and waits; db-1, of zone b, stays where it is."""
    here = Folder(
        tmp_path,
        *NODES,
        database(2),
        *(claim("data-db-0", "v0"), claim("data-db-1", "v1"), volume("v0", "a"), volume("v1", "b")),
        *(pod("db-0", "a1", "StatefulSet/db"), pod("db-1", "b1", "StatefulSet/db")),
    )
    assert here.waits() == 0
    assert (here.placed("--lose", "zone=a")["shop/db"], here.waits("--lose", "zone=a")) == ({}, 1)
    assert here.placed("--drain", "a1")["shop/db"] == {"a2": 1}
    assert here.waits("--drain", "b1") == 1
    assert "VolumeElsewhere" in str(here.plan("--drain", "b1"))


def test_each_ordinal_follows_its_own_volume(tmp_path: Path) -> None:
    """None runs yet: two volumes in zone b, one in zone a, and a fourth replica without a claim yet goes anywhere."""
    bound = [(claim(f"data-db-{row}", f"v{row}"), volume(f"v{row}", zone)) for row, zone in enumerate("bab")]
    here = Folder(tmp_path, *NODES, database(4), *(each for pair in bound for each in pair))
    assert here.placed()["shop/db"] == {"b1": 2, "a1": 1, "a2": 1}
    assert here.waits() == 0


def test_shared_claim_binds_every_replica(tmp_path: Path) -> None:
    """A Deployment that names a claim runs where its volume is; old zone labels count as well."""
    uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    web = keeper("Deployment", "web", replicas=5, pods=uses)
    labelled = volume("v", "b")
    labelled["spec"] = {}
    labelled["metadata"]["labels"] = {"failure-domain.beta.kubernetes.io/zone": "b"}
    for bound in (volume("v", "b"), labelled):
        here = Folder(tmp_path, *NODES, web, claim("data", "v"), bound)
        assert (here.placed()["shop/web"], here.waits()) == ({"b1": 4}, 1)


def test_claims_of_which_too_little_is_known_are_told(tmp_path: Path) -> None:
    """They bind nobody in a plan; neither does a volume that is not among the manifests. Unused ones are not told."""
    uses = {"volumes": [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("lost", "none")]}
    web = keeper("Deployment", "web", replicas=1, pods=uses)
    here = Folder(tmp_path, *NODES, database(1), web, claim("data-db-0"), claim("lost", "gone"), claim("idle"))
    assert here.waits() == 0
    assert here.plan()["notCounted"] == {
        "PersistentVolumeClaim that is not among the manifests": 1,
        "PersistentVolumeClaim without a known volume or class": 2,
    }


def test_share_sends_replicas_where_their_volumes_are(tmp_path: Path) -> None:
    """As a plan does: two ordinals to zone b, one to zone a; beyond the room of its volume's zone a replica waits."""
    bound = [(claim(f"data-db-{row}", f"v{row}"), volume(f"v{row}", zone)) for row, zone in enumerate("bab")]
    objects = [each for pair in bound for each in pair]
    here = Folder(tmp_path, *NODES, database(3), *objects)
    record = json.loads(here.run("share", "-o", "json").stdout)
    assert sum(record["nodes"]["shop/db"].get(name, 0) for name in ("a1", "a2")) == 1
    assert record["nodes"]["shop/db"]["b1"] == 2
    uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    web = keeper("Deployment", "web", replicas=5, pods=uses)
    here = Folder(tmp_path, *NODES, web, claim("data", "v"), volume("v", "b"))
    record = json.loads(here.run("share", "-o", "json").stdout)
    assert (record["nodes"], record["unplaced"]) == ({"shop/web": {"b1": 4}}, here.waits())


def test_share_takes_a_volume_as_it_takes_room(tmp_path: Path) -> None:
    """With preemption nobody is evicted in zone a for a replica whose volume is in zone b."""
    uses = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}
    web = keeper("Deployment", "web", "4", replicas=1, pods={**uses, "priority": 10})
    running = [pod(f"low-{row}", name, spec={"schedulerName": "fairlead"}) for row, name in enumerate(("a1", "b1"))]
    here = Folder(tmp_path, *NODES[::2], web, claim("data", "v"), volume("v", "b"), *running)
    record = json.loads(here.run("share", "--preempt", "-o", "json").stdout)
    assert [row["pods"] for row in record["evictions"]] == [["shop/low-1"]]
