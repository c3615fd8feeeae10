"""Pods that are being deleted, and those that come in their place."""

from pathlib import Path

import pytest

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
