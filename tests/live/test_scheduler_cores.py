"""Bound cores: asked for by annotation, promised once, written with the binding, read back after a restart."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.changes import Change, deliver
from fairlead.kube.client import Client
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import PODS
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord, Records, cores_of
from fairlead.live.scheduler.binder import Binder
from fairlead.live.scheduler.decide import batches, decide, settle
from fairlead.model.columns import Bool
from fairlead.model.reasons import Reason
from tests.fake import FakeApi
from tests.kube.virtual import run

RECORDS = Records()


def body(name: str, cpu: str = "2", bind: str = "true", **more: Any) -> dict[str, Any]:
    """A pod that asks for bound cores."""
    notes = {"fairlead.io/bind-cpu": bind, **more.pop("notes", {})}
    return {
        "metadata": {"name": name, "namespace": "shop", "uid": f"{name}-1", "annotations": notes},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more},
    }


def pod(name: str, cpu: str = "2", bind: str = "true", **more: Any) -> PodRecord:
    """The same as a record."""
    return RECORDS.record(msgspec.convert(body(name, cpu, bind, **more), Pod))


def node(name: str, cpu: int = 4, layout: str = "") -> Node:
    """A node with so many cores."""
    notes = {"fairlead.io/numa-cores": layout} if layout else {}
    amounts = {"cpu": str(cpu), "pods": "99"}
    return msgspec.convert(
        {"metadata": {"name": name, "annotations": notes}, "status": {"allocatable": amounts, "capacity": amounts}},
        Node,
    )


def cache(*nodes: Node, pods: tuple[PodRecord, ...] = ()) -> Cache:
    """A cluster."""
    made = Cache()
    for each in nodes:
        deliver(made.on_node, Change("added", each))
    for one in pods:
        made.on_pod(Change("added", one))
    return made


def cycle(made: Cache) -> list[PodSetOutcome]:
    """Everything that waits, decided and assumed as the scheduler does."""
    outcomes = []
    for batch in batches(grouped(made.waiting.values())):
        for outcome in decide(made.view(), batch, made.per_node, made.storage.demand):
            for each, place in outcome.placed:
                made.assume(each.key, place)
            outcomes.append(outcome)
    return outcomes


def told(made: Cache, name: str) -> dict[str, str]:
    """The annotations that a pod would be bound with."""
    return made.cores.notes(made.pods["shop", name])


def test_pins_are_chosen_and_the_next_pod_gets_others() -> None:
    """Two pods of 1.5 cores: whole cores apart, fragments together."""
    made = cache(node("n"), pods=(pod("a", "1500m"), pod("b", "1500m")))
    cycle(made)
    assert told(made, "a") == {"fairlead.io/cores": "0=50,1=100"}
    assert told(made, "b") == {"fairlead.io/cores": "0=50,2=100"}
    assert made.cores.free("n") == {"0": 0, "1": 0, "2": 0, "3": 100}


def test_room_of_the_node_is_not_enough_without_cores() -> None:
    """Two cores are left as pieces of four: a pod that needs two whole ones waits, and is told why."""
    shared = tuple(
        pod(f"s{core}", "500m", nodeName="n", notes={"fairlead.io/cores": f"{core}=50"}) for core in range(4)
    )
    made = cache(node("n"), pods=(*shared, pod("whole")))
    (outcome,) = cycle(made)
    assert [(each.reason.code, each.count) for each in outcome.rejected] == [("CoresTaken", 1)]


def test_pins_lie_in_one_numa_node() -> None:
    """The layout of the annotation; a core it leaves out is not offered."""
    made = cache(node("n", 8, "0=1-3;1=4-7"), pods=(pod("a", "4"), pod("b", "2")))
    cycle(made)
    assert told(made, "a") == {"fairlead.io/cores": "4=100,5=100,6=100,7=100", "fairlead.io/numa-node": "1"}
    assert told(made, "b") == {"fairlead.io/cores": "1=100,2=100", "fairlead.io/numa-node": "0"}
    assert made.cores.free("n")["3"] == 100


def test_pins_survive_a_restart() -> None:
    """What bound pods carry is all that is needed; a waiting pod's own claim counts for nothing."""
    bound = pod("a", nodeName="n", notes={"fairlead.io/cores": "0=100,3=100"})
    forged = pod("b", notes={"fairlead.io/cores": "0=100"})
    made = cache(node("n"), pods=(bound, forged))
    cycle(made)
    assert told(made, "b") == {"fairlead.io/cores": "1=100,2=100"}


