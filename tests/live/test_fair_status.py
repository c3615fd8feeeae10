"""Status of PodGroups and Queues: phases, conditions and counts; written when they change, at a bounded rate."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.objects.volcano import NativePodGroup, PodGroup, VolcanoQueue
from fairlead.kube.resources import NATIVE_POD_GROUPS, POD_GROUPS, QUEUES
from fairlead.levels.queue import reasons
from fairlead.live.cluster.identity import JobSource
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import LiveJob, Promise, QueueTurn
from fairlead.live.queue import promise_ends, status_loop
from fairlead.live.queue.evictor import Evictor
from fairlead.live.queue.gangs import GATHERING
from fairlead.live.queue.gate import Asking
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.queue.pod_status import PodStatusWriter
from fairlead.live.queue.promise_ends import PodSight, PromiseEnds
from fairlead.live.queue.status import allocated, group_patch, native_patch, phase, queue_patch
from fairlead.live.queue.status_loop import Sight, StatusLoop
from fairlead.live.runtime.evictions import Evictions
from fairlead.live.runtime.pulse import Pulse
from fairlead.model.reasons import Finding, because
from fairlead.problems import share
from fairlead.text.documents import strict
from tests.kube.virtual import run
from tests.live.fair_turns import Place4, body, live_job, record

NOW = "2026-01-01T00:00:00Z"
FULL = because(reasons.NODES_FULL, fits=1, count=4, detail="3 InsufficientRoom")
FEW = because(reasons.GANG_ABOVE_REPLICAS, job="train", minimum=4, replicas=3)
CLOSED = because(reasons.QUEUE_CLOSED, queue="q")

PHASES: dict[str, tuple[LiveJob, Finding | None, str]] = {
    "it waits for room": (live_job(waiting=4, min_member=4), FULL, "Inqueue"),
    "it has no pods yet": (live_job(min_member=4), None, "Inqueue"),
    "members are missing": (live_job(waiting=3, min_member=4), FEW, "Inqueue"),
    "its queue is closed": (live_job(waiting=4, min_member=4), CLOSED, "Pending"),
    "its gang runs": (live_job(running=4, min_member=4), None, "Running"),
    "more wait above the gang": (live_job(waiting=2, running=4, min_member=4), FULL, "Running"),
    "a part of the gang runs": (live_job(waiting=2, running=2, min_member=4), FULL, "Unknown"),
    "all is done": (live_job(min_member=0, succeeded=4), None, "Completed"),
    "what is left of it runs": (live_job(running=1, min_member=1, succeeded=3), None, "Running"),
}


@pytest.mark.parametrize(("job", "finding", "want"), PHASES.values(), ids=PHASES)
def test_phase_is_what_tools_expect(job: LiveJob, finding: Finding | None, want: str) -> None:
    """The phases of Volcano, for what a gang can be in."""
    assert phase(job, finding) == want


def _group(**status: Any) -> PodGroup:
    meta = {"name": "train", "namespace": "ml", "resourceVersion": "7"}
    return msgspec.convert({"metadata": meta, "spec": {"minMember": 4, "queue": "q"}, "status": status}, PodGroup)


def test_a_gang_that_waits_says_so_with_known_words() -> None:
    """Condition Unschedulable, reason NotEnoughResources, the level's sentence and code in the message."""
    patch = group_patch(_group(), live_job(waiting=4, min_member=4), FULL, NOW)
    assert patch is not None
    assert patch["metadata"] == {"resourceVersion": "7"}
    (condition,) = patch["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "Unschedulable",
        "True",
        "NotEnoughResources",
    )
    assert condition["message"].startswith("4/4 tasks in gang unschedulable: ")
    assert condition["message"].endswith("(NodesFull)")
    assert patch["status"]["phase"] == "Inqueue"


def test_a_gang_with_too_few_pods_says_so() -> None:
    """Reason NotEnoughTasks."""
    patch = group_patch(_group(), live_job(waiting=3, min_member=4), FEW, NOW)
    assert patch is not None
    assert patch["status"]["conditions"][0]["reason"] == "NotEnoughTasks"
    assert patch["status"]["conditions"][0]["message"] == "3 pods exist, 4 start together"


