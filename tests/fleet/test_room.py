"""Room from what clusters report: sums, and grades of nodes."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.fleet import binding_ask
from fairlead.kube.codec.members import unreadable
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.levels.fleet.room import Grade, Part, holds_set, room_of, sum_of

GIB = 2**30
PODS = {"pods": 100}
GRADES = (
    Grade(nodes=5, least={"cpu": 0, "memory": 0}),
    Grade(nodes=3, least={"cpu": 1000, "memory": GIB}),
    Grade(nodes=2, least={"cpu": 4000, "memory": 16 * GIB}),
)

CASES = {
    "every node counts with the least of its grade": ({"cpu": 1000}, 3 * 1 + 2 * 4),
    "a node that may be too small does not count": ({"cpu": 1500}, 2 * 2),
    "the tightest resource of each grade": ({"cpu": 1000, "memory": 8 * GIB}, 2 * 2),
    "no grade is large enough": ({"cpu": 5000}, 0),
    "pods are the limit": ({"cpu": 10}, 100),
    "what is not asked for does not matter": ({"cpu": 0, "memory": 16 * GIB}, 2),
    "a resource no grade tells of: the sums decide": ({"cpu": 1000, "gpu": 1}, 7),
    "nothing is asked for: pods alone": ({}, 100),
}


@pytest.mark.parametrize(("request_", "room"), CASES.values(), ids=CASES)
def test_room_by_grades(request_: dict[str, int], room: int) -> None:
    """Node by node where the grades can tell, as Karmada estimates it."""
    sums = {**PODS, "cpu": 900_000, "memory": 900 * GIB, "gpu": 7}
    assert room_of(sums, {}, {}, request_, GRADES) == room


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), min_size=1, max_size=5),
    st.integers(1, 10),
)
def test_grades_never_promise_more_than_their_nodes_hold(grades: list[tuple[int, int]], cpu: int) -> None:
    """The plain count: each node by itself, whole replicas only, as many as pods allow."""
    nodes = [least for count, least in grades for _ in range(count)]
    found = room_of(PODS, {}, {}, {"cpu": cpu}, [Grade(nodes=count, least={"cpu": least}) for count, least in grades])
    assert found == min(100, sum(least // cpu for least in nodes))


def cluster(minimum: str) -> KarmadaCluster:
    """One cluster with two grades of nodes."""
    models = [
        {"grade": 0, "ranges": [{"name": "cpu", "min": "0", "max": minimum}]},
        {"grade": 1, "ranges": [{"name": "cpu", "min": minimum, "max": "64"}]},
    ]
    modelings = [{"grade": 1, "count": 3}, {"grade": 0, "count": 9}]
    summary = {"allocatable": {"pods": "50", "cpu": "90"}, "allocatableModelings": modelings}
    body = {"metadata": {"name": "a"}, "spec": {"resourceModels": models}, "status": {"resourceSummary": summary}}
    return msgspec.convert(body, KarmadaCluster)


def binding(cpu: str) -> ResourceBinding:
    """Six replicas that ask for so much."""
    spec = {"replicas": 6, "placement": {}, "replicaRequirements": {"resourceRequest": {"cpu": cpu}}}
    return msgspec.convert({"metadata": {"name": "b"}, "spec": spec}, ResourceBinding)


def test_resource_models_of_a_karmada_cluster_are_read() -> None:
    """Three nodes with 4 cpu at least hold two replicas of 2 cpu each, whatever the sum says."""
    assert binding_ask(binding("2"), [cluster("4")]).clusters.capacity.tolist() == [6]
    assert binding_ask(binding("5"), [cluster("4")]).clusters.capacity.tolist() == [0]


def test_bad_model_is_told_with_its_place() -> None:
    """The amount that cannot be read."""
    assert binding_ask(binding("2"), [cluster("much")]).clusters.capacity.tolist() == [-1]
    assert "Cluster a: spec.resourceModels.cpu.min" in str(unreadable(cluster("much")))


def part(replicas: int, **request: int) -> Part:
    return Part(replicas=replicas, request=request)


SMALL, LARGE = Grade(nodes=2, least={"cpu": 2, "memory": 4}), Grade(nodes=1, least={"cpu": 8, "memory": 8})


@pytest.mark.parametrize(
    ("parts", "fits"),
    [
        ([part(1, cpu=8)], True),
        ([part(1, cpu=9)], False),
        ([part(2, cpu=6)], False),
        ([part(4, cpu=1), part(1, cpu=8)], True),
        ([part(5, cpu=1), part(1, cpu=8)], False),
        ([part(2, cpu=2, memory=4), part(2, cpu=4, memory=4)], True),
        ([part(2, cpu=2, memory=4), part(2, cpu=4, memory=5)], False),
        ([part(99), part(1, cpu=8)], True),
        ([part(9, disk=5)], True),
    ],
)
def test_set_fits_the_nodes_that_grades_promise(parts: list[Part], fits: bool) -> None:
    """The large one goes first, whatever the order; pods are for the sums; a resource of no grade is not told of."""
    for grades in ([SMALL, LARGE], [LARGE, SMALL]):
        assert holds_set(grades, parts) == holds_set(grades, parts[::-1]) == fits
    assert holds_set([], parts)


def test_set_shares_a_node_and_asks_nodes_for_what_grades_tell_of_only() -> None:
    """What one component leaves of a node is for the next; a set that asks for pods alone is not for the grades."""
    assert holds_set([LARGE], [part(1, cpu=5), part(1, cpu=3)])
    assert holds_set([LARGE], [part(1, cpu=3), part(1, cpu=5)])
    assert not holds_set([LARGE], [part(1, cpu=5), part(1, cpu=4)])
    assert holds_set([Grade(nodes=0, least={"cpu": 8})], [part(3)])


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4)), min_size=1, max_size=3),
)
def test_set_that_is_let_in_fits_node_by_node(nodes: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    """Against every way to place it; one component alone is let in wherever it fits."""
    grades = [Grade(nodes=count, least={"cpu": cpu}) for count, cpu in nodes]
    parts = [part(replicas, cpu=cpu) for replicas, cpu in asked]
    sizes = [each.request["cpu"] for each in parts for _ in range(each.replicas)]
    fits = packs(sorted(sizes, reverse=True), [cpu for count, cpu in nodes for _ in range(count)])
    assert fits or not holds_set(grades, parts)
    assert holds_set(grades, parts) == fits or len(parts) > 1


def packs(sizes: list[int], free: list[int]) -> bool:
    """Whether the sizes fit the nodes in any way."""
    if not sizes:
        return True
    places = [n for n, room in enumerate(free) if room >= sizes[0]]
    return any(packs(sizes[1:], [*free[:n], free[n] - sizes[0], *free[n + 1 :]]) for n in places)


def test_sum_of_a_set_counts_pods_and_every_request() -> None:
    """Replicas times request, component by component."""
    assert sum_of([part(2, cpu=3), part(1, cpu=1, gpu=4), part(3)]) == {"pods": 6, "cpu": 7, "gpu": 4}
