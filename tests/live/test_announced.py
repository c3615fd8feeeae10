"""Pods whose owner announces a group wait until it is named on them (docs/decisions/0282)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import ALL, NODES, POD_GROUPS, PODS, REPLICA_SETS
from fairlead.live.queue.announced import MIN_MEMBER, QUIET
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from tests.fake import FakeApi
from tests.kube.virtual import run

SIZE = 6
GROUP = "scheduling.k8s.io/group-name"


def cluster(cpus: int = 20) -> FakeApi:
    """One node, and a PodGroup of somebody else, so that the kind is served."""
    api = FakeApi(now=lambda: "1970-01-01T00:16:40Z")
    status = {"allocatable": {"cpu": str(cpus), "pods": "50"}}
    api.put(NODES, {"metadata": {"name": "n1"}, "status": status})
    api.put(POD_GROUPS, {"metadata": {"name": "other", "namespace": "ns"}}, namespace="ns")
    return api


def owner(api: FakeApi, announced: str | None = str(SIZE), *, template: bool = False) -> None:
    """The ReplicaSet, with the annotation on itself or on its template."""
    marks = {MIN_MEMBER: announced} if announced is not None else {}
    meta = {"name": "web", "namespace": "ns", "uid": "rs", "annotations": {} if template else marks}
    spec = {"template": {"metadata": {"annotations": marks if template else {}}}}
    api.put(REPLICA_SETS, {"metadata": meta, "spec": spec}, namespace="ns")


def pod(api: FakeApi, number: int, group: str = "") -> None:
    """A pod of the ReplicaSet."""
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}
    meta = {
        "name": f"web-{number}",
        "namespace": "ns",
        "uid": f"u{number}",
        "ownerReferences": [reference],
        "annotations": {GROUP: group} if group else {},
    }
    spec = {
        "schedulerName": "fairlead",
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
    }
    api.put(PODS, {"metadata": meta, "spec": spec}, namespace="ns")


def bound(api: FakeApi) -> int:
    """How many pods have a node."""
    found = (api.find(PODS, f"web-{number}", namespace="ns") or {"spec": {}} for number in range(20))
    return sum(bool(each["spec"].get("nodeName")) for each in found)


def told(api: FakeApi, number: int = 0) -> str:
    """Why the pod waits."""
    found = api.find(PODS, f"web-{number}", namespace="ns") or {}
    conditions = found.get("status", {}).get("conditions", [])
    return next((each.get("message", "") for each in conditions if each["type"] == "PodScheduled"), "")


def play(api: FakeApi, story: Callable[[], Awaitable[Any]]) -> Any:
    """Run the scheduler beside a story."""

    async def main() -> Any:
        clock = asyncio.get_running_loop().time
        client = Client(api)
        recorder = Recorder(client, component="fairlead", instance="me")
        made = Scheduler(
            Instance(client, recorder=recorder, monotonic=clock, wall=clock, leads=lambda: True), Options()
        )
        task = asyncio.create_task(made.run())
        try:
            await asyncio.sleep(1)
            return await story()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return run(main())


@pytest.mark.parametrize("template", [False, True], ids=["on the owner", "on its template"])
def test_gang_whose_group_comes_late_starts_whole(template: bool) -> None:
    """Pods, then their PodGroup, then its name on one pod after another: never half of them is bound."""
    api = cluster()
    counts: list[int] = []

    async def story() -> None:
        owner(api, template=template)
        for number in range(SIZE):
            pod(api, number)
            await asyncio.sleep(0.01)
        group = {"metadata": {"name": "pg", "namespace": "ns"}, "spec": {"minMember": SIZE}}
        api.put(POD_GROUPS, group, namespace="ns")
        for number in range(SIZE):
            await asyncio.sleep(0.17)
            counts.append(bound(api))
            pod(api, number, "pg")
        await asyncio.sleep(1)

    play(api, story)
    assert counts == [0] * SIZE
    assert bound(api) == SIZE


def test_pod_whose_group_does_not_come_is_told_and_not_bound() -> None:
    """It says nothing for a while, then names owner, number and annotation."""
    api = cluster()

    async def story() -> tuple[str, str]:
        owner(api)
        pod(api, 0)
        await asyncio.sleep(QUIET - 0.5)
        early = told(api)
        await asyncio.sleep(5)
        return early, told(api)

    early, late = play(api, story)
    assert early == ""
    assert late == (
        "GroupAwaited: ReplicaSet web announces a group of 6 pods (scheduling.volcano.sh/group-min-member), "
        "and the annotation scheduling.k8s.io/group-name does not name it yet"
    )
    assert bound(api) == 0


@pytest.mark.parametrize("announced", [None, "1", "0", "many"])
def test_pods_of_owners_that_announce_no_gang_start_at_once(announced: str | None) -> None:
    """Without a number above one there is nothing to wait for."""
    api = cluster()

    async def story() -> int:
        owner(api, announced)
        pod(api, 0)
        await asyncio.sleep(0.5)
        return bound(api)

    assert play(api, story) == 1


def test_pod_that_is_seen_before_its_owner_waits_for_it_a_moment() -> None:
    """A watch of another kind may be behind: the pod starts as soon as its owner says nothing, or stays away."""
    api = cluster()

    async def story() -> tuple[int, int]:
        pod(api, 0)
        await asyncio.sleep(0.3)
        early = bound(api)
        owner(api, None)
        await asyncio.sleep(0.3)
        return early, bound(api)

    assert play(api, story) == (0, 1)

    orphan = cluster()

    async def alone() -> int:
        pod(orphan, 0)
        await asyncio.sleep(2)
        return bound(orphan)

    assert play(orphan, alone) == 1


def test_pods_of_an_owner_that_is_never_seen_take_part_in_a_contested_turn() -> None:
    """Five such pods on a node for three: three start, and those that wait are told that room is missing."""
    api = cluster(cpus=3)

    async def story() -> int:
        for number in range(5):
            pod(api, number)
        await asyncio.sleep(10)
        return bound(api)

    assert play(api, story) == 3
    assert [("cpu" in why) for why in (told(api, number) for number in range(5)) if why] == [True, True]


def test_announcement_taken_back_lets_pods_go() -> None:
    """The annotation is edited away: they are single pods."""
    api = cluster()

    async def story() -> tuple[int, int]:
        owner(api)
        pod(api, 0)
        await asyncio.sleep(1)
        before = bound(api)
        owner(api, None)
        await asyncio.sleep(1)
        return before, bound(api)

    assert play(api, story) == (0, 1)


def test_without_pod_groups_on_the_server_nobody_waits_for_one() -> None:
    """The names mean nothing there."""
    api = FakeApi(served=[resource for resource in ALL if resource != POD_GROUPS])
    api.put(NODES, {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "pods": "9"}}})

    async def story() -> int:
        owner(api)
        pod(api, 0)
        await asyncio.sleep(0.5)
        return bound(api)

    assert play(api, story) == 1
