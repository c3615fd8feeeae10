"""`explain pod/NAME` for pods of every kind."""

from pathlib import Path

import pytest

from tests.cli.clusters import Folder, keeper, node, pod

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
ENDED = {**pod("done", "n1"), "status": {"phase": "Succeeded"}}
PODS = {
    "a static pod": ("etcd-n1", "it runs on n1; a plan does not move it.", "It is a static pod of node n1."),
    "a pod of a DaemonSet": ("cni-1", "it runs on n1; a plan does not move it.", "It belongs to DaemonSet shop/cni."),
    "a bare pod that has ended": ("done", "it has ended, and takes no room.", "No controller owns it."),
    "a pod that never had a node": (
        "gone",
        "it is being deleted before it had a node, and gets none.",
        "No controller owns it.",
    ),
    "a pod on a node that is not there": (
        "lost",
        "it runs on n9, which is not among the manifests; planned as if not running.",
        "No controller owns it.",
    ),
}


@pytest.mark.parametrize("case", PODS)
def test_every_pod_is_explained(tmp_path: Path, case: str) -> None:
    """Also one that is no workload of the plan."""
    name, where, whose = PODS[case]
    here = Folder(
        tmp_path,
        node("n1"),
        keeper("DaemonSet", "cni"),
        pod("cni-1", "n1", "DaemonSet/cni"),
        pod("etcd-n1", "n1", "Node/n1", **MIRROR),
        ENDED,
        pod("lost", "n9"),
        pod("gone", "", deletionTimestamp="2026-01-01T00:00:00Z"),
    )
    told = here.run("explain", f"pod/shop/{name}")
    assert (told.exception, told.return_value) == (None, 0)
    assert told.stdout.splitlines()[:2] == [f"Pod shop/{name}: {where}", f"  {whose}"]