@pytest.mark.parametrize("waiting", [0, 3, 4])
def test_of_a_gang_whose_turn_has_not_come_nothing_is_said(waiting: int) -> None:
    """It was let in, and no turn has refused it: no condition, whatever pods there are."""
    patch = group_patch(_group(), live_job(waiting=waiting, min_member=4), None, NOW)
    assert patch is not None
    assert patch["status"] == {"phase": "Inqueue"}


def test_a_gang_that_starts_turns_its_conditions_round() -> None:
    """Scheduled becomes true, Unschedulable false, other people's conditions and times stay."""
    foreign = {"type": "Other", "status": "True", "lastTransitionTime": "2025-01-01T00:00:00Z", "transitionID": "x"}
    waits = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "lastTransitionTime": "then"}
    group = _group(phase="Inqueue", conditions=[foreign, waits])
    patch = group_patch(group, live_job(running=4, min_member=4), None, NOW)
    assert patch is not None
    found = {each["type"]: each for each in patch["status"]["conditions"]}
    assert found["Other"] == foreign
    assert (found["Scheduled"]["status"], found["Scheduled"]["lastTransitionTime"]) == ("True", NOW)
    assert found["Scheduled"]["reason"] == "tasks in gang are ready to be scheduled"
    assert found["Unschedulable"]["status"] == "False"
    assert (patch["status"]["phase"], patch["status"]["running"]) == ("Running", 4)


def test_what_is_up_to_date_is_not_written() -> None:
    """A patch applied is no patch any more; a new message alone keeps the time of the transition."""
    job = live_job(waiting=4, min_member=4)
    first = group_patch(_group(), job, FULL, NOW)
    assert first is not None
    written = _group(**first["status"])
    assert group_patch(written, job, FULL, "2026-01-01T01:00:00Z") is None
    again = group_patch(written, job, because(reasons.NEXT_CYCLE), "2026-01-01T01:00:00Z")
    assert again is not None
    assert list(again["status"]) == ["conditions"]
    assert again["status"]["conditions"][0]["lastTransitionTime"] == NOW


def _native(*conditions: dict[str, Any]) -> NativePodGroup:
    meta = {"name": "train", "namespace": "ml", "resourceVersion": "7", "generation": 2}
    return msgspec.convert({"metadata": meta, "status": {"conditions": conditions}}, NativePodGroup)


SCHEDULED = {"type": "PodGroupScheduled", "status": "True", "reason": "Scheduled", "observedGeneration": 2}
NATIVE: dict[str, tuple[LiveJob, Finding | None, dict[str, str] | None]] = {
    "it waits": (live_job(waiting=4, min_member=4), FULL, {"status": "False", "reason": "Unschedulable"}),
    "a part of it is on nodes": (
        live_job(waiting=2, running=2, min_member=4),
        FULL,
        {"status": "False", "reason": "Unschedulable"},
    ),
    "pods are missing": (live_job(waiting=3, min_member=4), None, None),
    "it runs": (live_job(running=4, min_member=4), None, {"status": "True", "reason": "Scheduled"}),
    "it has ended": (live_job(min_member=0, succeeded=4), None, {"status": "True", "reason": "Scheduled"}),
}


@pytest.mark.parametrize(("job", "finding", "want"), NATIVE.values(), ids=NATIVE)
def test_native_gangs_are_told_of_as_kube_scheduler_does(
    job: LiveJob, finding: Finding | None, want: dict[str, str] | None
) -> None:
    """One condition with that API's type and reasons, of the generation that was seen; none before the pods exist."""
    patch = native_patch(_native(), job, finding, NOW)
    if want is None:
        assert patch is None
        return
    assert patch is not None
    assert patch["metadata"] == {"resourceVersion": "7"}
    (told,) = patch["status"]["conditions"]
    assert {"type": "PodGroupScheduled", "observedGeneration": 2, "lastTransitionTime": NOW} | want == {
        key: value for key, value in told.items() if key != "message"
    }
    assert ("(NodesFull)" in told.get("message", "")) == (finding is FULL)
    assert native_patch(_native(told), job, finding, "later") is None


