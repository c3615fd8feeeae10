"""What workloads and pods are told: one Event a decision for the owner, a bounded number for single pods."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import EVENTS, NODES, PODS
from fairlead.levels.node.constraints.reasons import NO_ROOM
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.messages import explanation, message, summary
from fairlead.live.scheduler.notifier import BURST, PER_SECOND, REWORD, EventPace, PodNotifier
from fairlead.model.decision import Rejection
from tests.fake import FakeApi
from tests.kube.virtual import run

RECORDS = Records()
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "w1", "controller": True}


def pod(name: str, **more: Any) -> PodRecord:
    """A pod of a workload."""
    meta = {"name": name, "namespace": "shop", "uid": f"{name}-1", "ownerReferences": [OWNER], **more}
    return RECORDS.record(msgspec.convert({"metadata": meta, "spec": {}}, Pod))


def outcome(placed: list[str], waiting: int = 0, **more: Any) -> PodSetOutcome:
    """A group of which some pods go to these nodes."""
    pods = tuple(pod(f"p{number}", **more) for number in range(len(placed) + waiting))
    return PodSetOutcome(
        group=PodSet(controller="ReplicaSet/shop/web", shape=pods[0].shape, pods=pods),
        placed=tuple(zip(pods, placed, strict=False)),
        waiting=pods[len(placed) :],
        considered=3,
        rejected=(Rejection(reason=NO_ROOM, count=3, names=("n1", "n2", "n3")),) if waiting else (),
    )


@pytest.mark.parametrize(
    ("made", "want"),
    [
        (outcome(["n1", "n1"]), "2 of 2 replicas placed on 1 node"),
        (outcome(["n1", "n2"], 1), "2 of 3 replicas placed on 2 nodes; the others wait: 0/3 nodes can take this pod"),
        (outcome([], 1), "0 of 1 replicas placed; the others wait: 0/3 nodes can take this pod"),
    ],
    ids=["all", "some", "none"],
)
def test_summary_says_how_many_and_why_not_more(made: PodSetOutcome, want: str) -> None:
    """One line for the workload."""
    assert summary(made).startswith(want)


def written(*outcomes: PodSetOutcome, bound: int = 0) -> list[dict[str, Any]]:
    """The events at the server after these decisions and so many binds at one moment."""
    api = FakeApi()

    async def story() -> list[dict[str, Any]]:
        recorder = Recorder(Client(api), component="c", instance="i", clock=lambda: 0.0)
        teller = PodNotifier(Client(api), recorder, lambda: 0.0, lambda: 0.0)
        for each in outcomes:
            teller.decided(each)
        for number in range(bound):
            teller.bound(pod(f"b{number}"), "n1")
        await recorder.flush()
        return (await Client(api).list(EVENTS.raw)).items

    return run(story())


def test_owner_is_told_of_its_workload() -> None:
    """Placed and waiting are two things; said again they are a series, not more events."""
    found = written(outcome(["n1"]), outcome(["n1"]), outcome(["n1"], 1))
    assert sorted((each["reason"], each["regarding"]["kind"], each["regarding"]["uid"]) for each in found) == [
        ("FailedScheduling", "ReplicaSet", "w1"),
        ("Scheduled", "ReplicaSet", "w1"),
    ]


def test_pod_without_an_owner_makes_no_event_of_a_workload() -> None:
    """There is nobody to tell it to."""
    assert written(outcome(["n1"], ownerReferences=[])) == []


def test_events_of_single_pods_are_bounded() -> None:
    """Of a thousand binds at once the first have an event each."""
    assert len(written(bound=1000)) == BURST


def test_a_pod_is_told_of_its_annotation_that_is_not_obeyed() -> None:
    """When it is bound and where it is explained; it alone, not the others of its group."""
    zone = pod("z", annotations={"volcano.sh/revocable-zone": "*"})
    plain = pod("p")
    waits = outcome([], 1)
    said = "annotation volcano.sh/revocable-zone is not obeyed"
    assert explanation(zone, "", waits)["message"] == f"{message(waits)}; {said}"
    assert explanation(plain, "", waits)["message"] == message(waits)
    api = FakeApi()

    async def story() -> list[str]:
        recorder = Recorder(Client(api), component="c", instance="i", clock=lambda: 0.0)
        notifier = PodNotifier(Client(api), recorder, lambda: 0.0, lambda: 0.0)
        for each in (zone, plain):
            notifier.bound(each, "n1")
        await recorder.flush()
        return [each["note"] for each in (await Client(api).list(EVENTS.raw)).items]

    assert sorted(run(story())) == ["assigned to n1", f"assigned to n1; {said}"]


def test_pace_recovers_with_time() -> None:
    """After the burst so many a second."""
    now = [0.0]
    pace = EventPace(lambda: now[0])
    assert sum(pace.may() for _ in range(500)) == BURST
    now[0] = 2.0
    assert sum(pace.may() for _ in range(500)) == 2 * PER_SECOND


class Listening(Client):
    """Notes every condition that the server took, as (pod, message), in order."""

    def __init__(self, api: FakeApi) -> None:
        super().__init__(api)
        self.heard: list[tuple[str, str]] = []

    async def patch(self, resource: Any, name: str, patch: Any, **how: Any) -> Any:
        answer = await super().patch(resource, name, patch, **how)
        self.heard.append((name, patch["status"]["conditions"][0]["message"]))
        return answer


def telling(story: Callable[[PodNotifier, FakeApi], Awaitable[None]]) -> list[tuple[str, str]]:
    """What the pods p0 and p1 are told in a story."""
    api = FakeApi()
    for name in ("p0", "p1"):
        api.put(PODS, {"metadata": {"name": name, "namespace": "shop", "uid": f"{name}-1"}, "spec": {}})

    async def main() -> list[tuple[str, str]]:
        clock, client = asyncio.get_running_loop().time, Listening(api)
        teller = PodNotifier(client, None, clock, clock)
        writing = asyncio.create_task(teller.run())
        await story(teller, api)
        writing.cancel()
        return client.heard

    return run(main())


def test_numbers_that_change_are_told_now_and_then_and_only_the_last() -> None:
    """A hundred wordings within ten seconds are two writes."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        for number in range(100):
            teller.waits(pod("p0"), f"{number} nodes are full")
            await asyncio.sleep(REWORD / 200)
        await asyncio.sleep(REWORD)

    assert telling(story) == [("p0", "0 nodes are full"), ("p0", "99 nodes are full")]


