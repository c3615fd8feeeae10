"""A cycle goes on while others run: the first binds are under way before the last pods are written down."""

import asyncio
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.live.cluster.cache import ClusterView
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.cluster.turn_types import QueueTurn
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.tables import usage
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler import cycle
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.model.amounts import BEYOND
from fairlead.model.errors import InputError
from tests.fake import FakeApi

RECORDS = Records()


def pod(app: str, uid: str) -> PodRecord:
    """The one pod of a workload."""
    owner = {"kind": "ReplicaSet", "name": app, "controller": True}
    meta = {"name": f"{app}-0", "namespace": "shop", "uid": uid, "ownerReferences": [owner]}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    spec = {"schedulerName": "fairlead", "containers": containers}
    return RECORDS.record(msgspec.convert({"metadata": meta, "spec": spec}, Pod))


async def test_what_happens_during_a_cycle_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that goes, or is another one by now, before its turn came is not bound; the first is sent at once."""
    monkeypatch.setattr("fairlead.live.scheduler.cycle.BREATH", -1.0)
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    offer = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "9", "pods": "9"}}}
    scheduler.cache.on_node(Change("added", msgspec.convert(offer, Node)))
    first, gone, old, last = (pod(app, f"{app}-uid") for app in "abcd")
    for each in (first, gone, old, last):
        scheduler.events.on_pod(Change("added", each))
    scheduler.job_cache.served = lambda resource: False
    running = asyncio.create_task(scheduler.cycle.run())
    await asyncio.sleep(0)
    assert list(scheduler.cache.assumed) == [first.key]
    scheduler.events.on_pod(Change("deleted", gone))
    scheduler.events.on_pod(Change("deleted", old))
    scheduler.events.on_pod(Change("added", pod("c", "another")))
    await running
    assert list(scheduler.cache.assumed) == [first.key, last.key]
    assert list(scheduler.cache.waiting) == [old.key]
    await scheduler.cycle.run()
    assert list(scheduler.cache.assumed) == [first.key, last.key, old.key]
    assert scheduler.delivery.binder.waiting == 3


async def test_pod_that_cannot_be_read_any_more_gets_nothing_of_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its annotation was edited while it waited; the queue level decides about the other pod of its controller."""
    monkeypatch.setattr(Promises, "calm", lambda *_, **__: False)
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    scheduler.job_cache.served = lambda resource: False
    offer = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "9", "pods": "9"}}}
    scheduler.cache.on_node(Change("added", msgspec.convert(offer, Node)))
    good, odd = pod("a", "good"), msgspec.structs.replace(pod("a", "odd"), key=PodKey(("shop", "a-1")))
    for each in (good, odd):
        scheduler.events.on_pod(Change("added", each))
    scheduler.events.on_pod(Change("modified", msgspec.structs.replace(odd, broken="no such strategy"), odd))
    await scheduler.cycle.run()
    assert list(scheduler.cache.assumed) == [good.key]


async def test_pod_that_cannot_be_read_any_more_counts_in_its_job_while_it_is_bound() -> None:
    """Its annotation was edited after it was placed: it takes its room all the same, before and after the bind."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    scheduler.job_cache.served = lambda resource: False
    offer = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "9", "pods": "9"}}}
    scheduler.cache.on_node(Change("added", msgspec.convert(offer, Node)))
    placed = pod("a", "a")
    scheduler.events.on_pod(Change("added", placed))
    await scheduler.cycle.run()
    odd = msgspec.structs.replace(placed, broken="no such strategy")
    running = []
    for before, after in ((placed, odd), (odd, msgspec.structs.replace(odd, node="n1"))):
        scheduler.events.on_pod(Change("modified", after, before))
        running.append([job.running for job in scheduler.job_cache.jobs()])
    assert running == [[1], [1]]


@pytest.mark.parametrize(
    ("held", "used"), [((("cpu", 2000),), {"cpu": 2000}), ((("cpu", BEYOND), ("pods", 1)), {"pods": 1})]
)
async def test_pod_that_was_bound_and_unreadable_before_the_start_counts_in_its_job(
    held: tuple[tuple[str, int], ...], used: dict[str, int]
) -> None:
    """As it does where its edit was seen; an amount beyond every node fills its node, not its queue. It leaves like any
    other."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    cache = scheduler.job_cache
    cache.served = lambda resource: False
    odd = msgspec.structs.replace(pod("a", "a"), broken="no such strategy", node="n1", request=held)
    scheduler.events.on_node(Change("added", msgspec.convert({"metadata": {"name": "n1"}}, Node)))
    with suppress(InputError):
        scheduler.events.on_pod(Change("added", odd))
    (job,) = cache.jobs()
    assert (job.running, job.waiting, usage([job], {})) == (1, 0, used)
    with suppress(InputError):
        scheduler.events.on_pod(Change("modified", msgspec.structs.replace(odd, leaving=True), odd))
    assert ([job.running for job in cache.jobs()], list(cache.leaving)) == ([0], [odd.key])


