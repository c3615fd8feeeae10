"""What-ifs in which nodes are gone or come in place of others."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.clusters import ZONE, Folder, keeper, node, pod

ZONES = {"n1": "a", "n2": "b", "n3": "c"}
TAINTED = {"taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}], "unschedulable": True}


def spread(key: str) -> dict[str, Any]:
    rule = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, "labelSelector": {"matchLabels": {"app": "web"}}}]}


@pytest.mark.parametrize("key", [ZONE, "kubernetes.io/hostname"])
def test_lost_nodes_are_no_domain_to_spread_over(tmp_path: Path, key: str) -> None:
    """The answer is that of the cluster without them: all six run in the two zones that are left."""
    web = keeper("Deployment", "web", replicas=6, pods=spread(key))
    here = Folder(tmp_path, *(node(name, zone=zone) for name, zone in ZONES.items()), web)
    want = {"shop/web": {"n2": 3, "n3": 3}}
    assert here.placed("--lose", "zone=a") == want
    assert Folder(tmp_path, node("n2", zone="b"), node("n3", zone="c"), web).placed() == want


def test_drained_node_stays_a_domain_to_spread_over(tmp_path: Path) -> None:
    """As to kube-scheduler: of six at most one more may be in each other zone than on the cordoned node."""
    web = keeper("Deployment", "web", replicas=6, pods=spread(ZONE))
    here = Folder(tmp_path, *(node(name, zone=zone) for name, zone in ZONES.items()), web)
    assert here.waits("--drain", "n1") == 4


def test_lost_zone_is_none_of_those_that_are_upgraded(tmp_path: Path) -> None:
    """And what is lost twice is lost."""
    here = Folder(tmp_path, *(node(name, zone=zone) for name, zone in ZONES.items()))
    told = here.run(
        "plan", "--lose", "zone=a", "--lose", "kubernetes.io/hostname=n1", "--upgrade", "-o", "table"
    ).stdout
    assert [line.partition(":")[0] for line in told.splitlines()[:-1]] == ["without b", "without c"]


@pytest.mark.parametrize("gone", [("--drain", "n1"), ("--lose", "zone=a")])
def test_nodes_added_in_place_of_one_take_its_replicas(tmp_path: Path, gone: tuple[str, str]) -> None:
    """They are like the node as it was: open, with its DaemonSets."""
    objects = [node("n1", zone="a"), keeper("Deployment", "web", replicas=2), keeper("DaemonSet", "cni")]
    here = Folder(tmp_path, *objects, pod("web-1", "n1", "Deployment/web"), pod("web-2", "n1", "Deployment/web"))
    found = here.placed(*gone, "--add-nodes", "2", "--like", "n1")
    assert found["shop/web"] == {"n1-more-1": 1, "n1-more-2": 1}
    assert {name for name in found["shop/cni"] if name != "n1"} == {"n1-more-1", "n1-more-2"}


def test_nodes_like_a_cordoned_one_are_open(tmp_path: Path) -> None:
    """Nobody has cordoned them."""
    here = Folder(tmp_path, node("n1", **TAINTED), keeper("Deployment", "web", replicas=2))
    assert here.waits() == 2
    assert here.placed("--add-nodes", "1", "--like", "n1") == {"shop/web": {"n1-more-1": 2}}
