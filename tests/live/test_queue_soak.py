"""Gangs that come and end at random through the whole scheduler, on a server in memory: none stays half started."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.resources import NODES, POD_GROUPS, PODS, QUEUES, RESOURCE_QUOTAS, Resource
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.pod_groups import INTENT
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.check import differences
from fairlead.live.scheduler.component import Options, Scheduler
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.queue_world import World

START = "1970-01-01T00:16:40Z"


class Soak:
    """A cluster of forty cpu, three queues and four namespaces, and the gangs that are there."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.api = FakeApi(now=lambda: START)
        self.gangs: dict[tuple[str, str], tuple[int, int]] = {}
        """Namespace and name: size, minimum."""
        for number in range(5):
            status = {"allocatable": {"cpu": "8", "pods": "50"}}
            self.api.put(NODES, {"metadata": {"name": f"n{number}"}, "status": status})
        for name, weight in (("q1", 1), ("q2", 2), ("q3", 1)):
            capability = {"cpu": "16"} if name == "q3" else {}
            self.api.put(QUEUES, {"metadata": {"name": name}, "spec": {"weight": weight, "capability": capability}})
        hard = {"volcano.sh/namespace.weight": "3"}
        self.api.put(
            RESOURCE_QUOTAS, {"metadata": {"name": "w", "namespace": "ns0"}, "spec": {"hard": hard}}, namespace="ns0"
        )

    def arrive(self, number: int) -> None:
        """A gang of one to twelve pods in some queue."""
        random, namespace, name = self.random, f"ns{self.random.randrange(4)}", f"g{number}"
        size = random.randint(1, 12)
        least = random.choice((size, max(1, size // 2)))
        self.gangs[namespace, name] = size, least
        spec = {"minMember": least, "queue": random.choice(("q1", "q2", "q3"))}
        self.api.put(
            POD_GROUPS, {"metadata": {"name": name, "namespace": namespace}, "spec": spec}, namespace=namespace
        )
        cpu = random.choice(("1", "2"))
        for member in range(size):
            self.pod(namespace, name, f"{name}-{member}", cpu)

    def pod(self, namespace: str, group: str, name: str, cpu: str) -> None:
        """One pod of a gang."""
        annotations = {"scheduling.k8s.io/group-name": group}
        meta = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "annotations": annotations}
        containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
        body = {"metadata": meta, "spec": {"schedulerName": "fairlead", "containers": containers}}
        self.api.put(PODS, body, namespace=namespace)

    def end(self) -> None:
        """Some gang goes with its group."""
        namespace, name = self.random.choice(sorted(self.gangs))
        size, _ = self.gangs.pop((namespace, name))
        for member in range(size):
            self.api.remove(PODS, f"{name}-{member}", namespace=namespace)
        self.api.remove(POD_GROUPS, name, namespace=namespace)

    def bound(self, namespace: str, name: str) -> int:
        """Pods of a gang that have a node."""
        size, _ = self.gangs[namespace, name]
        found = (self.api.find(PODS, f"{name}-{member}", namespace=namespace) for member in range(size))
        return sum(bool(each and each["spec"].get("nodeName")) for each in found)

    def check(self) -> None:
        """No gang half started, no intent left, no node with more than it has."""
        used: Counter[str] = Counter()
        for (namespace, name), (size, least) in self.gangs.items():
            held = self.bound(namespace, name)
            assert held == 0 or held >= least, (name, held, least)
            group = self.api.find(POD_GROUPS, name, namespace=namespace)
            assert group is not None
            assert INTENT not in group["metadata"].get("annotations", {}), name
            for member in range(size):
                pod = self.api.find(PODS, f"{name}-{member}", namespace=namespace)
                assert pod is not None
                cpu = int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
                used[pod["spec"].get("nodeName", "")] += cpu
        del used[""]
        assert not used or max(used.values()) <= 8

    def begin(self) -> tuple[Scheduler, asyncio.Task[None]]:
        """A scheduler that runs."""
        clock = asyncio.get_running_loop().time
        made = Scheduler(Instance(Client(self.api), monotonic=clock, wall=clock), Options())
        return made, asyncio.create_task(made.run())

    async def differences(self, scheduler: Scheduler) -> list[str]:
        """What its self-check finds."""
        return await differences(Client(self.api), scheduler.cache, scheduler.job_cache)


@pytest.mark.parametrize("seed", range(3))
def test_gangs_at_random_are_whole_at_every_quiet_point(seed: int) -> None:
    """Arrivals, ends, kills in the middle of things: at every quiet point gangs are whole and the cache true."""
    soak = Soak(seed)

    async def main() -> int:
        started = 0
        scheduler, task = soak.begin()
        for round_ in range(8):
            for number in range(5):
                soak.arrive(round_ * 10 + number)
                if soak.random.random() < 0.4:
                    await asyncio.sleep(soak.random.random() / 20)
            if soak.random.random() < 0.5:
                # Killed: whatever it was about to do is not done.
                await asyncio.sleep(soak.random.random() / 50)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                scheduler, task = soak.begin()
            for _ in range(soak.random.randint(1, 4)):
                soak.end()
            await asyncio.sleep(60)
            soak.check()
            assert await soak.differences(scheduler) == []
            started += sum(soak.bound(*key) > 0 for key in soak.gangs)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return started

    assert run(main()) > 8


def _dropped(resource: Resource[Any], name: str, namespace: str = "") -> Callable[[JobCache], None]:
    """A deletion that did not happen."""
    found = msgspec.convert({"metadata": {"name": name, "namespace": namespace}}, resource.shape)
    return lambda cache: dict(cache.watched())[resource](Change("deleted", found))


def _stale(job_cache: JobCache) -> None:
    """A job that was not put together again when it should have been."""
    entry = job_cache.entries["PodGroup/ns9/big"]
    assert entry._live is not None
    entry._live = replace(entry._live, priority=7)


FALSE: dict[str, tuple[Callable[[JobCache], None], set[str]]] = {
    "a queue is missing": (_dropped(QUEUES, "q2"), {"queue q2"}),
    "a weight is missing": (_dropped(RESOURCE_QUOTAS, "w", "ns0"), {"weight of ns0"}),
    "a group is missing": (
        _dropped(POD_GROUPS, "big", "ns9"),
        {"group PodGroup/ns9/big", "job PodGroup/ns9/big"},
    ),
    "a pod is missing": (lambda cache: cache.gone(("ns9", "big-1")), {"pod ns9/big-1"}),
    "a job is as it was": (_stale, {"job PodGroup/ns9/big"}),
}


@pytest.mark.parametrize(("tamper", "want"), FALSE.values(), ids=FALSE)
def test_self_check_finds_what_is_wrong_in_the_books(tamper: Callable[[JobCache], None], want: set[str]) -> None:
    """Each line begins with what differs, and says what both sides have."""
    soak = Soak(0)
    group = {"metadata": {"name": "big", "namespace": "ns9"}, "spec": {"minMember": 2, "queue": "q1"}}
    soak.api.put(POD_GROUPS, group, namespace="ns9")
    for member in range(2):
        soak.pod("ns9", "big", f"big-{member}", "100")

    async def main() -> list[str]:
        scheduler, task = soak.begin()
        await asyncio.sleep(10)
        assert await soak.differences(scheduler) == []
        tamper(scheduler.job_cache)
        found = await soak.differences(scheduler)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return found

    found = run(main())
    assert {line.partition(":")[0] for line in found} == want
    assert all(line.endswith(" in a fresh list") for line in found)


@pytest.mark.parametrize("stays", [True, False], ids=["a node that stays", "a node that goes"])
def test_self_check_tells_only_what_differs_at_every_look(stays: bool) -> None:
    """A node that no watch has told of yet is no mistake if the next look does not see it any more."""
    api, world = FakeApi(), World()
    api.put(NODES, {"metadata": {"name": "n1"}})
    later: list[Callable[[], None]] = [lambda: None, lambda: None if stays else api.remove(NODES, "n1")]
    api.before(lambda: later.pop(0)(), method="GET", path="/api/v1/nodes", times=2)
    found = run(differences(Client(api), world.cache, world.job_cache))
    assert any("node n1" in line for line in found) is stays