def test_a_native_gang_that_was_scheduled_stays_so() -> None:
    """As kube-scheduler has it: a member that waits again does not take the word back; others' conditions stay."""
    other = {"type": "DisruptionTarget", "status": "False", "reason": "PreemptionByScheduler"}
    half = live_job(waiting=2, running=2, min_member=4)
    assert native_patch(_native(other, SCHEDULED), half, FULL, NOW) is None
    patch = native_patch(_native(other), half, FULL, NOW)
    assert patch is not None
    assert [each["type"] for each in patch["status"]["conditions"]] == ["DisruptionTarget", "PodGroupScheduled"]


def _queue(name: str, **more: Any) -> VolcanoQueue:
    return msgspec.convert({"metadata": {"name": name, "resourceVersion": "7"}, **more}, VolcanoQueue)


def test_queue_status_counts_what_is_held_and_who_waits() -> None:
    """Amounts of pods on nodes, also in the queue above; groups by phase; the state only where there is none."""
    queues = {"q": _queue("q", spec={"parent": "top"}), "top": _queue("top"), "idle": _queue("idle")}
    held = allocated([live_job(running=3), live_job(waiting=9, name="other")], {}, queues)
    assert held["q"]["cpu"] == held["top"]["cpu"] == 3000
    assert held["idle"]["cpu"] == 0
    patch = queue_patch(queues["q"], held["q"], Counter({"Running": 1, "Inqueue": 1}))
    assert patch == {
        "metadata": {"resourceVersion": "7"},
        "status": {
            "running": 1,
            "inqueue": 1,
            "state": "Open",
            "allocated": {"cpu": "3", "memory": "0", "pods": "3"},
        },
    }
    known = _queue("q", status={**patch["status"], "state": "Closed", "allocated": {"gpu": 1, **held_text()}})
    assert queue_patch(known, held["q"], Counter({"Running": 1, "Inqueue": 1})) == {
        "metadata": {"resourceVersion": "7"},
        "status": {"allocated": {"gpu": None, "cpu": "3", "memory": "0", "pods": "3"}},
    }


def held_text() -> dict[str, str]:
    """Three pods of one core as a Queue tells it."""
    return {"cpu": "3", "memory": "0", "pods": "3"}


class Office(Place4):
    """Upkeep over the fake, with turns that tests make."""

    def __init__(self, jobs: Mapping[str, LiveJob], *, writes: bool = True) -> None:
        super().__init__()
        self.jobs = dict(jobs)
        self.generation = 0
        self.looks = 0
        self.leaving = 0
        self.seconds_a_look = self._spent = 0.0
        self.least = 1
        clock = asyncio.get_running_loop().time
        client = Client(self.api)
        measures = self.measures = QueueMetrics(CollectorRegistry())
        pod_status = self.pod_status = PodStatusWriter(client, None, self.pods.get, clock)
        evictions = Evictions(client, namespace="f", switch="s", allowed=True, per_minute=1, clock=clock)
        evictor = self.evictor = Evictor(
            self.holds, evictions, pod_status, measures, clock=clock, nudge=self.nudge, pulse=Pulse(clock)
        )

        def monotonic() -> float:
            return clock() + self._spent

        ends = PromiseEnds(
            self.holds,
            PodSight(
                pod=self.pods.get,
                leaving=lambda: self.leaving,
                nominated=lambda: [key for key, pod in self.pods.items() if pod.nominated],
            ),
            evictor,
            pod_status,
            measures,
            monotonic=monotonic,
            nudge=self.nudge,
            hold_seconds=300.0,
            writes=writes,
        )
        self.status_loop = StatusLoop(
            client,
            Sight(
                groups=lambda: self._all(POD_GROUPS),
                native=lambda: self._all(NATIVE_POD_GROUPS),
                queues=lambda: self._all(QUEUES),
                pod=self.pods.get,
                generation=lambda: self.generation,
                look=self._look,
                would=self._look,
                gate=self._gate,
            ),
            ends,
            evictor,
            measures,
            wall=clock,
            monotonic=monotonic,
            nudge=self.nudge,
            leads=lambda: True,
            period=2.0,
            pulse=Pulse(clock),
            writes=writes,
            tells_evictions=False,
        )

    def _all(self, resource: Any) -> dict[tuple[str, str], Any]:
        found = self.api.store.listed(f"{resource.root}/{resource.plural}", "", "", "")
        return {
            (each["metadata"].get("namespace", ""), each["metadata"]["name"]): msgspec.convert(each, resource.shape)
            for each in found
        }

    def _gate(self) -> Asking:
        known = {(job.namespace, job.name) for job in self.jobs.values()}
        podless = [key for key in self._all(POD_GROUPS) if key not in known]
        jobs = [replace(live_job(min_member=1), namespace=key[0], name=key[1], queue="q") for key in podless]
        return {"/".join((job.namespace, job.name)): (job, None) for job in jobs}

    def _look(self) -> QueueTurn:
        self.looks += 1
        self._spent += self.seconds_a_look
        ask = {"request": {"cpu": 9}}
        jobs = [
            {"name": job.key, "namespace": "ml", "queue": "q", "replicas": 1, "minMember": self.least, **ask}
            for job in self.jobs.values()
        ]
        problem = {"total": {"cpu": 8}, "queues": [{"name": "q"}], "jobs": jobs}
        return QueueTurn(sharing=share.solve(strict(problem, share.PROBLEM)), jobs=tuple(self.jobs.values()), grants=())


