"""Gangs are whole or not there at all: with bound cores, with claims, after a crash, with evictions and without."""

import asyncio
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.fence import Fence
from fairlead.kube.resources import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_GROUPS,
    PODS,
    STORAGE_CLASSES,
)
from fairlead.kube.transport import Response
from fairlead.live.queue.pod_groups import INTENT
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.wiring import QueueWiring
from fairlead.settings import read_configuration
from tests.fake import FakeApi
from tests.kube.virtual import run

GANG_SECONDS = 60.0
BOTH = pytest.mark.parametrize("evictions", [False, True], ids=["no evictions", "evictions"])


class Api(FakeApi):
    """Remembers the intents and the binds in the order in which they came, and how many were ever bound."""

    def __init__(self) -> None:
        super().__init__(now=lambda: "1970-01-01T00:16:40Z")
        self.story: list[str] = []

    async def request(self, method: str, path: str, **options: Any) -> Response:
        if path.endswith("/binding"):
            self.story.append("bind")
        if method == "PATCH" and path.endswith("/podgroups/g"):
            body = msgspec.json.decode(options["body"])
            if isinstance(body, list):
                self.story.append("end")
            elif INTENT in body["metadata"].get("annotations", {}):
                self.story.append(body["metadata"]["annotations"][INTENT])
        return await super().request(method, path, **options)

    def node(self, name: str, cpu: str) -> None:
        """A node with so many cores."""
        status = {"capacity": {"cpu": cpu}, "allocatable": {"cpu": cpu, "pods": "50"}}
        self.put(NODES, {"metadata": {"name": name}, "status": status})

    def gang(self, least: int, intent: str = "") -> None:
        """The PodGroup."""
        annotations = {INTENT: intent} if intent else {}
        meta = {"name": "g", "namespace": "ns", "uid": "uid-g", "annotations": annotations}
        self.put(POD_GROUPS, {"metadata": meta, "spec": {"minMember": least}}, namespace="ns")

    def member(self, number: int, *, cpu: str = "1", claim: str = "", cores: bool = False, node: str = "") -> None:
        """A pod of the gang, owned by a Job."""
        notes = {"scheduling.k8s.io/group-name": "g", **({"fairlead.io/bind-cpu": "true"} if cores else {})}
        owner = {"kind": "Job", "name": "j", "uid": "j", "apiVersion": "batch/v1", "controller": True}
        meta = {
            "name": f"a-{number}",
            "namespace": "ns",
            "uid": f"u{number}",
            "annotations": notes,
            "ownerReferences": [owner],
        }
        spec: dict[str, Any] = {
            "schedulerName": "fairlead",
            "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
        }
        if node:
            spec["nodeName"] = node
        if claim:
            spec["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
            self._claim(claim)
        self.put(PODS, {"metadata": meta, "spec": spec}, namespace="ns")

    def _claim(self, name: str) -> None:
        self.put(
            STORAGE_CLASSES,
            {"metadata": {"name": "late"}, "provisioner": "x.csi", "volumeBindingMode": "WaitForFirstConsumer"},
        )
        spec = {
            "storageClassName": "late",
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
        claim = {"metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"}, "spec": spec}
        self.put(PERSISTENT_VOLUME_CLAIMS, claim, namespace="ns")

    def provide(self, name: str) -> None:
        """The volume of a claim is made and bound to it."""
        reference = {"namespace": "ns", "name": name, "uid": f"uid-{name}"}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            "claimRef": reference,
        }
        self.put(PERSISTENT_VOLUMES, {"metadata": {"name": f"pv-{name}"}, "spec": spec, "status": {"phase": "Bound"}})
        claim = self.find(PERSISTENT_VOLUME_CLAIMS, name, namespace="ns")
        assert claim is not None
        notes = {**claim["metadata"].get("annotations", {}), "pv.kubernetes.io/bind-completed": "yes"}
        metadata = {**claim["metadata"], "annotations": notes}
        changed = {**claim, "metadata": metadata, "spec": {**claim["spec"], "volumeName": f"pv-{name}"}}
        self.put(PERSISTENT_VOLUME_CLAIMS, changed, namespace="ns")

    @property
    def bound(self) -> list[str]:
        """The members on nodes."""
        pods = self.store.listed(f"{PODS.root}/{PODS.plural}", "ns", "", "")
        found = [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]
        return [name for name in found if name.startswith("a-")]

    @property
    def intents(self) -> list[dict[str, Any]]:
        """Those that were written."""
        return [msgspec.json.decode(text) for text in self.story if text not in ("bind", "end")]

    @property
    def intent(self) -> str:
        """The annotation now."""
        found = self.find(POD_GROUPS, "g", namespace="ns")
        assert found is not None
        return str(found["metadata"].get("annotations", {}).get(INTENT, ""))


