"""Placements and resizes as sentences."""

from typing import Any

import pytest

from fairlead.engine.explain_node import lines
from fairlead.problems import place
from fairlead.text.documents import strict


def told(problem: dict[str, Any]) -> list[str]:
    """The explanation of the decision on a problem."""
    return list(lines(place.solve(strict(problem, place.PROBLEM))))


def nodes(*counts: int, **more: Any) -> list[dict[str, Any]]:
    """Nodes n0, n1 … of capacity 4 with these counts."""
    return [{"name": f"n{row}", "count": count, "capacity": 4, **more} for row, count in enumerate(counts)]


def test_capacity_is_told_by_resource_with_the_one_that_binds() -> None:
    """Every limited resource with its own number."""
    node = {"name": "n", "memory": 80, "cpu": {"0": 100, "1": 100}, "storage": 90}
    request = {"memory": 10, "storage": 30, "cpu": 1, "bindCpu": True}
    assert told({"request": request, "nodes": [node]})[-1] == (
        "n: 1 new, total 1; room for 2, bound by cores (by resource: memory 8, storage 3, cores 2)."
    )


def test_single_resource_and_no_limit_are_told_shortly() -> None:
    """Nothing to compare, nothing to list."""
    assert told({"request": {"memory": 10}, "nodes": [{"name": "n", "memory": 35}]})[-1] == (
        "n: 1 new, total 1; room for 3, bound by memory."
    )
    assert told({"nodes": [{"name": "n"}]})[-1] == "n: 1 new, total 1; room for any number."
    unlimited = {"request": {"volumes": ["AUTO:/a:rw"]}, "nodes": [{"name": "n", "volumes": {"/a": 1}}]}
    assert told(unlimited)[-1] == "n: 1 new, total 1; room for any number: nothing that is asked for is limited here."


def test_node_without_room_says_why() -> None:
    """By resource, or by the filter that ruled it out."""
    problem = {
        "request": {"memory": 10},
        "nodes": [{"name": "a", "memory": 9}, {"name": "b", "memory": 99, "excluded": "TaintNotTolerated"}],
    }
    found = told(problem)
    assert "a: none; no room: the node has not enough free memory for one replica (InsufficientMemory)." in found
    assert "b: none; no room: the node has a taint that the replica does not tolerate (TaintNotTolerated)." in found
    assert any(line.startswith("InsufficientCapacity: 1 of 1 replica does not fit") for line in found)
    assert any("1 node takes none" in line and "InsufficientMemory; a" in line for line in found)


WHY = {
    "auto": (
        {"strategy": "auto", "count": 5, "nodesLimit": 5, "nodes": nodes(3, 0, 5)},
        ["n0: 1 new beside 3, total 4", "n1: 4 new, full", "n2: none beside 5, at the limit of 5"],
    ),
    "auto among the highest": (
        {"strategy": "auto", "count": 1, "nodes": nodes(3, 0)},
        ["n0: none beside 3, among the highest already", "n1: 1 new, total 1"],
    ),
    "fill": (
        {"strategy": "fill", "count": 2, "nodesLimit": 2, "nodes": nodes(2, 1, 0)},
        ["n0: none beside 2, already holds 2", "n1: 1 new beside 1, brought up to 2", "n2: none, not needed"],
    ),
    "average": (
        {"strategy": "average", "count": 2, "nodesLimit": 1, "nodes": nodes(0, 0)},
        ["n0: 2 new", "n1: none, others have more room"],
    ),
    "drained": (
        {"strategy": "drained", "count": 5, "nodes": nodes(0, 0, 0)},
        ["n0: 4 new, used up", "n1: 1 new, the last one needed", "n2: none, has more room than needed"],
    ),
    "global": (
        {"strategy": "global", "count": 1, "nodes": [*nodes(0, usage=0.1, rate=0.05), {"name": "x", "usage": 0.5}]},
        ["n0: 1 new, used 10 % → 15 %", "x: none, used 50 %; with one more 50 %"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("problem", "want"), WHY.values(), ids=WHY.keys())
def test_why_a_node_got_this_many(problem: dict[str, Any], want: list[str]) -> None:
    """One phrase a strategy."""
    found = told(problem)
    assert problem["strategy"] in found[0]
    for start in want:
        assert any(line.startswith(start + ";") for line in found), found


def test_large_clusters_are_told_in_sum() -> None:
    """Forty nodes by name, the rest together."""
    found = told({"count": 100, "nodes": nodes(*[0] * 50)})
    assert len(found) == 42
    assert found[-1] == "… and 20 on 10 other nodes."


def test_packing_that_gave_up_is_told() -> None:
    """The bound is part of the explanation."""
    free = [135, 288, 126, 273, 289, 239, 122, 251, 208, 108, 107, 123]
    request = {"volumes": [f"AUTO:/d{size}:rw:{size}" for size in (61, 67, 74, 75, 77)]}
    node = {"name": "n", "volumes": {f"/v{row}": size for row, size in enumerate(free)}}
    found = told({"count": 5, "request": request, "nodes": [node]})
    assert any("gave up on 1 nodes; there at most 1 more replicas a node could fit" in line for line in found)
    assert found[0].startswith("5 of 5 replicas")


def test_many_rejected_nodes_are_named_in_part() -> None:
    """Three names and a sign that there are more."""
    found = told({"count": 1, "nodes": [{"name": f"n{row}", "capacity": 0} for row in range(5)] + nodes(0)[:0]})
    assert any("5 nodes take none" in line and "n0, n1, n2 …" in line for line in found)


def test_resize_tells_what_stays() -> None:
    """Pieces kept, the NUMA node, the volumes; or why it keeps its size."""
    node = {"name": "n", "cpu": {"0": 0, "1": 70}, "numa": {"0": 0, "1": 0}, "volumes": {"/a": 9}}
    current = {"node": "n", "cpu": {"0": 100, "1": 30}, "volumes": {"AUTO:/d:rw:1": {"/a": 1}}}
    request = {"cpu": 2, "bindCpu": True, "volumes": ["AUTO:/d:rw:5"]}
    assert told({"request": request, "nodes": [node], "current": current}) == [
        "The replica stays on n.",
        "It held 130 pieces and holds 200, 130 of them where they were, inside NUMA node 0.",
        "AUTO:/d:rw:5 is on /a.",
    ]
    refused = told({"request": request | {"cpu": 3}, "nodes": [node], "current": current})
    assert refused[0].startswith("The replica keeps its size:")
    plain = told({"request": {"memory": 1}, "nodes": [{"name": "n", "memory": 1}], "current": {"node": "n"}})
    assert plain == ["The replica stays on n."]