def bound_to_cores(name: str, cpu: str = "2", **more: Any) -> PodRecord:
    """A pod of a group that asks for bound cores: its volumes and cores are chosen one pod at a time."""
    notes = {"fairlead.io/bind-cpu": "true", "scheduling.k8s.io/group-name": "g"}
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "annotations": notes, "labels": {"app": "g"}}
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    spec = {"schedulerName": "fairlead", "containers": containers, **more}
    return RECORDS.record(msgspec.convert({"metadata": meta, "spec": spec}, Pod))


async def test_a_turn_decides_pods_with_bound_cores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to the node that the turn chose; only their cores are chosen after it."""
    decided: list[list[str]] = []
    placed = cycle.decide

    def counting(view: ClusterView, groups: list[PodSet], *more: Any) -> list[PodSetOutcome]:
        decided.append([pod.metadata.name for group in groups for pod in group.pods])
        return placed(view, groups, *more)

    monkeypatch.setattr(cycle, "decide", counting)
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    scheduler.job_cache.served = lambda resource: False
    for name in ("n1", "n2"):
        status = {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2", "pods": "9"}}
        found = msgspec.convert({"metadata": {"name": name}, "status": status}, Node)
        scheduler.cache.on_node(Change("added", found))
    pods = [bound_to_cores(name) for name in ("a", "b")]
    for each in pods:
        scheduler.events.on_pod(Change("added", each))
    turns: list[QueueTurn] = []
    scheduler.cycle.on_turn = turns.append
    await scheduler.cycle.run()
    granted = {pod.key: node for turn in turns for grant in turn.grants for pod, node in grant.places}
    assert (decided, sorted(granted.values())) == ([], ["n1", "n2"])
    assert scheduler.cache.assumed == granted
    assert [sorted(scheduler.cache.cores.notes(pod)) for pod in pods] == [["fairlead.io/cores"]] * 2


async def test_cores_that_are_taken_by_now_are_looked_for_on_another_node() -> None:
    """The turn does not see which cores the pod before takes; the next pod is decided anew then."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    for name in ("n1", "n2"):
        status = {"capacity": {"cpu": "2"}, "allocatable": {"cpu": "2", "pods": "9"}}
        found = msgspec.convert({"metadata": {"name": name}, "status": status}, Node)
        scheduler.cache.on_node(Change("added", found))
    first, second = (bound_to_cores(name) for name in ("a", "b"))
    for each in (first, second):
        scheduler.events.on_pod(Change("added", each))
    scheduler.cache.assume(first.key, "n1")
    found = [scheduler.cycle._settled((second, node)).placed for node in ("n1", "n2")]
    assert found == [((second, "n2"),)] * 2


async def test_a_place_in_a_spread_that_is_taken_by_now_is_not_given_twice() -> None:
    """The pod before went to another zone than the turn chose; the next one is not put beside it."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    for name, zone in (("n1", "a"), ("n2", "a"), ("n3", "b")):
        status = {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "4", "pods": "9"}}
        found = {"metadata": {"name": name, "labels": {"zone": zone}}, "status": status}
        scheduler.cache.on_node(Change("added", msgspec.convert(found, Node)))
    apart = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "minDomains": 5}
    spread = [{**apart, "labelSelector": {"matchLabels": {"app": "g"}}}]
    first, second = (bound_to_cores(name, topologySpreadConstraints=spread) for name in ("a", "b"))
    for each in (first, second):
        scheduler.events.on_pod(Change("added", each))
    assert scheduler.cycle._settled((second, "n2")).placed == ((second, "n2"),)
    scheduler.cache.assume(first.key, "n1")
    assert scheduler.cycle._settled((second, "n2")).placed == ((second, "n3"),)


def replica(name: str, **spec: Any) -> PodRecord:
    """A pod of the ReplicaSet web that asks for one core."""
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
    meta = {"name": name, "namespace": "shop", "uid": name, "ownerReferences": [owner]}
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]
    whole = {"metadata": meta, "spec": {"schedulerName": "fairlead", "containers": containers, **spec}}
    return RECORDS.record(msgspec.convert(whole, Pod))


@pytest.mark.parametrize(("bound", "free"), [("a", "z"), ("z", "a")])
async def test_replicas_that_may_run_elsewhere_do_not_wait_for_their_siblings(bound: str, free: str) -> None:
    """One core on demand for three replicas that must be there: one of them runs, and so do all that need not."""
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
    scheduler.job_cache.served = lambda resource: False
    for name, cpu in (("on-demand", "1"), ("spot", "9")):
        found = {"metadata": {"name": name, "labels": {"kind": name}}}
        offer = {**found, "status": {"allocatable": {"cpu": cpu, "pods": "9"}}}
        scheduler.cache.on_node(Change("added", msgspec.convert(offer, Node)))
    for number in range(3):
        scheduler.events.on_pod(Change("added", replica(f"{bound}{number}", nodeSelector={"kind": "on-demand"})))
        scheduler.events.on_pod(Change("added", replica(f"{free}{number}")))
    await scheduler.cycle.run()
    names = sorted(name for _, name in scheduler.cache.assumed)
    assert names == sorted([f"{bound}0", *(f"{free}{number}" for number in range(3))])
