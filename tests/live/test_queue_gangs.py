"""Gangs through the whole scheduler, on a server in memory: recorded, bound, completed, given up."""

import asyncio
from collections.abc import Callable
from typing import Any

import structlog

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import EVENTS, NODES, POD_GROUPS, PODS
from fairlead.live.cluster.turn_types import QueueTurn
from fairlead.live.queue.pod_groups import INTENT
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from tests.fake import FakeApi
from tests.kube.virtual import run

START = "1970-01-01T00:16:40Z"
structlog.configure(processors=[structlog.processors.KeyValueRenderer()])


def cluster(cpus: int, group: dict[str, Any] | None = None, pods: int = 4) -> FakeApi:
    """A node, a PodGroup of all pods, and the pods."""
    api = FakeApi(now=lambda: START)
    status = {"allocatable": {"cpu": str(cpus), "pods": "50"}}
    api.put(NODES, {"metadata": {"name": "n1"}, "status": status})
    body = {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": pods}, **(group or {})}
    api.put(POD_GROUPS, body, namespace="ns")
    for number in range(pods):
        pod(api, f"a-{number}")
    return api


def pod(api: FakeApi, name: str, **more: Any) -> None:
    """A pod of the group."""
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "annotations": {"scheduling.k8s.io/group-name": "g"},
        **more.pop("metadata", {}),
    }
    spec = {
        "schedulerName": "fairlead",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        **more.pop("spec", {}),
    }
    api.put(PODS, {"metadata": meta, "spec": spec, **more}, namespace="ns")


def bound(api: FakeApi, *names: str) -> int:
    """How many of these pods have a node."""
    return sum(bool((api.find(PODS, name, namespace="ns") or {"spec": {}})["spec"].get("nodeName")) for name in names)


def notes(api: FakeApi) -> list[str]:
    """What the Events say."""

    async def listed() -> list[str]:
        return [event["note"] for event in (await Client(api).list(EVENTS.raw)).items]

    return run(listed())


def intent(api: FakeApi) -> str:
    """The group's annotation."""
    group = api.find(POD_GROUPS, "g", namespace="ns")
    assert group is not None
    return str(group["metadata"].get("annotations", {}).get(INTENT, ""))


def follow(
    api: FakeApi, until: Callable[[], bool], options: Options | None = None, leads: bool = True
) -> tuple[Scheduler, list[QueueTurn]]:
    """Run the scheduler until something holds; AssertionError after an hour of its clock."""

    async def holds() -> None:
        for _ in range(36_000):
            if until():
                return
            await asyncio.sleep(0.1)
        raise AssertionError("it never held")

    async def main() -> tuple[Scheduler, list[QueueTurn]]:
        clock = asyncio.get_running_loop().time
        client = Client(api)
        recorder = Recorder(client, component="fairlead", instance="me")
        made = Scheduler(
            Instance(client, recorder=recorder, monotonic=clock, wall=clock, leads=lambda: leads), options or Options()
        )
        turns: list[QueueTurn] = []
        made.cycle.on_turn = turns.append
        tasks = [asyncio.create_task(made.run()), asyncio.create_task(recorder.run())]
        try:
            await holds()
            await asyncio.sleep(5)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return made, turns

    return run(main())


NAMES = tuple(f"a-{number}" for number in range(4))


def test_a_gang_is_recorded_before_its_first_bind_and_the_record_goes_after_the_last() -> None:
    """The order of writes is what a crash can rely on."""
    api = cluster(4)
    follow(api, lambda: bound(api, *NAMES) == 4 and not intent(api))
    writes = [path.rpartition("/")[2] for method, path in api.calls if method in ("POST", "PATCH")]
    assert writes.index("g") < writes.index("binding")
    assert writes.count("binding") == 4
    assert len(writes) - 1 - writes[::-1].index("g") > len(writes) - 1 - writes[::-1].index("binding")


def test_a_gang_that_cannot_be_recorded_is_not_bound() -> None:
    """The group is refused once: nothing is bound on that account, and it starts a little later."""
    api = cluster(4)
    api.fail(409, method="PATCH", path="/podgroups/", times=1)
    seen: list[int] = []
    api.before(lambda: seen.append(bound(api, *NAMES)), method="PATCH", path="/podgroups/", times=2)
    follow(api, lambda: bound(api, *NAMES) == 4 and not intent(api))
    assert seen == [0, 4]
    assert sum(path.endswith("/g") for method, path in api.calls if method == "PATCH") == 3


