"""`fairlead place` from the outside: problems, manifests, forms of output, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fairlead.cli.main import cli
from fairlead.model.errors import InputError

NODES = [{"name": "node10", "count": 1, "capacity": 5}, {"name": "node2", "capacity": 5}, {"name": "c"}]
SHOP = Path(__file__).parents[2] / "examples" / "shop"


def run(problem: Any, *options: str) -> Result:
    """The command on a problem given on standard input."""
    text = problem if isinstance(problem, str) else json.dumps(problem)
    return CliRunner().invoke(cli, ["place", "-f", "-", *options], input=text, standalone_mode=False)


def answer(problem: Any, *options: str) -> dict[str, Any]:
    """The JSON answer."""
    result = run(problem, "-o", "json", *options)
    assert result.exception is None, result.exception
    return dict(json.loads(result.stdout))


def refused(problem: Any, *options: str) -> str:
    """The message of a refusal."""
    result = run(problem, *options)
    assert isinstance(result.exception, InputError), result
    return str(result.exception)


def test_answer_has_placements_capacity_and_nothing_unplaced() -> None:
    """Names in natural order; unlimited capacity is null; zeros are left out."""
    found = answer({"count": 3, "nodes": NODES})
    assert found["placements"] == {"c": 2, "node2": 1}, "the third goes to the node with most capacity"
    assert list(found["capacity"].items()) == [("c", None), ("node2", 5), ("node10", 5)]
    assert (found["unplaced"], found["reason"]) == (0, None)
    assert found["trace"]["considered"] == 3


def test_pins_name_cores_and_volumes() -> None:
    """One entry a replica: pieces by core, bytes by volume, and which mount lies where."""
    node = {"name": "n", "cpu": {"0": 100, "1": 50}, "volumes": {"/a": 100}}
    problem = {"request": {"cpu": 1.5, "bindCpu": True, "volumes": ["AUTO:/d:rw:60"]}, "nodes": [node]}
    assert answer(problem)["pins"] == {
        "n": [{"cpu": {"0": 100, "1": 50}, "volumes": {"/a": 60}, "mounts": {"AUTO:/d:rw:60": {"/a": 60}}}]
    }


def test_all_plans_are_listed_on_request() -> None:
    """Every replica that would fit, not only those placed; nothing where capacity is unlimited."""
    nodes = [{"name": "n", "cpu": {"0": 0, "1": 100, "2": 100}}, {"name": "m", "cpu": {"0": 0}}]
    problem = {"count": 1, "plans": "all", "request": {"cpu": 1, "bindCpu": True}, "nodes": nodes}
    assert answer(problem)["plans"] == {"m": [], "n": [{"cpu": {"1": 100}}, {"cpu": {"2": 100}}]}
    unlimited = {"plans": "all", "request": {"volumes": ["AUTO:/d:rw"]}, "nodes": [{"name": "n", "volumes": {"/a": 1}}]}
    assert answer(unlimited)["plans"] == {"n": []}


def test_exit_code_tells_whether_everything_is_placed() -> None:
    """0 placed; 1 unplaced or already so, with the answer printed all the same."""
    assert run({"count": 1, "nodes": NODES}, "-o", "json").return_value == 0
    short = run({"count": 11, "nodes": NODES[:2]}, "-o", "json")
    assert short.return_value == 1
    told = json.loads(short.stdout)
    assert (told["reason"], told["missing"], told["unplaced"], told["cure"]) == ("InsufficientCapacity", 1, 11, "room")
    filled = run({"strategy": "fill", "count": 1, "nodesLimit": 1, "nodes": NODES[:1]}, "-o", "json")
    assert (filled.return_value, json.loads(filled.stdout)["reason"]) == (1, "AlreadyFilled")


def test_partial_places_what_fits() -> None:
    """Ten of eleven."""
    found = answer({"count": 11, "partial": True, "nodes": NODES[:2]})
    assert (found["placements"], found["unplaced"]) == ({"node2": 5, "node10": 5}, 1)


def test_usage_is_read_as_the_decimal_it_was_written_as() -> None:
    """0.1 + 0.2 is 0.3 here, so the tie goes to the name."""
    nodes = [
        {"name": "b", "usage": 0.1, "rate": 0.2, "capacity": 9},
        {"name": "a", "usage": "0.2", "rate": 0.1, "capacity": 9},
    ]
    assert answer({"strategy": "global-greedy", "count": 1, "nodes": nodes})["placements"] == {"a": 1}


def test_usage_is_derived_from_resources() -> None:
    """The highest share of any resource: node a is half used by memory, b by a quarter."""
    nodes = [
        {"name": "a", "memory": 50, "cpu": 8, "total": {"memory": 100, "cpu": 8}},
        {"name": "b", "memory": 75, "cpu": 8, "total": {"memory": 100, "cpu": 8}},
    ]
    found = answer({"strategy": "global-greedy", "count": 3, "request": {"memory": 10}, "nodes": nodes})
    assert found["placements"] == {"b": 3}
    cores = [{"name": "a", "cpu": {"0": 0, "1": 100}}, {"name": "b", "cpu": {"0": 100, "1": 100}}]
    bound = {"strategy": "global", "count": 1, "request": {"cpu": 1, "bindCpu": True}, "nodes": cores}
    assert answer(bound)["placements"] == {"b": 1}


def test_resize_answers_with_the_new_pin() -> None:
    """`current` turns the question into a resize on the replica's own node."""
    problem = {
        "request": {"cpu": 2, "bindCpu": True, "memory": 7},
        "nodes": [{"name": "m"}, {"name": "n", "cpu": {"0": 0, "1": 70, "2": 0}, "memory": 5}],
        "current": {"node": "n", "cpu": {"0": 100, "1": 30, "2": 40}, "memory": 2, "numa": 0},
    }
    found = answer(problem)
    assert (found["placements"], found["pins"]) == ({"n": 1}, {"n": [{"cpu": {"0": 100, "1": 100}}]})
    problem["nodes"][1]["memory"] = 4  # type: ignore[index]
    short = run(problem, "-o", "json")
    assert (short.return_value, json.loads(short.stdout)["reason"]) == (1, "InsufficientCapacity")
    assert "keeps its size" in run(problem, "-o", "json", "--explain").stdout
    assert "InsufficientCapacity" in run(problem, "-o", "table").stdout


