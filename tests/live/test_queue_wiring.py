"""The scheduler with queue, evictions and status over the fake API server: from a waiting gang to its binds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from structlog.testing import capture_logs

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import CONFIG_MAPS, NODES, POD_GROUPS, PODS, PRIORITY_CLASSES, QUEUES
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.wiring import QueueWiring
from fairlead.settings import read_configuration
from tests.fake import FakeApi
from tests.kube.virtual import run

START = "1970-01-01T00:16:40Z"
"""Where the virtual clock begins."""


class Town:
    """One node of four cores, on which the four pods of `low` run; the scheduler and its duties beside it."""

    def __init__(self, *, shadow: bool = False, **sections: dict[str, Any]) -> None:
        self.api = FakeApi(now=lambda: START)
        allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        self.api.put(NODES, {"metadata": {"name": "n1"}, "status": {"allocatable": allocatable}})
        self.api.put(PRIORITY_CLASSES, {"metadata": {"name": "high"}, "value": 100})
        self.gang("low", 4, 1, node="n1")
        text = {"apiVersion": "fairlead.io/v1alpha1", "kind": "Configuration", **sections}
        configuration = read_configuration(msgspec.json.encode(text), "test")
        client, clock = Client(self.api), asyncio.get_running_loop().time
        options = Options(shadow=shadow)
        said = None if shadow else Recorder(client, component="test", instance="t", clock=clock, now=clock)
        self.recorder = said
        self.leads = True
        instance = Instance(client, recorder=said, leads=lambda: self.leads, monotonic=clock, wall=clock)
        self.scheduler = Scheduler(instance, options)
        self.duties = QueueWiring(self.scheduler, configuration)

    def gang(self, name: str, pods: int, least: int, *, node: str = "", priority: int = 0, queue: str = "") -> None:
        """A PodGroup and its pods."""
        spec = {"minMember": least, "queue": queue or "default"}
        self.api.put(POD_GROUPS, {"metadata": {"name": name, "namespace": "ml", "uid": f"uid-{name}"}, "spec": spec})
        for number in range(pods):
            meta = {
                "name": f"{name}-{number}",
                "namespace": "ml",
                "uid": f"uid-{name}-{number}",
                "labels": {"group": name},
                "annotations": {"scheduling.k8s.io/group-name": name},
                "ownerReferences": [{"kind": "Job", "name": name, "controller": True}],
            }
            body = {
                "schedulerName": "fairlead",
                "nodeName": node,
                "priority": priority,
                "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            }
            self.api.put(PODS, {"metadata": meta, "spec": body})

    def bound(self) -> dict[str, int]:
        """Pods on nodes, by group."""
        found: dict[str, int] = {}
        for pod in self.api.store.listed("/api/v1/pods", "", "", ""):
            if pod["spec"].get("nodeName"):
                group = pod["metadata"]["labels"]["group"]
                found[group] = found.get(group, 0) + 1
        return found

    def nominated(self, name: str) -> str:
        """The node that a pod of namespace ml says is being cleared for it."""
        pod = self.api.find(PODS, name, namespace="ml")
        assert pod is not None
        return pod.get("status", {}).get("nominatedNodeName") or ""

    def told(self, reason: str) -> list[str]:
        """The notes of all Events with this reason."""
        events = self.api.store.listed("/apis/events.k8s.io/v1/events", "", "", "")
        return [f"{each['regarding']['name']}: {each['note']}" for each in events if each["reason"] == reason]

    def status(self, name: str) -> dict[str, Any]:
        found = self.api.find(POD_GROUPS, name, namespace="ml")
        assert found is not None
        status: dict[str, Any] = found.get("status", {})
        return status


def play(story: Callable[[Town], Awaitable[None]], **options: Any) -> None:
    """Run a story on a virtual clock beside the scheduler."""

    async def main() -> None:
        town = Town(**options)
        running = [town.scheduler.run, town.duties.run, *([town.recorder.run] if town.recorder else [])]
        work = [asyncio.create_task(each()) for each in running]
        try:
            await story(town)
            assert not any(task.done() for task in work)
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    run(main())


ALLOWED = {"evictions": {"allowed": True, "perMinute": 6}}


def test_the_terms_of_a_turn_follow_what_the_evictor_is_doing() -> None:
    """While victims leave, the next turn searches for none and gives their job nothing new; afterwards as before."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        promises = town.scheduler.promises
        before, seen = promises.terms(), []
        town.api.before(lambda: seen.append(promises.terms()), method="POST", path="/eviction", times=4)
        town.gang("high", 2, 2, priority=100)
        await asyncio.sleep(20)
        assert (before.policy.preempt, len(before.yielding)) == (True, 0)
        assert {(each.policy.preempt, len(each.yielding)) for each in seen} == {(False, 2)}
        assert promises.terms() == before

    play(story, **ALLOWED)