def test_the_next_leader_completes_what_was_begun() -> None:
    """An intent of somebody who is gone: the missing pods go to their nodes, then the intent goes."""
    text = '{"at": 999.0, "prefix": "a-", "nodes": {"n1": ["0", "1", "2", "3"]}}'
    api = cluster(4, {"metadata": {"name": "g", "namespace": "ns", "annotations": {INTENT: text}}})
    for name in NAMES[:2]:
        pod(api, name, spec={"nodeName": "n1"})
    follow(api, lambda: bound(api, *NAMES) == 4 and not intent(api))


def test_a_follower_leaves_intents_alone() -> None:
    """Only the leader writes."""
    text = '{"at": 999.0, "prefix": "a-", "nodes": {"n1": ["0", "1", "2", "3"]}}'
    api = cluster(4, {"metadata": {"name": "g", "namespace": "ns", "annotations": {INTENT: text}}})
    for name in NAMES:
        pod(api, name, spec={"nodeName": "n1"})
    follow(api, lambda: True, leads=False)
    assert intent(api) == text


def test_a_gang_that_stays_incomplete_is_given_up_and_told() -> None:
    """Three of four fit: after the deadline the owned one is to go, bare ones are told of, the intent is gone."""
    text = '{"at": 1000.0, "prefix": "a-", "nodes": {"n1": ["0", "1", "2", "3"]}}'
    api = cluster(3, {"metadata": {"name": "g", "namespace": "ns", "annotations": {INTENT: text}}})
    owner = {
        "ownerReferences": [{"kind": "Job", "name": "j", "uid": "j", "apiVersion": "batch/v1", "controller": True}]
    }
    pod(api, "a-0", spec={"nodeName": "n1"}, metadata=owner)
    for name in NAMES[1:3]:
        pod(api, name, spec={"nodeName": "n1"})
    _, turns = follow(api, lambda: not intent(api), Options(gang_seconds=60.0))
    released = [each.pod.metadata.name for turn in turns for each in turn.evictions if each.action == "release"]
    assert released == ["a-0"]
    assert any(
        "3 of 4 members" in note and "2 pods without a controller stay (a-1, a-2)" in note for note in notes(api)
    )


def test_shadow_binds_and_records_nothing() -> None:
    """It decides and says what it would do."""
    api = cluster(4)
    follow(api, lambda: True, Options(shadow=True))
    assert bound(api, *NAMES) == 0
    assert intent(api) == ""


def test_members_that_are_still_coming_are_not_told_that_they_are_too_few() -> None:
    """Three of four pods are there: told after a while only; with the fourth the gang starts."""
    api = cluster(4, {"spec": {"minMember": 4}}, pods=3)
    conditions: list[int] = []

    def told() -> bool:
        found = [api.find(PODS, name, namespace="ns") or {} for name in NAMES[:3]]
        conditions.append(sum("conditions" in each.get("status", {}) for each in found))
        return conditions[-1] == 3

    follow(api, told)
    assert conditions[0] == 0
    pod(api, "a-3")
    follow(api, lambda: bound(api, *NAMES) == 4)


def test_room_that_a_refused_pod_leaves_goes_to_who_waits() -> None:
    """The server never takes the first pod; the second, parked for want of room, has the node soon."""
    api = FakeApi(now=lambda: START)
    api.put(NODES, {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "1", "pods": "50"}}})
    pod(api, "a", metadata={"annotations": {}})
    pod(api, "b", metadata={"annotations": {}})
    api.fail(409, method="POST", path="/pods/a/binding", times=10_000)
    follow(api, lambda: bound(api, "b") == 1)
    assert bound(api, "a") == 0


def test_gang_starts_with_its_minimum_though_its_tasks_ask_for_more() -> None:
    """Volcano writes a task's full replicas as its minimum: that is not asked for where the gang's own is less."""
    api = cluster(3, {"spec": {"minMember": 2, "minTaskMember": {"": 4}}})
    follow(api, lambda: bound(api, *NAMES) == 3)
    other = cluster(4, {"spec": {"minMember": 2, "minTaskMember": {"": 4, "comes-later": 2}}})
    follow(other, lambda: bound(other, *NAMES) == 4)