def test_resize_of_volumes_is_drawn_and_told() -> None:
    """Where each mount lies."""
    problem = {
        "request": {"volumes": ["AUTO:/d:rw:60"]},
        "nodes": [{"name": "n", "volumes": {"/a": {"free": 10, "total": 100}}}],
        "current": {"node": "n", "volumes": {"AUTO:/d:rw:50": {"/a": 50}}},
    }
    assert answer(problem)["pins"]["n"][0]["volumes"] == {"/a": 60}
    assert "AUTO:/d:rw:60 on /a" in run(problem, "-o", "table").stdout
    assert "AUTO:/d:rw:60 is on /a." in answer(problem, "--explain")["explanation"]


BAD = {
    "an unknown field": ({"nodes": [], "cont": 3}, "cont"),
    "count 0": ({"count": 0, "nodes": NODES}, "$.count"),
    "a negative limit": ({"nodesLimit": -1, "nodes": NODES}, "$.nodesLimit"),
    "a name twice": ({"nodes": [NODES[0], NODES[0]]}, "$.nodes[1].name"),
    "negative capacity": ({"nodes": [{"name": "a", "capacity": -1}]}, "$.nodes[0].capacity"),
    "a negative count": ({"nodes": [{"name": "a", "count": -1}]}, "$.nodes[0].count"),
    "negative memory": ({"nodes": [{"name": "a", "memory": -1}]}, "$.nodes[0].memory"),
    "negative pieces": ({"nodes": [{"name": "a", "cpu": {"0": -1}}]}, "$.nodes[0].cpu.0"),
    "a usage that is none": ({"nodes": [{"name": "a", "usage": "half"}]}, "$.nodes[0].usage"),
    "a usage that is no number": ({"nodes": [{"name": "a", "usage": "NaN"}]}, "$.nodes[0].usage"),
    "a usage that is endless": ({"nodes": [{"name": "a", "usage": "inf"}]}, "$.nodes[0].usage"),
    "a usage too small to hold": ({"nodes": [{"name": "a", "usage": "1e-999"}]}, "$.nodes[0].usage"),
    "a negative rate": ({"nodes": [{"name": "a", "rate": -0.1}]}, "$.nodes[0].rate"),
    "no such plans": ({"plans": "some", "nodes": NODES}, "$.plans"),
    "no such strategy": ({"strategy": "spread", "nodes": NODES}, "$.strategy"),
    "bound cpu on a quantity": (
        {"request": {"cpu": 1, "bindCpu": True}, "nodes": [{"name": "a", "cpu": 4}]}, "$.nodes[0].cpu",
    ),
    "bound cpu of nothing": ({"request": {"bindCpu": True}, "nodes": []}, "$.request.cpu"),
    "a share base of 0": ({"request": {"shareBase": 0}, "nodes": []}, "$.request.shareBase"),
    "a fragment limit of -2": ({"request": {"maxShare": -2}, "nodes": []}, "$.request.maxShare"),
    "a volume with more free than it has": (
        {"nodes": [{"name": "a", "volumes": {"/a": {"free": 2, "total": 1}}}]}, "$.nodes[0].volumes./a",
    ),
    "NUMA of a core that is not there": ({"nodes": [{"name": "a", "numa": {"0": 0}}]}, "$.nodes[0].numa.0"),
    "memory of a NUMA node without cores": (
        {"nodes": [{"name": "a", "numaMemory": {"0": 5}}]}, "$.nodes[0].numaMemory.0",
    ),
    "NUMA memory above the node's": (
        {"nodes": [{"name": "a", "cpu": {"0": 1}, "numa": {"0": 0}, "memory": 4, "numaMemory": {"0": 5}}]},
        "$.nodes[0].numaMemory",
    ),
    "a filter that is none": ({"nodes": [{"name": "a", "excluded": "Because"}]}, "$.nodes[0].excluded"),
    "a resize on no node": ({"nodes": [], "current": {"node": "x"}}, "$.current.node"),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "path"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_refused_with_its_place(problem: dict[str, Any], path: str) -> None:
    """One line, with the JSON path."""
    assert path in refused(problem)


def test_many_problems_answer_line_by_line() -> None:
    """A bad one yields a record of its own, the others go on, the exit code is the highest."""
    lines = "\n".join(json.dumps(each) for each in ({"nodes": NODES}, {"count": 0}, {"count": 99, "nodes": NODES[:1]}))
    result = run(lines, "-o", "json")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.return_value == 2
    assert [each.get("reason", each.get("error")) for each in answers] == [
        None,
        {"path": "-:2: $.count", "message": "0 replicas; expected from 1 to 1000000000000"},
        "InsufficientCapacity",
    ]


def test_picture_draws_old_and_new_replicas() -> None:
    """Bars to one scale, and the reason below where something is unplaced."""
    drawn = run({"count": 2, "nodes": NODES[:2]}, "-o", "table").stdout
    assert "2 of 2 replicas placed on 1 node by auto" in drawn
    assert "▒" in drawn
    assert "█" in drawn
    short = run({"count": 99, "nodes": NODES[:2]}, "-o", "table").stdout
    assert "99 unplaced: 89 of 99 replicas do not fit: 10 fit on 2 of 2 nodes (InsufficientCapacity)" in short


def test_picture_of_many_nodes_is_cut() -> None:
    """Nodes that got something first, the rest in sum."""
    nodes = [{"name": f"n{row}", "capacity": 3} for row in range(100)]
    drawn = run({"count": 200, "nodes": nodes}, "-o", "table").stdout
    assert "… and 80 new replicas on 40 other nodes" in drawn


def test_manifests_give_nodes_pods_and_the_workload() -> None:
    """Allocatable less what pods ask for; replicas of the workload that run are counted where they run."""
    options = ["--pods", str(SHOP / "running.yaml"), "--pods", str(SHOP / "store.yaml"), "--workload", "shop/web"]
    result = CliRunner().invoke(
        cli, ["place", "-f", str(SHOP / "nodes-west.yaml"), *options, "-o", "json"], standalone_mode=False
    )
    assert result.exception is None
    found = json.loads(result.stdout)
    assert found["unplaced"] == 0
    assert found["capacity"]["west-od-1"] == 8
    assert "west-od-1" not in found["placements"], "it holds two already, the others none"


def node(name: str, **spec: Any) -> dict[str, Any]:
    """A manifest of a node with two cores."""
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec,
        "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10", "example.com/fpga": "1"}},
    }  # fmt: skip