def test_room_that_will_not_come_is_no_longer_kept() -> None:
    """Nobody is being evicted and nobody has been leaving for a while: the promise ends long before its time."""

    async def story() -> None:
        office = Office({})
        places = {("ml", "high-0"): "n1"}
        office.holds.promise(Promise(job="high", places=places, at=asyncio.get_running_loop().time()))
        office.leaving = 1
        for _ in range(20):
            await office.status_loop.round()
            await asyncio.sleep(2)
        assert list(office.holds.by_job) == ["high"]
        office.leaving = 0
        await office.status_loop.round()
        await asyncio.sleep(promise_ends.LOST - 1)
        await office.status_loop.round()
        assert list(office.holds.by_job) == ["high"]
        await asyncio.sleep(2)
        await office.status_loop.round()
        assert office.holds.by_job == {}
        assert office.evictor.barred == set()

    run(story())


def test_looks_that_take_long_are_rare() -> None:
    """A look of a second is followed by fifty without one, whatever changes meanwhile."""

    async def story() -> None:
        office = Office({})
        office.seconds_a_look = 1.0
        await office.status_loop.round()
        for pause, looks in ((0, 1), (49, 1), (2, 2)):
            await asyncio.sleep(pause)
            office.generation += 1
            await office.status_loop.round()
            assert office.looks == looks

    run(story())


def test_status_is_written_once_and_again_when_something_changes() -> None:
    """Groups and queues get their status; the next round writes nothing; a change is written."""

    async def story() -> None:
        office = Office({"train": live_job(waiting=4, min_member=4)})
        office.api.put(POD_GROUPS, {"metadata": {"name": "train", "namespace": "ml"}, "spec": {"queue": "q"}})
        office.api.put(POD_GROUPS, {"metadata": {"name": "empty", "namespace": "ml"}, "spec": {"queue": "q"}})
        office.api.put(QUEUES, {"metadata": {"name": "q"}, "spec": {}})
        await office.status_loop.round()
        found = office.api.find(POD_GROUPS, "train", namespace="ml")
        assert found is not None
        assert found["status"]["phase"] == "Inqueue"
        queue = office.api.find(QUEUES, "q")
        assert queue is not None
        assert queue["status"]["inqueue"] == 2
        writes = len([call for call in office.api.calls if call[0] == "PATCH"])
        office.generation += 1
        await office.status_loop.round()
        assert len([call for call in office.api.calls if call[0] == "PATCH"]) == writes == 3
        office.jobs["train"] = live_job(running=4, min_member=4)
        office.generation += 1
        await office.status_loop.round()
        found = office.api.find(POD_GROUPS, "train", namespace="ml")
        assert found is not None
        assert (found["status"]["phase"], found["status"]["running"]) == ("Running", 4)
        looks = office.looks
        await office.status_loop.round()
        assert office.looks == looks

    run(story())


