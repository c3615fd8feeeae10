"""The scheduler's cache: after any storm of events its columns are those of a fresh list."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.kube.changes import Change
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.records import PodRecord, Records

RECORDS = Records()


def node(name: str, cpu: int = 4, **more: Any) -> Node:
    """A node."""
    labels, taints = more.get("labels", {}), more.get("taints", [])
    return msgspec.convert(
        {
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints, "unschedulable": more.get("cordoned", False)},
            "status": {"allocatable": {"cpu": str(cpu), "pods": "9", **more.get("extra", {})}},
        },
        Node,
    )


def pod(name: str, on: str = "", **more: Any) -> PodRecord:
    """A pod of the scheduler, as a record."""
    return RECORDS.record(
        msgspec.convert(
            {
                "metadata": {
                    "name": name,
                    "namespace": "shop",
                    "uid": more.get("uid", f"{name}-1"),
                    "labels": {"app": more.get("app", "web")},
                    **({"deletionTimestamp": "2026-01-01T00:00:00Z"} if more.get("leaving") else {}),
                    "ownerReferences": [{"kind": "ReplicaSet", "name": more.get("app", "web"), "controller": True}],
                },
                "spec": {
                    "nodeName": on,
                    "schedulerName": "fairlead",
                    "schedulingGates": [{"name": "g"}] if more.get("gated") else [],
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": more.get("cpu", "1")}}}],
                },
                "status": {"phase": more.get("phase", "Pending")},
            },
            Pod,
        )
    )


NODES, PODS = ("n1", "n2", "n3"), ("p1", "p2", "p3", "p4")
node_states = st.builds(
    lambda cpu, labels, taint, cordoned, extra: {
        "cpu": cpu,
        "labels": labels,
        "taints": [{"key": "k", "effect": "NoSchedule"}] if taint else [],
        "cordoned": cordoned,
        "extra": {f"example.com/device{extra}": "2"} if extra else {},
    },
    st.integers(0, 9),
    st.dictionaries(st.sampled_from(["zone", "tier"]), st.sampled_from("ab")),
    st.booleans(),
    st.booleans(),
    st.integers(0, 5),
)
pod_states = st.fixed_dictionaries(
    {
        "on": st.sampled_from(["", "", *NODES]),
        "phase": st.sampled_from(["Pending", "Running", "Succeeded"]),
        "leaving": st.booleans(),
        "gated": st.booleans(),
        "app": st.sampled_from(["web", "db"]),
        "cpu": st.sampled_from(["1", "2"]),
        "uid": st.sampled_from(["u1", "u2"]),
    }
)
events = st.lists(
    st.one_of(
        st.tuples(st.just("node"), st.sampled_from(NODES), st.none() | node_states),
        st.tuples(st.just("pod"), st.sampled_from(PODS), st.none() | pod_states),
        st.tuples(st.just("assume"), st.sampled_from(PODS), st.sampled_from(NODES)),
        st.tuples(st.just("forget"), st.sampled_from(PODS), st.none()),
    ),
    max_size=30,
)


@settings(max_examples=200)
@given(events)
def test_cache_after_a_storm_equals_a_fresh_list(storm: list[tuple[str, str, Any]]) -> None:
    """Whatever came in whatever order, the columns are those made anew of what is there."""
    cache, nodes, pods = Cache(), {}, {}
    for what, name, given_state in storm:
        if what == "node":
            old = nodes.pop(name, None)
            if given_state is not None:
                nodes[name] = node(name, **given_state)
                cache.on_node(Change("modified" if old else "added", nodes[name], old))
            elif old:
                cache.on_node(Change("deleted", old, old))
        elif what == "pod":
            before = pods.pop(name, None)
            if given_state is not None:
                pods[name] = pod(name, **given_state)
                cache.on_pod(Change("modified" if before else "added", pods[name], before))
            elif before:
                cache.on_pod(Change("deleted", before, before))
        elif what == "assume" and ("shop", name) in cache.waiting:
            cache.assume(("shop", name), given_state)
        elif what == "forget":
            cache.forget(pods.get(name) or pod(name))
    assert cache.differences(nodes.values(), pods.values()) == []
    view = cache.view()
    assert {name for name in view.nodes.names if name} == set(nodes)
    for name, row in view.nodes.rows.items():
        assert view.nodes.names[row] == name


def test_cache_difference_is_told() -> None:
    """The self-check names what is wrong, so it can fail."""
    cache = Cache()
    cache.on_node(Change("added", node("n1")))
    cache.on_pod(Change("added", pod("p1", on="n1")))
    (line,) = [line for line in cache.differences([node("n1")], []) if "used" in line]
    assert line == "node n1 used: {'cpu': 1000, 'pods': 1} in the cache, {} in a fresh list"


def test_cache_assumes_and_forgets() -> None:
    """An assumed pod counts at once; a failed bind gives its room back; the watch's word ends the assumption."""
    cache = Cache()
    cache.on_node(Change("added", node("n1")))
    cache.on_pod(Change("added", pod("p1")))
    cache.assume(("shop", "p1"), "n1")
    assert (cache.view().nodes.used.tolist(), cache.waiting) == ([[1000, 1]], {})
    assert cache.per_node("ReplicaSet/shop/web").tolist() == [1]
    cache.forget(pod("p1"))
    assert (cache.view().nodes.used.tolist(), list(cache.waiting)) == ([[0, 0]], [("shop", "p1")])
    cache.assume(("shop", "p1"), "n1")
    cache.on_pod(Change("modified", pod("p1", on="n1", phase="Running")))
    assert (cache.assumed, cache.view().nodes.used.tolist()) == ({}, [[1000, 1]])


