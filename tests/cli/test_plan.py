"""`plan`, `explain` and `diff` as a person uses them: the shop, what-ifs, broken files, wrong flags."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli import clusters

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "examples" / "shop"


def fairlead(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fairlead", *words], input=stdin, capture_output=True, timeout=120, check=False
    )


def planned(*words: str) -> dict[str, Any]:
    """The JSON of a plan."""
    done = fairlead("plan", *words, "-o", "json")
    assert done.returncode in (0, 1), done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_plan_of_the_shop_goes_through_all_five_levels() -> None:
    """Each level leaves its mark: division, tiers, queues, nodes and disks."""
    record = planned("-f", str(SHOP))
    fleet = {each["workload"]: each["placements"] for each in record["fleet"]}
    assert sum(fleet["shop/web"].values()) == 14
    assert {8, 9} >= {fleet["shop/web"]["west"]}
    west = next(site for site in record["sites"] if site["cluster"] == "west")
    cart = next(each for each in west["workloads"] if each["workload"] == "shop/cart")
    assert cart["onDemand"] == 3
    assert sum(next(part for part in cart["parts"] if part["tier"] == "on-demand")["placements"].values()) == 3
    weights = {row["namespace"]: row["weight"] for row in west["namespaces"]}
    assert (weights["ml"], weights["analytics"]) == (2, 1)
    assert len(record["storage"]["west"]["placements"]) == 3
    assert len({each["node"] for each in record["storage"]["west"]["placements"]}) == 3


def test_plan_is_the_same_every_time_and_in_any_order(tmp_path: Path) -> None:
    """Two runs agree, and so does the same content in files of other names."""
    for number, path in enumerate(sorted(SHOP.glob("*.yaml"), reverse=True)):
        shutil.copy(path, tmp_path / f"{number}.yaml")
    assert planned("-f", str(SHOP)) == planned("-f", str(SHOP)) == planned("-f", str(tmp_path))


def test_plan_exit_code_tells_whether_something_waits(tmp_path: Path) -> None:
    """1 where replicas wait, 0 where all are placed."""
    assert fairlead("plan", "-f", str(SHOP)).returncode == 1
    for name in ("store", "nodes-west", "nodes-north", "fleet"):
        shutil.copy(SHOP / f"{name}.yaml", tmp_path)
    text = (tmp_path / "store.yaml").read_text().replace("queue-name: online", "queue-name: default")
    (tmp_path / "store.yaml").write_text(text)
    assert fairlead("plan", "-f", str(tmp_path)).returncode == 0


def test_plan_of_a_half_broken_directory_plans_the_rest(tmp_path: Path) -> None:
    """Bad files are named with their line, good ones are planned; --strict refuses."""
    shutil.copytree(SHOP, tmp_path / "shop")
    (tmp_path / "shop" / "broken.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: [\n")
    (tmp_path / "shop" / "odd.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: x}\nspec: {taints: 3}\n")
    done = fairlead("plan", "-f", str(tmp_path / "shop"), "-o", "json")
    errors = done.stderr.decode()
    assert done.returncode == 2, "CI does not stay green where a file was not read"
    assert fairlead("plan", "-f", str(tmp_path / "shop"), "--keep-going").returncode == 1
    assert "broken.yaml:3: is not valid YAML" in errors
    assert "odd.yaml:1: Node x: spec.taints" in errors
    assert len(json.loads(done.stdout)["sites"]) == 2
    refused = fairlead("plan", "-f", str(tmp_path / "shop"), "--strict")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert "2 mistakes in the manifests" in refused.stderr.decode()


BAD = {
    "a file that is not there": (["plan", "-f", "/nowhere"], "/nowhere: no such file"),
    "a binary": (["plan", "-f", sys.executable], "expected JSON or YAML"),
    "an unknown option": (["plan", "--sideways"], "No such option"),
    "no file": (["plan"], "Missing option"),
    "a node that is not there": (["plan", "-f", str(SHOP), "--drain", "moon"], "there is no node 'moon'"),
    "half a pair": (["plan", "-f", str(SHOP), "--scale", "web"], "expected NAME=VALUE"),
    "no number": (["plan", "-f", str(SHOP), "--weight", "ml=heavy"], "is not a whole number"),
    "new nodes like nothing": (["plan", "-f", str(SHOP), "--add-nodes", "2"], "goes together with --like"),
    "an unknown workload": (["explain", "-f", str(SHOP), "shop/moon"], "no such workload"),
    "nothing to explain from": (["explain", "shop/web"], "Missing option"),
    "a cluster without a way to it": (["explain", "--cluster", "--kubeconfig", "/none", "pod/a/b"], "does not exist"),
    "a plan that is none": (["diff", str(SHOP), str(ROOT / "pyproject.toml")], "fairlead:"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_message_and_exit_code_2(name: str) -> None:
    """No traceback, nothing on standard output, a line that says what was expected."""
    words, want = BAD[name]
    done = fairlead(*words)
    assert (done.returncode, done.stdout) == (2, b"")
    assert want in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_what_if_shows_the_answer_beside_the_present() -> None:
    """Draining a node moves its replicas; the present plan is not changed."""
    record = planned("-f", str(SHOP), "--drain", "node/west-od-1")
    assert record["moves"] > 0
    assert record["unplaced"]["before"] == planned("-f", str(SHOP))["unplaced"]
    west = next(site for site in record["plan"]["sites"] if site["cluster"] == "west")
    assert all("west-od-1" not in part["placements"] for each in west["workloads"] for part in each["parts"])


@pytest.mark.parametrize(
    "words",
    [
        ["--lose", "zone=eu-west-a"],
        ["--add-nodes", "2", "--like", "west-spot-1"],
        ["--scale", "deploy/shop/web=30"],
        ["--weight", "ns/analytics=5"],
    ],
)
def test_what_if_options_draw_a_comparison(words: list[str]) -> None:
    """Each what-if ends in a sum that a person reads."""
    done = fairlead("plan", "-f", str(SHOP), *words, "-o", "table")
    assert done.returncode in (0, 1)
    assert "moves;" in done.stdout.decode()


def test_upgrade_drains_each_zone_in_turn() -> None:
    """One line a zone, and the worst of them."""
    record = planned("-f", str(SHOP), "--upgrade")
    assert set(record["zones"]) == {"eu-west-a", "eu-west-b", "eu-north-a"}
    assert record["worst"] == max(record["zones"].values())
    done = fairlead("plan", "-f", str(SHOP), "--upgrade", "-o", "table")
    assert "while a zone is away" in done.stdout.decode()


def test_diff_of_a_plan_and_its_manifests_is_empty(tmp_path: Path) -> None:
    """The plan of the manifests is the plan that was saved."""
    saved = tmp_path / "plan.json"
    saved.write_text(json.dumps(planned("-f", str(SHOP))))
    done = fairlead("diff", str(saved), str(SHOP), "-o", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["workloads"] == []
    saved.write_text('{"sites": [{}]}')
    refused = fairlead("diff", str(saved), str(SHOP))
    assert refused.returncode == 2
    assert "is not a whole plan" in refused.stderr.decode()


def test_plan_reads_standard_input_and_prints_yaml() -> None:
    """What kubectl prints can be piped in; YAML comes out."""
    text = b"\n---\n".join(path.read_bytes() for path in sorted(SHOP.glob("*.yaml")))
    done = fairlead("plan", "-f", "-", "-o", "yaml", stdin=text)
    assert done.returncode == 1
    assert done.stdout.startswith(b"fleet:\n")


def test_plan_of_kinds_that_nobody_plans_says_so(tmp_path: Path) -> None:
    """Unknown kinds are counted, and an input with nothing else is an error."""
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Service\nmetadata: {name: x}\n")
    done = fairlead("plan", "-f", str(tmp_path))
    assert done.returncode == 2
    assert "no object that a plan can use" in done.stderr.decode()


def test_plan_of_an_empty_cluster_leaves_everything_waiting(tmp_path: Path) -> None:
    """No nodes at all: replicas wait, and the reason says so."""
    (tmp_path / "a.json").write_text(
        json.dumps(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "shop"},
                "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}},
            }
        )
    )
    done = fairlead("plan", "-f", str(tmp_path), "-o", "json")
    assert done.returncode == 1
    (only,) = json.loads(done.stdout)["sites"][0]["workloads"]
    assert only["unplaced"] == 2
    assert only["findings"]


def test_plan_as_manifests_has_what_would_be_written(tmp_path: Path) -> None:
    """Clusters of a divided workload, a Binding for a waiting pod, a disk for a storage replica; nothing else."""
    shutil.copytree(SHOP, tmp_path / "shop")
    (tmp_path / "shop" / "waiting.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: lone\n  namespace: shop\n"
        "  annotations: {resource.karmada.io/cached-from-cluster: north}\n"
        "spec:\n  containers: [{name: c, resources: {requests: {cpu: 100m}}}]\n"
    )
    done = fairlead("plan", "-f", str(tmp_path / "shop"), "-o", "manifests")
    objects = list(yaml.safe_load_all(done.stdout))
    assert done.returncode == 1
    bindings = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "ResourceBinding"}
    assert sum(cluster["replicas"] for cluster in bindings["web-deployment"]["clusters"]) == 14
    (bound,) = [each for each in objects if each["kind"] == "Binding"]
    assert bound["metadata"]["name"] == "lone"
    assert bound["target"]["name"].startswith("north-")
    replicas = {each["metadata"]["name"]: each["spec"] for each in objects if each["kind"] == "Replica"}
    assert set(replicas) == {"cart-data-r-a", "cart-data-r-b", "cart-data-r-c"}
    assert replicas["cart-data-r-a"]["diskID"] == f"{replicas['cart-data-r-a']['nodeID']}-bulk-uuid"


@pytest.mark.parametrize(
    "other",
    [
        {"spec": {"nodeName": "a"}},
        {"status": {"phase": "Succeeded"}},
        {"spec": {"schedulingGates": [{"name": "later"}]}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
    ],
    ids=["runs", "has ended", "is gated", "is being deleted"],
)
def test_only_pods_that_wait_get_a_binding(other: dict[str, Any], tmp_path: Path) -> None:
    """Two places for new replicas; of the two pods that are there, the first waits for no node."""
    first, second = (clusters.pod(name, "", "Deployment/web") for name in ("web-1", "web-2"))
    for part, more in other.items():
        first[part] = {**first.get(part, {}), **more}
    web = clusters.keeper("Deployment", "web", replicas=3)
    folder = clusters.Folder(tmp_path, clusters.node("a"), web, first, second)
    objects = list(yaml.safe_load_all(folder.run("plan", "-o", "manifests").stdout))
    assert [each["metadata"]["name"] for each in objects if each["kind"] == "Binding"] == ["web-2"]


def test_of_two_workloads_the_older_has_its_turn_first(tmp_path: Path) -> None:
    """Room for one; the younger comes first in the manifests and by name."""
    first, second = (clusters.keeper("Deployment", name, replicas=1) for name in ("a", "b"))
    first["metadata"]["creationTimestamp"] = "2026-01-02T00:00:00Z"
    second["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    placed = clusters.Folder(tmp_path, clusters.node("n", "1"), first, second).placed()
    assert placed == {"shop/a": {}, "shop/b": {"n": 1}}