def deployment(name: str, replicas: int, **spec: Any) -> dict[str, Any]:
    """A manifest of a deployment whose pods ask for half a core."""
    containers = [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **spec}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }  # fmt: skip


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    """Manifests as kubectl prints several."""
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def test_manifests_with_a_request_by_option() -> None:
    """No workload needed; a cordoned node is ruled out with its reason."""
    problem = listed(node("a"), node("b", unschedulable=True))
    found = answer(problem, "--cpu", "500m", "--memory", "1Gi", "--count", "3", "--strategy", "drained", "--partial")
    assert (found["placements"], found["capacity"]) == ({"a": 3}, {"a": 4, "b": 0})
    assert found["trace"]["rejected"] == [{"reason": "NodeUnschedulable", "count": 1, "names": ["b"]}]


def test_manifests_with_one_workload_place_what_it_lacks() -> None:
    """Replicas that run already are not placed again."""
    owner = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u", "controller": True}]
    pod = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-1", "namespace": "shop", "ownerReferences": owner},
        "spec": {"nodeName": "a", "containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
    }  # fmt: skip
    found = answer(listed(node("a"), node("b"), deployment("web", 4), pod))
    assert (found["placements"], found["capacity"]) == ({"a": 1, "b": 2}, {"a": 3, "b": 4})