def test_cache_leaves_columns_alone_where_a_pod_takes_what_it_took() -> None:
    """Most news of pods that run are of this kind: not even their order changes."""
    cache = Cache()
    for name in ("n1", "n2"):
        cache.on_node(Change("added", node(name)))
    for record in (pod("p1", "n1"), pod("p2", "n2"), pod("p1", "n1", phase="Running")):
        cache.on_pod(Change("modified", record))
    assert cache.view().population.rows.tolist() == [0, 1]


def test_cache_forgets_by_uid() -> None:
    """A refusal of a pod that is gone does not free the room of the one that has its name now."""
    cache = Cache()
    cache.on_node(Change("added", node("n1")))
    cache.on_pod(Change("added", pod("p1", uid="u2")))
    cache.assume(("shop", "p1"), "n1")
    assert not cache.forget(pod("p1", uid="u1"))
    assert (cache.assumed, cache.view().nodes.used.tolist()) == ({("shop", "p1"): "n1"}, [[1000, 1]])
    assert [cache.expects(pod("p1", uid=uid), "n1") for uid in ("u1", "u2")] == [False, True]
    assert not cache.expects(pod("p1", uid="u2"), "n2")
    assert cache.forget(pod("p1", uid="u2"))
    assert (cache.assumed, list(cache.waiting)) == ({}, [("shop", "p1")])


def test_cache_counts_resources_that_no_node_offers() -> None:
    """A pod put on its node by hand may ask for more kinds of resources than all nodes have."""
    cache = Cache()
    cache.on_node(Change("added", node("n1")))
    asked = {f"example.com/r{number}": 1 for number in range(9)}
    cache.on_pod(Change("added", msgspec.structs.replace(pod("p1", on="n1"), request=tuple(asked.items()))))
    assert cache.summary()["node n1 used"] == asked


def test_cache_tells_what_may_let_somebody_in() -> None:
    """A node, a pod that ends, a pod that is bound: each is told once; a heartbeat is not."""
    told: list[Wake] = []
    cache = Cache(lambda what, about: told.append(what))
    cache.on_node(Change("added", node("n1")))
    cache.on_node(Change("modified", node("n1"), node("n1")))
    cache.on_pod(Change("added", pod("p1", on="n1")))
    cache.on_pod(Change("modified", pod("p1", on="n1", phase="Running")))
    cache.on_pod(Change("modified", pod("p1", on="n1", phase="Succeeded")))
    cache.on_pod(Change("added", pod("p2")))
    cache.on_pod(Change("deleted", pod("p2")))
    assert told == [Wake.NODE, Wake.POD_BOUND, Wake.POD_LEFT]


def test_cache_tells_that_its_own_pod_is_bound() -> None:
    """A pod that was assumed and then confirmed may be the neighbour somebody waits for."""
    told: list[Wake] = []
    cache = Cache(lambda what, about: told.append(what))
    cache.on_node(Change("added", node("n1")))
    cache.on_pod(Change("added", pod("p1")))
    cache.assume(("shop", "p1"), "n1")
    cache.on_pod(Change("modified", pod("p1", on="n1")))
    cache.on_pod(Change("modified", pod("p1", on="n1", phase="Running")))
    assert told == [Wake.NODE, Wake.POD_BOUND]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"cpu": "2"}, [Wake.POD_LEFT, Wake.POD_BOUND]),
        ({"leaving": True}, [Wake.POD_LEFT, Wake.POD_BOUND]),
        ({"app": "db"}, [Wake.POD_LEFT, Wake.POD_BOUND]),
        ({}, []),
    ],
    ids=["less", "going", "other labels", "the same"],
)
def test_cache_tells_that_a_bound_pod_is_different(change: dict[str, Any], told: list[Wake]) -> None:
    """Resized, on its way out, or with other labels: each may help somebody."""
    heard: list[Wake] = []
    cache = Cache(lambda what, about: heard.append(what))
    cache.on_node(Change("added", node("n1")))
    cache.on_pod(Change("added", pod("p1", on="n1", cpu="3")))
    heard.clear()
    cache.on_pod(Change("modified", pod("p1", on="n1", **{"cpu": "3", "phase": "Running", **change})))
    assert heard == told


def test_records_share_what_is_equal() -> None:
    """Ten thousand pods of one template have one shape between them."""
    first, second = pod("a"), pod("b", on="n1")
    assert first.shape is second.shape
    assert first.resident is second.resident
    assert (first.waits, second.waits, second.holds_room) == (True, False, True)


def test_record_of_an_unreadable_spec_says_so() -> None:
    """A quantity that nobody can read does not stop the others: the pod is marked."""
    broken = pod("p", cpu="lots")
    assert "'lots' is not a quantity" in broken.broken
