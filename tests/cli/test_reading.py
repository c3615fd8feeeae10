"""The verbs on manifests read as `plan` reads: templates count, several files add up, neighbours are minded."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.model.errors import InputError

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*words: str) -> Result:
    """A command in this process."""
    return CliRunner().invoke(cli, list(words), standalone_mode=False)


def answer(*words: str) -> dict[str, Any]:
    """Its answer in JSON."""
    result = run(*words, "-o", "json")
    assert result.exception is None, result.exception
    return dict(json.loads(result.stdout))


def saved(path: Path, *items: dict[str, Any]) -> str:
    """Manifests in a file."""
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def node(name: str, cpu: str) -> dict[str, Any]:
    """A node that is told apart by its host name."""
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
    }  # fmt: skip


def pod(
    name: str, on: str = "", priority: int = 0, labels: dict[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    """A pod of Fairlead with one core."""
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "lab", "labels": labels or {}},
        "spec": {
            "schedulerName": "fairlead", "priority": priority, **({"nodeName": on} if on else {}),
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], **spec,
        },
    }  # fmt: skip


def away_from(app: str) -> dict[str, Any]:
    """Required anti-affinity to pods with this label, by host."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def test_share_and_plan_agree_on_jobs_that_have_no_pods_yet() -> None:
    """The jobs of the example exist as templates only: 48 of their 112 replicas wait, in both answers."""
    cluster = str(EXAMPLES / "gpu-queue" / "cluster")
    shared = answer("share", "-f", cluster)
    assert shared["unplaced"] == 48
    assert answer("plan", "-f", cluster)["unplaced"] == 48
    assert shared["jobs"]["research/sweep-3"]["pending"] == 8


def test_pods_that_are_there_are_not_counted_again(tmp_path: Path) -> None:
    """Of three replicas two pods are there: one more waits, and a node for three is enough."""
    job = {
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sum", "namespace": "lab"},
        "spec": {"parallelism": 3, "template": {"spec": pod("x")["spec"]}},
    }  # fmt: skip
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "sum", "controller": True}
    pods = [pod("sum-a", on="a"), pod("sum-b")]
    for each in pods:
        each["metadata"]["ownerReferences"] = [owner]
    enough = answer("share", "-f", saved(tmp_path / "a.json", node("a", "3"), job, *pods))
    assert (enough["unplaced"], enough["jobs"]["lab/sum"]["running"], enough["jobs"]["lab/sum"]["admitted"]) == (
        0,
        1,
        3,
    )
    assert answer("share", "-f", saved(tmp_path / "b.json", node("a", "2"), job, *pods))["unplaced"] == 1


def test_share_evicts_where_required_anti_affinity_lets_the_new_pod_run(tmp_path: Path) -> None:
    """Node a has a guard that the new pod must not meet: the victim is on node b, and the new pod goes there."""
    there = [
        node("a", "2"), node("b", "2"),
        pod("guard", on="a", priority=1000, labels={"app": "guard"}),
        pod("on-a", on="a"), pod("on-b", on="b", priority=5), pod("also-b", on="b", priority=6),
    ]  # fmt: skip
    minded = saved(tmp_path / "minded.json", *there, pod("new", priority=100, affinity=away_from("guard")))
    found = answer("share", "-f", minded, "--preempt")
    assert [each["pods"] for each in found["evictions"]] == [["lab/on-b"]]
    assert found["nodes"] == {"lab/new": {"b": 1}}
    free = saved(tmp_path / "free.json", *there, pod("new", priority=100))
    assert [each["pods"] for each in answer("share", "-f", free, "--preempt")["evictions"]] == [["lab/on-a"]]


def test_a_running_pod_that_refuses_others_is_heeded_too(tmp_path: Path) -> None:
    """Anti-affinity counts both ways: who runs already keeps the newcomer away."""
    lone = pod("lone", on="a", affinity=away_from("new"))
    given = saved(tmp_path / "both.json", node("a", "4"), lone, pod("new", labels={"app": "new"}))
    found = answer("share", "-f", given)
    assert found["unplaced"] == 1
    assert "1 TooNear" in found["jobs"]["lab/new"]["message"]


SHARED = '{"total":{"cpu":4},"jobs":[{"name":"%s","replicas":1,"request":{"cpu":1}}]}'


def test_several_files_of_problems_are_answered_in_order(tmp_path: Path) -> None:
    """One answer a problem, as from one file with two lines."""
    for name in "ab":
        (tmp_path / name).write_text(SHARED % name)
    done = run("share", "-f", str(tmp_path / "b"), "-f", str(tmp_path / "a"), "-o", "json")
    assert [list(json.loads(line)["jobs"]) for line in done.stdout.splitlines()] == [["b"], ["a"]]


@pytest.mark.parametrize("first", ["nodes", "pods"])
def test_several_files_of_manifests_add_up(first: str, tmp_path: Path) -> None:
    """Nodes in one file and pods in another, in whatever order, are one cluster for every verb."""
    files = {
        "nodes": saved(tmp_path / "nodes.json", node("a", "2")),
        "pods": saved(tmp_path / "pods.json", pod("p", on="a"), pod("q")),
    }
    words = [word for name in sorted(files, key=lambda name: name != first) for word in ("-f", files[name])]
    assert answer("share", *words)["jobs"]["lab/q"]["admitted"] == 1
    assert answer("place", *words, "--cpu", "1", "--count", "1")["placements"] == {"a": 1}
    assert answer("plan", *words)["unplaced"] == 0


def test_a_problem_beside_manifests_is_refused(tmp_path: Path) -> None:
    """They are two questions."""
    (tmp_path / "problem.json").write_text(SHARED % "a")
    done = run("share", "-f", saved(tmp_path / "nodes.json", node("a", "2")), "-f", str(tmp_path / "problem.json"))
    assert isinstance(done.exception, InputError)
    assert "problem.json: is a problem, and other files are manifests" in str(done.exception)