class Running:
    """The scheduler with its duties, on the virtual clock."""

    def __init__(self, api: Api, *, evictions: bool, shadow: bool = False) -> None:
        clock = asyncio.get_running_loop().time
        self.clock = clock
        self.fence = Fence(clock)
        client = Client(api).fenced(self.fence)
        self._open()
        instance = Instance(client, monotonic=clock, wall=lambda: clock() - 1e6, leads=lambda: self.fence.open)
        self.scheduler = Scheduler(instance, Options(gang_seconds=GANG_SECONDS, shadow=shadow))
        text = {
            "apiVersion": "fairlead.io/v1alpha1",
            "kind": "Configuration",
            "evictions": {"allowed": evictions, "perMinute": 100},
        }
        configuration = read_configuration(msgspec.json.encode(text), "test")
        self.duties = QueueWiring(self.scheduler, configuration)
        self.tasks = [asyncio.create_task(each()) for each in (self.duties.run, self.scheduler.run)]

    def lose(self) -> None:
        """The lease is lost."""
        self.fence.close()
        self.duties.lost()
        self.scheduler.lost()

    def win(self) -> None:
        """The lease is won."""
        self._open()
        self.scheduler.nudge()

    def _open(self) -> None:
        self.fence.begin()
        self.fence.extend(inf, inf)

    async def stop(self) -> None:
        failed = [task.exception() for task in self.tasks if task.done()]
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        assert failed == []


def play(api: Api, story: Callable[[Running], Awaitable[None]], **options: Any) -> None:
    """Run the scheduler while the story is told."""

    async def main() -> None:
        running = Running(api, **{"evictions": False, **options})
        await story(running)
        await running.stop()

    run(main())


def wait(seconds: float) -> Callable[[Running], Awaitable[None]]:
    """A story in which nothing happens."""

    async def story(running: Running) -> None:
        await asyncio.sleep(seconds)

    return story


@BOTH
def test_members_with_bound_cores_are_recorded_together(evictions: bool) -> None:
    """One intent names all of them before the first bind, and goes after the last."""
    api = Api()
    api.node("n1", "8")
    api.node("n2", "8")
    api.gang(3)
    for number in range(3):
        api.member(number, cpu="2", cores=True)
    play(api, wait(10), evictions=evictions)
    assert len(api.bound) == 3
    (intent,) = api.intents
    assert sorted(name for names in intent["nodes"].values() for name in names) == ["0", "1", "2"]
    assert api.story[1:] == ["bind", "bind", "bind", "end"]


@BOTH
def test_members_with_bound_cores_that_do_not_fit_together_are_not_begun(evictions: bool) -> None:
    """Four times 1.75 cores are 7 in sum, but a fragment each needs a core of its own: three would fit, none starts."""
    api = Api()
    api.node("n1", "7")
    api.gang(4)
    for number in range(4):
        api.member(number, cpu="1750m", cores=True)
    play(api, wait(3 * GANG_SECONDS), evictions=evictions)
    assert api.story == []


@BOTH
def test_members_with_claims_start_when_all_volumes_are_there(evictions: bool) -> None:
    """One volume comes: nothing is bound, however long it takes. With the others the gang is recorded and bound."""
    api = Api()
    api.node("n1", "8")
    api.gang(3)
    for number in range(3):
        api.member(number, claim=f"c{number}")

    async def story(running: Running) -> None:
        await asyncio.sleep(1)
        api.provide("c0")
        await asyncio.sleep(3000)
        assert api.story == []
        api.provide("c1")
        api.provide("c2")
        await asyncio.sleep(60)

    play(api, story, evictions=evictions)
    assert len(api.bound) == 3
    assert [each for each in api.story if each in ("bind", "end")] == ["bind", "bind", "bind", "end"]
    assert len(api.intents) == 1


def test_member_that_goes_while_volumes_are_made_takes_the_gang_along() -> None:
    """Two of three are left: their volumes are not waited for, and the room is free for others."""
    api = Api()
    api.node("n1", "3")
    api.gang(3)
    for number in range(3):
        api.member(number, claim=f"c{number}")

    async def story(running: Running) -> None:
        await asyncio.sleep(1)
        assert len(running.scheduler.cache.assumed) == 3
        api.remove(PODS, "a-1", namespace="ns")
        await asyncio.sleep(1)
        assert running.scheduler.cache.assumed == {}
        for number in (0, 2):
            api.provide(f"c{number}")
        await asyncio.sleep(60)
        assert api.bound == []
        api.member(1, claim="c1")
        api.provide("c1")
        await asyncio.sleep(60)

    play(api, story)
    assert len(api.bound) == 3


def test_gang_goes_on_without_a_member_that_it_does_not_need() -> None:
    """Three of four are the minimum: the volume of the fourth cannot be made."""
    api = Api()
    api.node("n1", "8")
    api.gang(3)
    for number in range(4):
        api.member(number, claim=f"c{number}")

    async def story(running: Running) -> None:
        await asyncio.sleep(1)
        for number in range(3):
            api.provide(f"c{number}")
        await asyncio.sleep(1)
        assert api.bound == []
        await asyncio.sleep(700)

    play(api, story)
    assert api.bound == ["a-0", "a-1", "a-2"]