def test_a_gang_of_higher_priority_takes_the_room_it_needs() -> None:
    """Two of four go, the gang of two starts, everybody's status follows, and then nothing moves any more."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        town.gang("high", 2, 2, priority=100)
        await asyncio.sleep(20)
        assert town.bound() == {"low": 2, "high": 2}
        assert (town.status("high")["phase"], town.status("high")["running"]) == ("Running", 2)
        assert town.status("low")["running"] == 2
        assert town.scheduler.promises.by_job == {}
        pod = town.api.find(PODS, "high-0", namespace="ml")
        assert pod is not None
        assert not pod["status"].get("nominatedNodeName")
        assert sorted(town.told("Preempted")) == [
            f"low-{number}: evicted from n1 to make room for PodGroup/ml/high" for number in range(2)
        ]
        await asyncio.sleep(60)
        calls = len(town.api.calls)
        await asyncio.sleep(60)
        assert len(town.api.calls) == calls

    play(story, **ALLOWED)


def test_a_queue_takes_back_its_right_and_tells_what_it_holds() -> None:
    """Two queues of equal weight: the second gets half of what the first had borrowed."""

    async def story(town: Town) -> None:
        for name in ("default", "mine"):
            town.api.put(QUEUES, {"metadata": {"name": name}, "spec": {"weight": 1}})
        await asyncio.sleep(5)
        town.gang("theirs", 2, 2, queue="mine")
        await asyncio.sleep(20)
        assert town.bound() == {"low": 2, "theirs": 2}
        queue = town.api.find(QUEUES, "mine")
        assert queue is not None
        assert queue["status"]["allocated"] == {"cpu": "2", "memory": "0", "pods": "2"}
        assert (queue["status"]["running"], queue["status"]["state"]) == (1, "Open")

    play(story, **ALLOWED)


def test_nominations_that_no_promise_backs_are_taken_back() -> None:
    """They are those of an earlier leader. Pods of other schedulers keep theirs, and so does who is made room for."""

    async def story(town: Town) -> None:
        town.gang("stale", 5, 5)
        town.gang("other", 1, 1)
        for name, scheduler in (("stale-0", "fairlead"), ("stale-1", "fairlead"), ("other-0", "somebody")):
            pod = town.api.find(PODS, name, namespace="ml")
            assert pod is not None
            spec = pod["spec"] | {"schedulerName": scheduler}
            town.api.put(PODS, pod | {"spec": spec, "status": {"nominatedNodeName": "n1"}})
        await asyncio.sleep(10)
        assert [town.nominated(name) for name in ("stale-0", "stale-1", "other-0")] == ["", "", "n1"]
        low = town.api.find(PODS, "low-0", namespace="ml")
        assert low is not None
        town.api.put(PODS, low | {"metadata": low["metadata"] | {"finalizers": ["example.com/slow"]}})
        town.gang("high", 4, 4, priority=100)
        await asyncio.sleep(20)
        assert {town.nominated(f"high-{number}") for number in range(4)} == {"n1"}

    play(story, **ALLOWED)


def test_instance_that_leads_no_longer_tells_nothing_of_queues() -> None:
    """The highest of all instances is shown, and what was known when the lead was lost is old."""

    async def story(town: Town) -> None:
        low = town.api.find(PODS, "low-0", namespace="ml")
        assert low is not None
        town.api.put(PODS, low | {"metadata": low["metadata"] | {"finalizers": ["example.com/slow"]}})
        town.gang("high", 4, 4, priority=100)
        await asyncio.sleep(20)
        value = town.scheduler.measures.registry.get_sample_value

        def told() -> tuple[float | None, float | None]:
            return value("fairlead_queue_used", {"queue": "default", "resource": "cpu"}), value("fairlead_held_pods")

        before = told()
        assert before == (0, 4)
        town.leads = False
        town.scheduler.lost()
        await asyncio.sleep(20)
        assert told() == (None, 0)
        town.leads = True
        town.scheduler.nudge()
        await asyncio.sleep(5)
        assert told() == before

    play(story, **ALLOWED)


def test_intent_that_cannot_be_read_does_not_keep_an_instance_from_leading() -> None:
    """Whoever may write a PodGroup could otherwise end every instance that is about to lead."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        meta = {"name": "odd", "namespace": "ml", "uid": "uid-odd", "annotations": {"fairlead.io/intent": "odd"}}
        town.api.put(POD_GROUPS, {"metadata": meta, "spec": {"minMember": 1}})
        await asyncio.sleep(5)
        town.leads = False
        town.scheduler.lost()
        town.api.remove(PODS, "low-0", namespace="ml")
        town.gang("next", 1, 1)
        await asyncio.sleep(5)
        town.leads = True
        town.scheduler.nudge()
        await asyncio.sleep(5)
        assert town.bound() == {"low": 3, "next": 1}

    play(story, **ALLOWED)


