"""What holds for every placement: never too many, nothing lost, nothing that depends on the order of the input."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.node.strategies import BY_NAME
from fairlead.problems import place
from fairlead.problems.rooms import NodeInput
from fairlead.text.documents import strict

amounts = st.integers(0, 2000)
cores = st.dictionaries(st.sampled_from(["0", "1", "2", "10", "11"]), st.sampled_from([0, 30, 70, 100, 200]))
volumes = st.dictionaries(st.sampled_from(["/a", "/b", "/c"]), st.integers(0, 500), max_size=3)
requests = st.fixed_dictionaries(
    {},
    optional={
        "memory": st.integers(0, 300),
        "cpu": st.sampled_from([0.3, 0.5, 1, 1.7, 2]),
        "bindCpu": st.just(True),
        "volumes": st.lists(st.sampled_from(["AUTO:/x:rw:100", "AUTO:/y:rwm:50", "AUTO:/z:rw:0"]), unique=True),
        "storage": st.integers(0, 300),
    },
).filter(lambda request: not request.get("bindCpu") or request.get("cpu"))


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Small clusters of nodes given by resources."""
    nodes = []
    for number in draw(st.lists(st.integers(0, 30), unique=True, max_size=5)):
        node = {"name": f"node{number}", "count": draw(st.integers(0, 5)), "memory": draw(amounts)}
        node |= {"cpu": draw(cores), "volumes": draw(volumes), "storage": draw(amounts)}
        nodes.append(node)
    return {
        "strategy": draw(st.sampled_from(sorted(BY_NAME))),
        "count": draw(st.integers(1, 20)),
        "nodesLimit": draw(st.integers(0, 6)),
        "partial": draw(st.booleans()),
        "request": draw(requests),
        "nodes": nodes,
    }


def solved(problem: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer."""
    typed = strict(problem, place.PROBLEM)
    return place.answer(typed, place.solve(typed))


@given(problems())
def test_never_above_capacity_or_limit_and_nothing_is_lost(problem: dict[str, Any]) -> None:
    """Per node no more than fits; placed and unplaced make up what was wanted; pins are one a replica."""
    answer = solved(problem)
    counts = {node["name"]: node["count"] for node in problem["nodes"]}
    for name, new in answer["placements"].items():
        capacity = answer["capacity"][name]
        assert capacity is None or new <= capacity
        if problem["strategy"] in ("communism", "auto") and problem["nodesLimit"]:
            assert counts[name] + new <= problem["nodesLimit"]
    if not BY_NAME[problem["strategy"]].per_node:
        assert sum(answer["placements"].values()) + answer["unplaced"] == problem["count"]
    assert (answer["reason"] == "InsufficientCapacity") == (answer["unplaced"] > 0)
    if answer["unplaced"] and not problem["partial"]:
        assert answer["placements"] == {}
    if problem["request"].get("bindCpu") or problem["request"].get("volumes"):
        assert {name: len(pins) for name, pins in answer.get("pins", {}).items()} == answer["placements"]


@given(problems())
def test_pins_of_all_replicas_stay_within_the_node(problem: dict[str, Any]) -> None:
    """Cores and volumes are never promised twice."""
    answer = solved(problem)
    nodes = {node["name"]: node for node in problem["nodes"]}
    for name, pins in answer.get("pins", {}).items():
        for core, free in nodes[name]["cpu"].items():
            assert sum(pin.get("cpu", {}).get(core, 0) for pin in pins) <= free
        for volume, free in nodes[name]["volumes"].items():
            assert sum(pin.get("volumes", {}).get(volume, 0) for pin in pins) <= free


@given(problems(), st.randoms(use_true_random=False))
def test_same_answer_for_any_order_of_the_input(problem: dict[str, Any], random: Any) -> None:
    """Nodes, cores and volumes in another order give the same bytes."""

    def shuffled(items: dict[str, Any]) -> dict[str, Any]:
        names = list(items)
        random.shuffle(names)
        return {name: items[name] for name in names}

    nodes = [shuffled(node) for node in problem["nodes"]]
    random.shuffle(nodes)
    nodes = [node | {"cpu": shuffled(node["cpu"]), "volumes": shuffled(node["volumes"])} for node in nodes]
    assert solved(problem) == solved(problem | {"nodes": nodes})


@given(problems())
def test_input_is_not_changed(problem: dict[str, Any]) -> None:
    """Solving twice gives the same, and the problem is what it was."""
    before = repr(problem)
    assert solved(problem) == solved(problem)
    assert before == repr(problem)


def test_node_spec_names_every_field_it_documents() -> None:
    """The fields of a node in the JSON, as documented."""
    assert {
        "name", "count", "capacity", "usage", "rate", "cpu", "memory", "storage", "pods", "extended", "volumes", "numa",
        "numaMemory", "total", "excluded",
    } == set(NodeInput.__struct_encode_fields__)  # fmt: skip