def test_who_was_told_nothing_comes_first() -> None:
    """Other words for one pod wait behind the first words for another."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        teller.waits(pod("p0"), "full")
        await asyncio.sleep(2 * REWORD)
        teller.waits(pod("p0"), "fuller")
        teller.waits(pod("p1"), "full")
        await asyncio.sleep(1)

    assert telling(story) == [("p0", "full"), ("p1", "full"), ("p0", "fuller")]


def test_a_waiting_pod_is_told_of_its_annotation_that_is_not_obeyed() -> None:
    """Behind what stops it."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        teller.waits(pod("p0", annotations={"volcano.sh/revocable-zone": "*"}), "full")
        await asyncio.sleep(1)

    assert telling(story) == [("p0", "full; annotation volcano.sh/revocable-zone is not obeyed")]


def test_pod_that_found_a_node_is_told_nothing_more() -> None:
    """What was to be said is dropped."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        teller.waits(pod("p0"), "full")
        teller.gone("p0-1")
        await asyncio.sleep(2 * REWORD)

    assert telling(story) == []


def test_words_that_the_server_did_not_take_are_said_again() -> None:
    """A server that fails beyond all retries is asked again later, though the pod still waits for the same."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        api.fail(500, method="PATCH", times=1000)
        teller.waits(pod("p0"), "full")
        await asyncio.sleep(100)
        api.faults.rules.clear()
        teller.waits(pod("p0"), "full")
        await asyncio.sleep(200)

    assert telling(story) == [("p0", "full")]


def test_pod_that_the_server_does_not_know_is_told_nothing_more() -> None:
    """It is gone, whatever the watch still says: one request, and no second."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        teller.waits(pod("p9"), "full")
        await asyncio.sleep(3 * REWORD)
        assert sum(method == "PATCH" for method, _ in api.calls) == 1

    assert telling(story) == []


def test_condition_on_its_way_does_not_land_after_the_bind() -> None:
    """Half a second on the wire, in which the pod is bound: the server refuses it, and it is not said again."""
    api = FakeApi(now=lambda: "1970-01-01T00:16:40Z")
    api.put(NODES, {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "1", "pods": "9"}}})
    spec = {"schedulerName": "fairlead", "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}
    api.put(PODS, {"metadata": {"name": "p", "namespace": "shop", "uid": "u"}, "spec": spec})
    conditions: list[tuple[str, str]] = []

    async def main() -> None:
        clock = asyncio.get_running_loop().time
        made = Scheduler(Instance(Client(api), monotonic=clock, wall=clock), Options())
        task = asyncio.create_task(made.run())
        await asyncio.sleep(0.005)
        api.faults.seconds = 0.5
        await asyncio.sleep(0.2)
        assert [path for method, path in api.calls if method == "PATCH"]
        found = api.find(PODS, "p", namespace="shop")
        assert found is not None
        done = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
        api.put(PODS, {**found, "spec": {**spec, "nodeName": "n1"}, "status": done})
        await asyncio.sleep(60)
        found = api.find(PODS, "p", namespace="shop")
        assert found is not None
        conditions.extend((each["type"], each["status"]) for each in found["status"]["conditions"])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(main())
    assert conditions == [("PodScheduled", "True")]
    assert sum(method == "PATCH" for method, _ in api.calls) == 1


def test_condition_refused_for_another_edit_is_said_again() -> None:
    """The pod was edited meanwhile and still waits: it is told later, in its newest version."""

    async def story(teller: PodNotifier, api: FakeApi) -> None:
        api.fail(409, method="PATCH", times=1)
        teller.waits(pod("p0"), "full")
        await asyncio.sleep(2 * REWORD)

    assert telling(story) == [("p0", "full")]