def test_what_was_not_written_in_an_earlier_lead_is_asked_anew_in_the_next() -> None:
    """A look that took long is followed by none for a while; what it found is not written for what is so by now."""

    async def story() -> None:
        office = Office({"train": live_job(waiting=4, min_member=4)})
        office.api.put(POD_GROUPS, {"metadata": {"name": "train", "namespace": "ml"}, "spec": {"queue": "q"}})
        office.seconds_a_look = 1.0
        office.api.fail(503, method="PATCH", times=100)
        await office.status_loop.round()
        office.status_loop.lost()
        office.api.faults.rules.clear()
        office.jobs["train"] = live_job(running=4, min_member=4)
        await asyncio.sleep(20)
        await office.status_loop.round()
        found = office.api.find(POD_GROUPS, "train", namespace="ml")
        assert found is not None
        assert found["status"]["phase"] == "Running"

    run(story())


def test_of_members_that_are_missing_nothing_is_said_before_they_are_late() -> None:
    """Pods come one after another: five seconds after the last, and without another change, the group says so."""

    async def story() -> None:
        started = timestamps.whole(asyncio.get_running_loop().time())
        office = Office({"train": live_job(waiting=3, min_member=4, made=started)})
        office.least = 2
        office.api.put(POD_GROUPS, {"metadata": {"name": "train", "namespace": "ml"}, "spec": {"queue": "q"}})

        def said() -> list[str]:
            found = office.api.find(POD_GROUPS, "train", namespace="ml")
            assert found is not None
            assert found["status"]["phase"] == "Inqueue"
            return [each["reason"] for each in found["status"].get("conditions", [])]

        await office.status_loop.round()
        assert said() == []
        await asyncio.sleep(GATHERING + 1)
        await office.status_loop.round()
        assert said() == ["NotEnoughTasks"]

    run(story())


def _cooling(name: str, seconds: int, since: str) -> PodRecord:
    made = body(name, node="n1")
    made["metadata"]["annotations"] = {"volcano.sh/cooldown-time": f"{seconds}s"}
    made["status"] = {"conditions": [{"type": "PodScheduled", "status": "True", "lastTransitionTime": since}]}
    return record(made)


def test_those_who_wait_are_looked_at_again_when_a_pod_has_cooled_down() -> None:
    """Once for each moment, and not before; no other event tells of it."""

    async def story() -> None:
        since = timestamps.whole(asyncio.get_running_loop().time())
        job = live_job(running=2)
        (role,) = job.roles
        cooling = tuple((_cooling(f"c{seconds}", seconds, since), "n1") for seconds in (10, 20))
        office = Office({"train": replace(job, roles=(replace(role, running=cooling),))})
        office.pods |= {pod.key: pod for pod, _ in cooling}
        for pause, nudges in ((0, 0), (9, 0), (2, 1), (2, 1)):
            await asyncio.sleep(pause)
            await office.status_loop.round()
            assert office.nudges == nudges
        # The server says that the other one was scheduled later than was thought, which is no change of any job.
        later = _cooling("c20", 23, since)
        office.pods[later.key] = later
        for pause, nudges in ((8, 2), (1, 2), (2, 3), (50, 3)):
            await asyncio.sleep(pause)
            await office.status_loop.round()
            assert office.nudges == nudges

    run(story())


