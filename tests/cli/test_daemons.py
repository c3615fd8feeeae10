"""DaemonSets and static pods in a plan: they belong to their node, and take their room there first."""

from pathlib import Path

from tests.cli.clusters import Folder, keeper, node, pod

MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}


def cluster(path: Path) -> Folder:
    """Two nodes of 4 cpu, a CNI of 1 cpu on each, and a static pod on n1; a Deployment runs on n1."""
    return Folder(
        path,
        node("n1"),
        node("n2"),
        keeper("DaemonSet", "cni"),
        pod("cni-1", "n1", "DaemonSet/cni"),
        pod("cni-2", "n2", "DaemonSet/cni"),
        pod("etcd-n1", "n1", "Node/n1", **MIRROR),
        keeper("Deployment", "web", replicas=1),
        pod("web-1", "n1", "Deployment/web"),
    )


def test_drain_leaves_what_belongs_to_the_node(tmp_path: Path) -> None:
    """Neither waits nor goes elsewhere; the Deployment's pod moves."""
    here = cluster(tmp_path)
    for gone, place in (("n1", "n2"), ("n2", None)):
        assert here.waits("--drain", gone) == 0
        assert here.placed("--drain", gone)["shop/cni"] == {}
        assert here.placed("--drain", gone)["shop/web"] == ({place: 1} if place else {})


def test_drained_node_keeps_the_room_of_its_daemons(tmp_path: Path) -> None:
    """The use of a drained node is what stays on it: 2 of 4 cpu on n1 (CNI and etcd)."""
    told = cluster(tmp_path).run("explain", "node/n1").stdout
    assert "shop/cni: 1 running, 0 new" in told
    plan = cluster(tmp_path).plan("--drain", "n1")["sites"][0]
    assert plan["use"]["after"]["highest"] == 50.0


def test_lost_node_takes_its_daemons_along(tmp_path: Path) -> None:
    """They are not asked for elsewhere."""
    here = Folder(tmp_path, node("n1", zone="a"), node("n2", zone="b"), keeper("DaemonSet", "cni"))
    assert here.placed()["shop/cni"] == {"n1": 1, "n2": 1}
    assert here.placed("--lose", "zone=a")["shop/cni"] == {"n2": 1}
    assert here.waits("--lose", "zone=a") == 0


def test_upgrade_counts_no_daemon(tmp_path: Path) -> None:
    """Four nodes in two zones with a CNI each: nothing waits while a zone is away."""
    nodes = [node(f"n{number}", zone="ab"[number % 2]) for number in range(4)]
    pods = [pod(f"cni-{number}", f"n{number}", "DaemonSet/cni") for number in range(4)]
    result = Folder(tmp_path, *nodes, *pods).run("plan", "--upgrade", "-o", "table")
    assert "now 0 wait, at worst 0 while a zone is away." in result.stdout
    assert result.return_value == 0


def test_daemons_come_before_everything_else(tmp_path: Path) -> None:
    """Of 2 × 4 cpu the CNI takes 2 × 1 before a Deployment of high priority that would fill the nodes."""
    filling = keeper("Deployment", "web", replicas=8, pods={"priority": 1000})
    here = Folder(tmp_path, node("n1"), node("n2"), keeper("DaemonSet", "cni"), filling)
    assert here.placed() == {"shop/cni": {"n1": 1, "n2": 1}, "shop/web": {"n1": 3, "n2": 3}}
    assert here.waits() == 2


def test_new_nodes_get_their_daemons(tmp_path: Path) -> None:
    """Also where only pods show the DaemonSet."""
    web = keeper("Deployment", "web", replicas=4, cpu="2")
    known = Folder(tmp_path, node("n1"), keeper("DaemonSet", "cni"), pod("cni-1", "n1", "DaemonSet/cni"), web)
    options = ("--add-nodes", "2", "--like", "n1")
    want = {"shop/cni": {"n1-more-1": 1, "n1-more-2": 1}, "shop/web": {"n1": 1, "n1-more-1": 1, "n1-more-2": 1}}
    assert known.placed(*options) == want
    assert known.waits(*options) == 1
    assert Folder(tmp_path, node("n1"), pod("cni-1", "n1", "DaemonSet/cni"), web).placed(*options) == want


def test_daemons_go_where_they_match(tmp_path: Path) -> None:
    """A cordoned node is matched, a tainted one only with a toleration, another label never."""
    taint = {"key": "gpu", "effect": "NoSchedule"}
    nodes = [node("n1"), node("n2", unschedulable=True), node("n3", taints=[taint]), node("n4", cpu="0")]
    plain, chosen = keeper("DaemonSet", "cni"), keeper("DaemonSet", "own")
    chosen["spec"]["template"]["spec"] |= {
        "nodeSelector": {"kubernetes.io/hostname": "n3"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
    }
    here = Folder(tmp_path, *nodes, plain, chosen)
    assert here.placed() == {"shop/cni": {"n1": 1, "n2": 1}, "shop/own": {"n3": 1}}
    assert here.waits() == 1
    assert "1 of 3 found no node: 1 node InsufficientRoom" in here.run("plan", "-o", "table").stdout
    assert "InsufficientRoom" in here.run("explain", "shop/cni").stdout


def test_static_pods_are_no_workload(tmp_path: Path) -> None:
    """Their room is taken, and nobody asks for them elsewhere."""
    here = Folder(tmp_path, node("n1"), node("n2"), pod("etcd", "n1", "Node/n1", cpu="3", **MIRROR))
    assert here.placed("--drain", "n1") == {}
    web = keeper("Deployment", "web", replicas=5)
    full = Folder(tmp_path, node("n1"), node("n2"), pod("etcd", "n1", "Node/n1", cpu="3", **MIRROR), web)
    assert full.placed()["shop/web"] == {"n1": 1, "n2": 4}
    more = Folder(tmp_path, node("n1"), pod("etcd", "n1", "Node/n1", cpu="3", **MIRROR), web)
    assert more.placed("--add-nodes", "1", "--like", "n1")["shop/web"] == {"n1": 1, "n1-more-1": 4}


def test_simulation_keeps_room_for_daemons(tmp_path: Path) -> None:
    """A DaemonSet of 1 cpu on 2 nodes of 4 leaves room for 6 of 8 replicas."""
    from click.testing import CliRunner

    from fairlead.cli.main import cli

    Folder(tmp_path, node("n1"), node("n2"), keeper("DaemonSet", "cni"), keeper("Deployment", "web", replicas=8))
    (tmp_path / "scenario.yaml").write_text("name: s\nuntil: 1m\nmanifests: [cluster.yaml]\n")
    arguments = ["simulate", str(tmp_path / "scenario.yaml"), "-o", "table"]
    told = CliRunner().invoke(cli, arguments, standalone_mode=False).stdout
    assert [line.split()[-1] for line in told.splitlines() if line.startswith("waiting at the end")] == ["2"]
