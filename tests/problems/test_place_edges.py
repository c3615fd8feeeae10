"""The edges of what `place` accepts: the last value that is allowed and the first that is not, with its place."""

from typing import Any

import pytest

from fairlead.model.errors import InputError
from fairlead.problems import place
from fairlead.text.documents import strict

MOST = 10**12


def solved(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer."""
    problem = strict(value, place.PlaceProblem)
    return place.answer(problem, place.solve(problem))


def node(**fields: Any) -> dict[str, Any]:
    """A problem of one node."""
    return {"nodes": [{"name": "n", **fields}]}


def request(**fields: Any) -> dict[str, Any]:
    """A problem of one request on one node."""
    return {"request": fields, "nodes": [{"name": "n"}]}


ALLOWED = {
    "one replica": {"count": 1, **node()},
    "the most replicas": {"count": MOST, **node()},
    "the largest limit": {"nodesLimit": 2**63 - 1, **node()},
    "the most replicas that are there": node(count=MOST),
    "a share base of one": request(shareBase=1),
    "the largest share base": request(shareBase=10**6),
    "no limit of shared cores": request(maxShare=-1),
    "no shared core": request(maxShare=0),
    "a limit of shared cores that no column holds": {
        "request": {"cpu": "0.5", "bindCpu": True, "maxShare": 2**63},
        "nodes": [{"name": "n", "cpu": {"0": 100}}],
    },
    "room for nothing": {**node(capacity=0), "partial": True},
    "a core without pieces": {**node(cpu={"0": 0}), "partial": True},
    "a core of very many pieces": node(cpu={"0": 2**40}),
    "a volume that is all free": node(volumes={"/a": {"free": 5, "total": 5}}),
    "memory of NUMA nodes that is all of it": node(cpu={"0": 100}, memory=8, numa={"0": "a"}, numaMemory={"a": 8}),
    "a usage of nothing": node(usage=0),
    "a very small rate": node(rate="2e-60"),
    "64 characters": node(usage=f"0.{'1' * 62}"),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_the_last_value_that_is_allowed(name: str) -> None:
    """Is solved, whatever comes of it."""
    assert "placements" in solved(ALLOWED[name])


REFUSED = {
    "no replica": ({"count": 0, **node()}, "$.count"),
    "too many replicas": ({"count": MOST + 1, **node()}, "$.count"),
    "a limit that no column holds": ({"nodesLimit": 2**63, **node()}, "$.nodesLimit"),
    "a node without a name": ({"nodes": [{"name": ""}]}, "$.nodes[0].name"),
    "fewer than none there": (node(count=-1), "$.nodes[0].count"),
    "too many there": (node(count=MOST + 1), "$.nodes[0].count"),
    "no share base": (request(shareBase=0), "$.request.shareBase"),
    "too large a share base": (request(shareBase=10**6 + 1), "$.request.shareBase"),
    "a limit below none": (request(maxShare=-2), "$.request.maxShare"),
    "a negative capacity": (node(capacity=-1), "$.nodes[0].capacity"),
    "negative pieces": (node(cpu={"0": -1}), "$.nodes[0].cpu.0"),
    "too many pieces": (node(cpu={"0": 2**40 + 1}), "$.nodes[0].cpu.0"),
    "more free than there is": (node(volumes={"/a": {"free": 6, "total": 5}}), "$.nodes[0].volumes./a"),
    "NUMA nodes with more memory than the node": (
        node(cpu={"0": 100}, memory=8, numa={"0": "a"}, numaMemory={"a": 9}),
        "$.nodes[0].numaMemory",
    ),
    "a NUMA node without cores": (node(cpu={"0": 1}, numa={"0": 0}, numaMemory={"1": 1}), "$.nodes[0].numaMemory.1"),
    "a core that is not there": (node(cpu={"0": 1}, numa={"1": "a"}), "$.nodes[0].numa.1"),
    "a negative usage": (node(usage=-0.1), "$.nodes[0].usage"),
    "an endless usage": (node(usage="inf"), "$.nodes[0].usage"),
    "a usage that is no number": (node(usage="much"), "$.nodes[0].usage"),
    "too small a rate": (node(rate="1e-60"), "$.nodes[0].rate"),
    "too large a rate": (node(rate="1e9"), "$.nodes[0].rate"),
    "65 characters": (node(usage=f"0.{'1' * 63}"), "$.nodes[0].usage"),
    "plans of another word": ({"plans": "some", **node()}, "$.plans"),
    "a filter that is none": (node(excluded="NoSuchReason"), "$.nodes[0].excluded"),
    "bound cpu on a node that tells no cores apart": (
        {"request": {"cpu": 1, "bindCpu": True}, **node(cpu=4)},
        "$.nodes[0].cpu",
    ),
    "a replica of a node that is not there": ({"current": {"node": "m"}, **node()}, "$.current.node"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_the_first_value_that_is_not(name: str) -> None:
    """Is refused with the place of the mistake."""
    problem, path = REFUSED[name]
    with pytest.raises(InputError) as caught:
        solved(problem)
    assert caught.value.path == path


def test_a_node_known_by_nothing_is_unlimited_and_one_by_null_too() -> None:
    """And one by a number is limited by it."""
    nodes = [{"name": "a"}, {"name": "b", "capacity": None}, {"name": "c", "capacity": 2}]
    assert solved({"nodes": nodes})["capacity"] == {"a": None, "b": None, "c": 2}


def test_plans_of_all_that_fit_stop_where_so_many_are_listed() -> None:
    """Two nodes of two cores each: every replica that would fit is named once."""
    nodes = [{"name": name, "cpu": {"0": 100, "1": 100}} for name in ("a", "b")]
    found = solved({"plans": "all", "request": {"cpu": 1, "bindCpu": True}, "nodes": nodes})
    assert found["plans"] == {name: [{"cpu": {"0": 100}}, {"cpu": {"1": 100}}] for name in ("a", "b")}


def test_plans_of_all_nodes_together_list_so_many_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first node has room for two, and of the second only the third replica is listed."""
    monkeypatch.setattr(place, "MOST_PINS", 3)
    nodes = [{"name": name, "cpu": {"0": 100, "1": 100}} for name in ("a", "b", "c")]
    plans = solved({"request": {"cpu": 1, "bindCpu": True}, "nodes": nodes, "plans": "all"})["plans"]
    assert {name: len(held) for name, held in plans.items()} == {"a": 2, "b": 1, "c": 0}