def test_status_of_native_groups_is_written_where_our_pods_are() -> None:
    """By the status subresource; a group of which no pod is ours is left alone."""

    async def story() -> None:
        job = replace(live_job(running=4, min_member=4), source=JobSource.NATIVE, key="NativePodGroup/ml/train")
        office = Office({"train": job})
        for name in ("train", "theirs"):
            office.api.put(NATIVE_POD_GROUPS, {"metadata": {"name": name, "namespace": "ml"}, "spec": {}})
        await office.status_loop.round()
        path = f"{NATIVE_POD_GROUPS.root}/namespaces/ml/podgroups/train/status"
        assert [call for call in office.api.calls if call[0] == "PATCH"] == [("PATCH", path)]
        found = office.api.find(NATIVE_POD_GROUPS, "train", namespace="ml")
        assert found is not None
        assert found["status"]["conditions"][0]["reason"] == "Scheduled"

    run(story())


def test_status_is_written_at_a_bounded_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five groups, two writes a round: after three rounds all are written."""
    monkeypatch.setattr(status_loop, "MOST_WRITES", 2)

    async def story() -> None:
        office = Office({})
        for number in range(5):
            office.api.put(POD_GROUPS, {"metadata": {"name": f"g{number}", "namespace": "ml"}, "spec": {}})
        written = []
        for _ in range(4):
            await office.status_loop.round()
            written.append(len([call for call in office.api.calls if call[0] == "PATCH"]))
        assert written == [2, 4, 5, 5]

    run(story())


def test_in_shadow_no_status_is_written() -> None:
    """Metrics are shown all the same."""

    async def story() -> None:
        office = Office({"train": live_job(waiting=4)}, writes=False)
        office.api.put(POD_GROUPS, {"metadata": {"name": "train", "namespace": "ml"}, "spec": {}})
        await office.status_loop.round()
        assert not any(method == "PATCH" for method, _ in office.api.calls)
        assert office.measures.asked.labels("q", "cpu")._value.get() == 9

    run(story())


def test_room_that_does_not_come_in_time_is_given_up() -> None:
    """After holdSeconds the promise ends and the nomination is taken back; before that it stands."""

    async def story() -> None:
        office = Office({})
        loop = asyncio.get_running_loop()
        promise = Promise(job="high", places={("ml", "high-0"): "n1"}, at=loop.time())
        office.holds.promise(promise)
        await office.pod_status.nominate(promise.places)
        await asyncio.sleep(299)
        await office.status_loop.round()
        assert office.measures.held._value.get() == 1
        assert office.stored("high-0")["status"]["nominatedNodeName"] == "n1"
        await asyncio.sleep(2)
        await office.status_loop.round()
        assert office.holds.withdrawn == ["high"]
        assert office.evictor.barred == {"high"}
        assert office.nudges == 1
        assert office.stored("high-0")["status"].get("nominatedNodeName") is None

    run(story())


def test_a_promise_ends_with_its_pods() -> None:
    """The pod is bound, another is gone: nothing is held for them; a gang that has begun is none of our business."""

    async def story() -> None:
        office = Office({})
        at = asyncio.get_running_loop().time()
        office.holds.promise(Promise(job="bound", places={("ml", "low-0"): "n1", ("ml", "no"): "n1"}, at=at))
        office.holds.promise(Promise(job="begun", places={("ml", "low-1"): "n1"}, at=at, begun=True))
        await office.status_loop.round()
        assert list(office.holds.by_job) == ["begun"]
        assert office.measures.held._value.get() == 0

    run(story())


def test_metrics_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many queues only those farthest from their share have series, and those that go lose theirs."""
    from fairlead.live.queue import metrics

    monkeypatch.setattr(metrics, "MOST", 2)
    registry = CollectorRegistry()
    shown = QueueMetrics(registry)
    jobs = [
        {"name": f"j{n}", "queue": f"q{n}", "namespace": f"s{n}", "replicas": n + 1, "request": {"cpu": 1}}
        for n in range(4)
    ]
    decision = share.solve(strict({"total": {"cpu": 5}, "jobs": jobs}, share.PROBLEM))
    shown.show(decision)
    names = [sample.labels["queue"] for sample in next(iter(shown.distance.collect())).samples]
    assert len(names) == 2
    shown.show(replace(decision, queues=(), namespaces=()))
    assert next(iter(shown.distance.collect())).samples == []
