"""Pods and nodes that come and go without end, told to a scheduler as its watches would; run alone it measures."""

import asyncio
import gc
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.storage import PersistentVolumeClaim
from fairlead.kube.resources import PERSISTENT_VOLUME_CLAIMS
from fairlead.live.cluster.interning import MOST
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from tests.fake import FakeApi

STANDING = 20
"""Nodes that are there at a time."""
LIVES = 10
"""Pods that live on a node before it is replaced."""


class Churn:
    """Every pod is one of a Job of its own, with names, labels, a group and an owner that never come again.

    Each waits, is assumed, bound, runs, ends and goes; one in ten has a claim. Nodes are replaced, with a taint, an
    extended resource and labels of their own; a daemon's pod goes after its node.
    """

    def __init__(self, most: int = MOST) -> None:
        clock = asyncio.get_running_loop().time
        self.scheduler = Scheduler(Instance(Client(FakeApi()), monotonic=clock, wall=clock), Options())
        self.records = Records(most)
        self.pods = self.nodes = 0
        self._claims = dict(self.scheduler.cache.storage.watched())[PERSISTENT_VOLUME_CLAIMS]
        self._there = [self._come() for _ in range(STANDING)]

    def live(self, pods: int) -> None:
        """So many pods come and go."""
        for _ in range(pods):
            self.pods += 1
            if self.pods % LIVES == 0:
                self._go(self._there.pop(0))
                self._there.append(self._come())
            self._life(self.pods)
            if self.pods % 100 == 0:
                self.scheduler.cache.view()

    def _life(self, number: int) -> None:
        scheduler, node = self.scheduler, self._there[number % STANDING]
        claim = self._claim(number) if number % 10 == 0 else None
        before: PodRecord | None = None
        for on, phase in (("", "Pending"), (node, "Pending"), (node, "Running"), (node, "Succeeded")):
            record = self.records.record(self._pod(number, on, phase))
            scheduler.events.on_pod(Change("modified" if before else "added", record, before))
            if not on:
                scheduler.cache.assume(record.key, node)
                scheduler.cache.rules.cover(record.resident)
            before = record
        scheduler.events.on_pod(Change("deleted", record, record))
        if claim is not None:
            self._claims(Change("deleted", claim, claim))

    def _pod(self, number: int, node: str, phase: str) -> Pod:
        name = f"report-{number:010d}"
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": name}}] if number % 10 == 0 else []
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"job-{number:032d}", "controller": True}
        meta = {
            "name": f"{name}-x",
            "namespace": f"team-{number // 1000}",
            "uid": f"pod-{number:032d}",
            "resourceVersion": f"{number}-{node}-{phase}",
            "labels": {"job-name": name, "controller-uid": f"job-{number:032d}"},
            "annotations": {"scheduling.k8s.io/group-name": f"group-{number}"} if number % 2 else {},
            "ownerReferences": [owner],
        }
        spec = {
            "nodeName": node,
            "schedulerName": "fairlead",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            "volumes": volumes,
        }
        return msgspec.convert({"metadata": meta, "spec": spec, "status": {"phase": phase}}, Pod)

    def _claim(self, number: int) -> PersistentVolumeClaim:
        meta = {"name": f"report-{number:010d}", "namespace": f"team-{number // 1000}", "uid": f"claim-{number}"}
        claim = msgspec.convert({"metadata": meta, "spec": {"volumeName": f"volume-{number}"}}, PersistentVolumeClaim)
        self._claims(Change("added", claim))
        return claim

    def _come(self) -> str:
        self.nodes += 1
        name = f"ip-{self.nodes:08d}"
        self.scheduler.events.on_node(Change("added", self._node(name)))
        return name

    def _go(self, name: str) -> None:
        daemon = {"name": f"daemon-{name}", "namespace": "kube-system", "uid": f"daemon-{name}"}
        spec = {"nodeName": name, "containers": [{"name": "c", "resources": {"requests": {f"example.com/{name}": 1}}}]}
        record = self.records.record(msgspec.convert({"metadata": daemon, "spec": spec, "status": {}}, Pod))
        self.scheduler.events.on_pod(Change("added", record))
        node = self._node(name)
        self.scheduler.events.on_node(Change("deleted", node, node))
        self.scheduler.events.on_pod(Change("deleted", record, record))

    def _node(self, name: str) -> Node:
        offer = {"cpu": "64", "pods": "110", f"example.com/{name}": "1"}
        labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": "a", f"node.example.com/{name}": ""}
        taints = [{"key": "example.com/born", "value": name, "effect": "PreferNoSchedule"}]
        whole = {"metadata": {"name": name, "labels": labels}, "spec": {"taints": taints}}
        return msgspec.convert({**whole, "status": {"allocatable": offer, "capacity": offer}}, Node)


def resident_mib() -> float:
    """What the process holds now."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def measured(pods: int, parts: int) -> Iterator[tuple[int, float, float]]:
    """Pods so far, MiB held, and microseconds of CPU a pod in this part."""
    churn = Churn()
    for _ in range(parts):
        start = time.process_time()
        churn.live(pods // parts)
        took = time.process_time() - start
        gc.collect()
        yield churn.pods, resident_mib(), took / (pods // parts) * 1e6


async def main(pods: int, parts: int) -> None:
    for row in measured(pods, parts):
        print(*row, flush=True)


def sizes(thing: Any, seen: set[int] | None = None) -> int:
    """How many entries all containers have that can be reached from a thing through objects of ours."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if hasattr(thing, "nbytes"):
        return int(thing.size)
    if isinstance(thing, dict):
        inside = [each for pair in thing.items() for each in pair]
        return len(thing) + sum(sizes(each, seen) for each in (*inside, *getattr(thing, "__dict__", {}).values()))
    if isinstance(thing, list | tuple | set | frozenset):
        return len(thing) + sum(sizes(each, seen) for each in list(thing))
    if not type(thing).__module__.startswith("fairlead."):
        return 0
    kinds = ("__dict__", "__slots__", "__struct_fields__")
    names = [name for kind in kinds for name in getattr(thing, kind, ())]
    return sum(sizes(getattr(thing, name, None), seen) for name in names)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