TEXT = '{"at":1000.0,"prefix":"a-","nodes":{"n1":["0","1","2"]}}'


@BOTH
def test_intent_of_which_nothing_is_bound_is_kept_whole_or_dropped(evictions: bool) -> None:
    """The leader died before the first bind and a stranger took room: two would fit, so none is bound."""
    api = Api()
    api.node("n1", "8")
    stranger = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "4"}}}], "nodeName": "n1"}
    api.put(PODS, {"metadata": {"name": "s", "namespace": "ns", "uid": "s"}, "spec": stranger}, namespace="ns")
    api.gang(3, TEXT)
    for number in range(3):
        api.member(number, cpu="2")

    async def story(running: Running) -> None:
        await asyncio.sleep(20)
        assert api.bound == []
        assert api.intent == ""
        await asyncio.sleep(600)
        assert api.bound == []
        api.remove(PODS, "s", namespace="ns")
        await asyncio.sleep(20)

    play(api, story, evictions=evictions)
    assert len(api.bound) == 3


def test_intent_of_which_nothing_is_bound_moves_as_a_whole_where_there_is_room() -> None:
    """One place is taken: its pod goes elsewhere, the others stay with the intent."""
    api = Api()
    api.node("n1", "4")
    api.node("n2", "4")
    stranger = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "nodeName": "n1"}
    api.put(PODS, {"metadata": {"name": "s", "namespace": "ns", "uid": "s"}, "spec": stranger}, namespace="ns")
    api.gang(3, TEXT.replace('["0","1","2"]', '["0","1"],"gone":["2"]'))
    for number in range(3):
        api.member(number)
    play(api, wait(20))
    assert len(api.bound) == 3
    assert api.intents[0]["nodes"] == {"n1": ["0", "1"], "n2": ["2"]}


@pytest.mark.parametrize("at", ["0.0", "1e12"], ids=["an old date", "a date to come"])
def test_deadline_goes_by_the_clock_of_the_instance_that_keeps_it(at: str) -> None:
    """Two of three are bound by a leader whose wall clock was wrong: a minute from now on they are released."""
    api = Api()
    api.node("n1", "2")
    api.gang(3, TEXT.replace("1000.0", at))
    for number in range(2):
        api.member(number, node="n1")
    api.member(2)

    async def story(running: Running) -> None:
        await asyncio.sleep(GANG_SECONDS - 5)
        assert len(api.bound) == 2
        await asyncio.sleep(20)

    play(api, story, evictions=True)
    assert api.bound == []
    assert api.intent == ""


def test_deadline_is_not_put_off_by_attempts_that_fail() -> None:
    """One member is bound, the bind of the other is refused again and again: the gang is released in time."""
    api = Api()
    api.node("n1", "4")
    api.gang(2)
    api.fail(409, method="POST", path="/pods/a-1/binding", times=10_000)
    for number in range(2):
        api.member(number)

    async def story(running: Running) -> None:
        await asyncio.sleep(GANG_SECONDS - 10)
        assert api.bound == ["a-0"]
        await asyncio.sleep(30)
        assert api.bound == []

    play(api, story, evictions=True)
    assert len(api.intents) > 2


def test_regained_lead_goes_on_with_gangs_that_another_has_ended() -> None:
    """The lead is lost while a gang is open; another binds it and ends its intent; the lead comes back."""
    api = Api()
    api.node("n1", "8")
    api.gang(2)

    async def story(running: Running) -> None:
        await asyncio.sleep(1)
        api.cut(method="POST", path="/binding", times=100)
        api.member(0)
        api.member(1)
        await asyncio.sleep(2)
        assert api.intent
        running.lose()
        await asyncio.sleep(1)
        api.faults.rules.clear()
        api.gang(2)
        await asyncio.sleep(1)
        running.win()
        for number in range(2):
            api.member(number, node="n1")
        await asyncio.sleep(5)

    play(api, story)
    assert api.bound == ["a-0", "a-1"]


def test_regained_lead_completes_a_gang_that_nobody_has_ended() -> None:
    """The end of the intent was not written before the lead was lost: it is written after the lead is won again."""
    api = Api()
    api.node("n1", "8")
    api.gang(2)

    async def story(running: Running) -> None:
        api.fail(503, method="PATCH", path="/podgroups/g", times=1000)
        text = TEXT.replace('["0","1","2"]', '["0","1"]')
        api.gang(2, text)
        for number in range(2):
            api.member(number, node="n1")
        await asyncio.sleep(10)
        running.lose()
        api.faults.rules.clear()
        await asyncio.sleep(10)
        assert api.intent == text
        running.win()
        await asyncio.sleep(5)

    play(api, story)
    assert api.intent == ""


def test_shadow_ends_no_intent() -> None:
    """It decides and reports; what is written on PodGroups stays as it is."""
    api = Api()
    api.node("n1", "8")
    api.gang(3, TEXT)
    for number in range(3):
        api.member(number, node="n1")
    play(api, wait(3 * GANG_SECONDS), shadow=True)
    assert api.intent == TEXT
    assert api.story == []