UNCLEAR = {
    "no nodes": (listed(deployment("web", 1)), "no Node"),
    "two workloads": (listed(node("a"), deployment("web", 1), deployment("api", 1)), "choose one with --workload"),
    "no workload": (listed(node("a")), "--cpu"),
    "nothing lacks": (listed(node("a"), deployment("web", 0)), "run already"),
    "rules about neighbours": (
        listed(node("a"), deployment("web", 1, containers=[{"name": "c", "ports": [{"hostPort": 80}]}])),
        "fairlead plan",
    ),
}  # fmt: skip


def test_a_broken_object_is_told_and_the_others_are_used() -> None:
    """The answer is that without it; the exit code says that it was not read, unless that is all right."""
    broken = {**node("a"), "spec": {"unschedulable": "perhaps"}}
    given = listed(broken, node("b"))
    done = run(given, "--count", "1", "--cpu", "1", "-o", "json")
    assert (done.exit_code or done.return_value, json.loads(done.stdout)["placements"]) == (2, {"b": 1})
    assert "spec.unschedulable: expected bool, got str" in done.stderr
    assert run(given, "--count", "1", "--cpu", "1", "--keep-going").return_value == 0


@pytest.mark.parametrize(("problem", "said"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_manifests_that_leave_the_question_open_are_refused(problem: dict[str, Any], said: str) -> None:
    """One line says what is missing."""
    assert said in refused(problem)


def test_options_for_manifests_do_not_go_with_a_problem() -> None:
    """A problem says all that itself; silence would mislead."""
    assert "the options are for manifests" in refused({"nodes": NODES}, "--count", "3")


def test_directory_is_read_as_manifests(tmp_path: Path) -> None:
    """Every file in it."""
    (tmp_path / "nodes.json").write_text(json.dumps(node("a")))
    (tmp_path / "web.json").write_text(json.dumps(deployment("web", 2)))
    result = CliRunner().invoke(cli, ["place", "-f", str(tmp_path), "-o", "json"], standalone_mode=False)
    assert result.exception is None
    assert json.loads(result.stdout)["placements"] == {"a": 2}


def test_nodes_of_several_clusters_are_refused() -> None:
    """Placing across clusters is the fleet's business."""
    mark = "resource.karmada.io/cached-from-cluster"
    nodes = [node(name) for name in ("a", "b")]
    for each, cluster in zip(nodes, ("west", "north"), strict=True):
        each["metadata"]["annotations"] = {mark: cluster}
    assert "several clusters (north, west)" in refused(listed(*nodes), "--cpu", "1", "--count", "1")