def test_pin_stays_while_the_bind_is_under_way() -> None:
    """News of an assumed pod do not move it; a failed bind frees it; the server's word ends the promise."""
    made = cache(node("n"), pods=(pod("a"), pod("b")))
    cycle(made)
    before = told(made, "b")
    made.forget(made.pods["shop", "a"])
    made.on_pod(Change("modified", pod("b")))
    assert (told(made, "b"), told(made, "a")) == (before, {})
    made.on_pod(Change("modified", pod("b", nodeName="n", notes=before)))
    assert told(made, "b") == {}
    assert sum(made.cores.free("n").values()) == 200
    made.on_pod(Change("deleted", pod("b")))
    assert sum(made.cores.free("n").values()) == 400


@pytest.mark.parametrize(
    ("bind", "cpu", "want"),
    [
        ("yes", "1", "'yes'; expected true or false"),
        ("true", "5m", "no whole number"),
        ("true", "0", "cannot be bound"),
    ],
)
def test_what_cannot_be_bound_is_said(bind: str, cpu: str, want: str) -> None:
    """The pod is not placed by a rule that its owner did not ask for."""
    assert want in pod("p", cpu, bind).broken


def test_false_asks_for_nothing() -> None:
    """The annotation may be there and say no."""
    assert (pod("p", bind="false").pieces, pod("p", bind="false").broken) == (0, "")


@pytest.mark.parametrize("layout", ["0", "0=", "0=3-1", "0=a", "=1"])
def test_layout_that_cannot_be_read_offers_no_cores(layout: str) -> None:
    """A node is not guessed at."""
    made = cache(node("n", 4, layout), pods=(pod("a"),))
    (outcome,) = cycle(made)
    assert outcome.waiting


def test_node_whose_cores_become_others_wakes_who_waits() -> None:
    """Its amounts are the same: only the layout tells that there may be room now."""
    woken: list[Wake] = []
    made = Cache(on_room=lambda what, about: woken.append(what))
    for layout in ("0=0-1", "0=0-1", "0=0-3"):
        woken.clear()
        made.on_node(Change("added", node("n", 4, layout)))
    assert woken == [Wake.NODE]


def test_node_that_does_not_say_its_cores_offers_none() -> None:
    """Its capacity names no cpu; what is allocatable is no count of cores."""
    silent = node("n")
    silent.status.capacity.pop("cpu")
    (outcome,) = cycle(cache(silent, pods=(pod("a", "1"),)))
    assert outcome.waiting


def test_binding_carries_the_pin() -> None:
    """One write: the node and the cores."""
    api = FakeApi()
    api.put(PODS, body("a"))
    made = cache(node("n"), pods=(pod("a"),))
    cycle(made)

    async def story() -> None:
        binder = Binder(Client(api), lambda who, why: None, notes=made.cores.notes)
        binder.bind(made.pods["shop", "a"], "n")
        task = asyncio.create_task(binder.outbox.run())
        await asyncio.sleep(1)
        await binder.outbox.drain()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(story())
    written = api.find(PODS, "a", namespace="shop")
    assert written is not None
    assert written["spec"]["nodeName"] == "n"
    assert written["metadata"]["annotations"]["fairlead.io/cores"] == "0=100,1=100"


