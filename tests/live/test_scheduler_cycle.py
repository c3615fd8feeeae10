"""A cycle goes on while others run: the first binds are under way before the last pods are written down."""

import asyncio

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.fake import FakeApi
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.scheduler.component import Options, Scheduler

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
    monkeypatch.setattr("fairlead.live.scheduler.component.BREATH", -1.0)
    clock = asyncio.get_running_loop().time
    scheduler = Scheduler(Client(FakeApi()), Options(), recorder=None, monotonic=clock, wall=clock)
    offer = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "9", "pods": "9"}}}
    scheduler.cache.on_node(Change("added", msgspec.convert(offer, Node)))
    first, gone, old, last = (pod(app, f"{app}-uid") for app in "abcd")
    for each in (first, gone, old, last):
        scheduler._on_pod(Change("added", each))
    scheduler.books.served = lambda resource: False
    cycle = asyncio.create_task(scheduler.cycle())
    await asyncio.sleep(0)
    assert list(scheduler.cache.assumed) == [first.key]
    scheduler._on_pod(Change("deleted", gone))
    scheduler._on_pod(Change("deleted", old))
    scheduler._on_pod(Change("added", pod("c", "another")))
    await cycle
    assert list(scheduler.cache.assumed) == [first.key, last.key]
    assert list(scheduler.cache.waiting) == [old.key]
    await scheduler.cycle()
    assert list(scheduler.cache.assumed) == [first.key, last.key, old.key]
    assert scheduler._binder.waiting == 3