def test_without_permission_it_only_tells_what_it_would_do() -> None:
    """The log names two pods; nobody goes; the group says what it waits for."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        with capture_logs() as said:
            town.gang("high", 2, 2, priority=100)
            await asyncio.sleep(20)
        assert [line["pod"] for line in said if line["event"] == "would evict"] == ["ml/low-0", "ml/low-1"]
        assert town.bound() == {"low": 4}
        assert town.status("high")["phase"] == "Inqueue"
        assert town.status("high")["conditions"][0]["reason"] == "NotEnoughResources"

    play(story)


def test_in_shadow_it_tells_and_writes_nothing() -> None:
    """Although it would be allowed."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        with capture_logs() as said:
            town.gang("high", 2, 2, priority=100)
            await asyncio.sleep(20)
        assert len([line for line in said if line["event"] == "would evict"]) == 2
        assert {method for method, _ in town.api.calls} <= {"GET", "WATCH"}

    play(story, shadow=True, **ALLOWED)


def test_the_switch_is_obeyed_and_lifted() -> None:
    """Stopped: nobody goes. Lifted: the gang starts within seconds."""

    async def story(town: Town) -> None:
        where = {"name": "fairlead-evictions", "namespace": "fairlead-system"}
        town.api.put(CONFIG_MAPS, {"metadata": where, "data": {"stop": "true"}})
        await asyncio.sleep(5)
        town.gang("high", 2, 2, priority=100)
        await asyncio.sleep(30)
        assert town.bound() == {"low": 4}
        assert town.told("EvictionRefused") == ["high-0: no room is made for it: evictions are stopped by the switch"]
        town.api.put(CONFIG_MAPS, {"metadata": where, "data": {"stop": "false"}})
        await asyncio.sleep(30)
        assert town.bound() == {"low": 2, "high": 2}

    play(story, **ALLOWED)


def test_a_reservation_keeps_small_pods_out_until_the_gang_starts() -> None:
    """Three of low end; a small pod asks for the free core, but the gang of four is next."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        town.gang("big", 4, 4)
        await asyncio.sleep(5)
        town.api.remove(PODS, "low-0", namespace="ml")
        await asyncio.sleep(5)
        town.gang("small", 1, 1)
        await asyncio.sleep(15)
        assert town.bound() == {"low": 3}
        for number in (1, 2, 3):
            town.api.remove(PODS, f"low-{number}", namespace="ml")
        await asyncio.sleep(30)
        assert town.bound() == {"big": 4}

    play(story, queue={"reserveAfterSeconds": 2})