steps = st.lists(
    st.tuples(
        st.sampled_from(["new", "bound", "fail", "end"]), st.integers(0, 7), st.sampled_from(["500m", "1", "1300m"])
    ),
    max_size=25,
)


@given(steps)
def test_no_piece_is_promised_twice(story: list[tuple[str, int, str]]) -> None:
    """Whatever comes, fails and ends: no core gives more than it has, and the cache equals a fresh list."""
    made, stored = cache(node("n1"), node("n2", 6, "0=0-2;1=3-5")), {}
    for what, number, cpu in story:
        name = f"p{number}"
        known = made.pods.get(("shop", name))
        if what == "new" and known is None:
            made.on_pod(Change("added", pod(name, cpu)))
            stored[name] = {"cpu": cpu}
            cycle(made)
        elif what == "bound" and known is not None and known.key in made.assumed:
            stored[name] |= {"nodeName": made.assumed[known.key], "notes": dict(made.cores.notes(known))}
            made.on_pod(Change("modified", pod(name, **stored[name])))
        elif what == "fail" and known is not None:
            made.forget(known)
        elif what == "end" and known is not None:
            made.on_pod(Change("deleted", known))
            del stored[name]
            cycle(made)
        used: Counter[tuple[str, str]] = Counter()
        for key, place in made.assumed.items():
            for part in made.cores.notes(made.pods[key])["fairlead.io/cores"].split(","):
                used[place, part.partition("=")[0]] += int(part.partition("=")[2])
        for each in made.pods.values():
            for core, pieces in each.cores:
                used[each.node, core] += pieces
        assert all(pieces <= 100 for pieces in used.values())
    fresh = [pod(name, **{**more, "notes": dict(more.get("notes", {}))}) for name, more in stored.items()]
    assert made.differences([node("n1"), node("n2", 6, "0=0-2;1=3-5")], fresh) == []


def test_recount_goes_by_the_cores_of_bound_pods() -> None:
    """A bound pod that has others now is told; what is promised to a pod that is not bound yet is no difference."""
    here, there = (pod("a", nodeName="n", notes={"fairlead.io/cores": text}) for text in ("0=100,1=100", "2=100,3=100"))
    (found,) = cache(node("n"), pods=(here,)).differences([node("n")], [there])
    assert "node n cores" in found
    made = cache(node("n"), pods=(pod("b"), pod("c")))
    cycle(made)
    made.on_pod(Change("deleted", pod("b")))
    assert made.differences([node("n")], [pod("c")]) == []


@pytest.mark.parametrize(
    ("text", "want"),
    [("", ()), ("1=50,0=100", (("0", 100), ("1", 50))), ("0=0", (("0", 0),)), ("0=-1", ()), ("0=x", ()), ("=5", ())],
)
def test_annotation_of_cores_is_read_whole_or_not_at_all(text: str, want: tuple[tuple[str, int], ...]) -> None:
    """A core without a name, or with pieces that are no number of pieces, says nothing about the others either."""
    assert cores_of(text) == want


def test_a_turns_place_is_settled_by_asking_its_node_alone() -> None:
    """A pod with bound cores that a turn gave a node: no other node is asked for cores, and a full one says no."""
    made = cache(*(node(f"n{number}") for number in range(3)), pods=(pod("a", "4"), pod("b", "4")))
    asked: list[tuple[str, ...]] = []
    view = made.view()

    def cores(one: PodRecord, names: tuple[str, ...]) -> Mapping[Reason, Bool]:
        asked.append(names)
        return view.cores(one, names)

    got = settle(replace(view, cores=cores), made.pods["shop", "a"], "n1", made.storage.demand)
    assert got is not None
    assert [(each.metadata.name, place) for each, place in got.placed] == [("a", "n1")]
    made.assume(("shop", "a"), "n1")
    assert settle(made.view(), made.pods["shop", "b"], "n1", made.storage.demand) is None
    assert settle(made.view(), made.pods["shop", "b"], "n2", made.storage.demand) is not None
    assert asked == [("n1",)]
