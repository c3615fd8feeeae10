"""Pods that are being deleted, and those that come in their place."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.cli.clusters import Folder, keeper, node, pod

DELETED = {"deletionTimestamp": "2026-01-01T00:00:00Z"}


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet"])
def test_a_pod_in_place_of_one_that_is_deleted_is_placed(tmp_path: Path, kind: str) -> None:
    """Its controller has made it already; the old one keeps its room until it ends."""
    pods = [
        pod("web-a", "n1", f"{kind}/web", cpu="2"),
        pod("web-b", "n1", f"{kind}/web", cpu="2", **DELETED),
        pod("web-c", "", f"{kind}/web", cpu="2"),
    ]
    here = Folder(tmp_path, node("n1"), node("n2"), keeper(kind, "web", cpu="2", replicas=2), *pods)
    assert here.placed() == {"shop/web": {"n2": 1}}
    assert here.waits() == 0
    assert "it waits, and would go to n2." in here.run("explain", "pod/shop/web-c").stdout
    assert "name: web-c" in here.run("plan", "-o", "manifests").stdout


def test_a_stateful_set_waits_for_the_end_of_the_pod_whose_name_it_takes(tmp_path: Path) -> None:
    """There is nothing to place yet."""
    pods = [pod("db-0", "n1", "StatefulSet/db"), pod("db-1", "n1", "StatefulSet/db", **DELETED)]
    here = Folder(tmp_path, node("n1"), node("n2"), keeper("StatefulSet", "db", replicas=2), *pods)
    assert here.placed() == {"shop/db": {}}
    assert here.waits() == 0


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "Pod", "StatefulSet"])
@pytest.mark.parametrize(("most", "placed"), [("3", 2), ("2", 1), ("1", 0)])
def test_a_quota_is_charged_for_a_pod_that_is_deleted_until_it_has_ended(
    tmp_path: Path, kind: str, most: str, placed: int
) -> None:
    """As a server counts it; one that has ended is not charged. The simulation starts no more than the plan."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "shop"},
        "spec": {"hard": {"requests.cpu": most}},
    }
    ended = {**pod("over", "n1", **DELETED), "status": {"phase": "Succeeded"}}
    old = {"Pod": "", "StatefulSet": "StatefulSet/gone"}.get(kind, f"{kind}/web")
    mine = keeper("Deployment" if kind != "ReplicaSet" else kind, "web", replicas=2)
    here = Folder(tmp_path, node("n1"), quota, mine, pod("old", "n1", old, **DELETED), ended)
    assert here.placed()["shop/web"] == ({"n1": placed} if placed else {})
    (tmp_path / "scenario.yaml").write_text("manifests: [cluster.yaml]\nuntil: 1m\n")
    done = CliRunner().invoke(cli, ["simulate", str(tmp_path / "scenario.yaml"), "-o", "json"], standalone_mode=False)
    (record,) = json.loads(done.stdout)["policies"]
    assert record["unplaced"] == here.waits() == 2 - placed
