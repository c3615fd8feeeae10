"""Evictions of a turn: promised, asked for, paid for, nominated, marked, carried out; or not, and then why."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from fairlead.kube.client import Client
from fairlead.kube.fence import Fence
from fairlead.kube.resources import CONFIG_MAPS, DISRUPTION_BUDGETS, PODS
from fairlead.live.cluster.turn_types import EvictionOrder, Promise, QueueTurn
from fairlead.live.queue import evictor
from fairlead.live.queue.evictor import BARRED, SPARED, Evictor
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.queue.pod_status import PodStatusWriter
from fairlead.live.runtime.evictions import Evictions, Refusal
from fairlead.live.runtime.pulse import Pulse
from tests.kube.virtual import run
from tests.live.fair_turns import Place4, sharing


class Scene(Place4):
    """The evictor at work."""

    def __init__(self, *, per_minute: int = 6, allowed: bool = True, shadow: bool = False) -> None:
        super().__init__()
        clock = asyncio.get_running_loop().time
        client = Client(self.api)
        self.measures = QueueMetrics(CollectorRegistry())
        self.evictor = Evictor(
            self.holds,
            Evictions(client, namespace="f", switch="switch", allowed=allowed, per_minute=per_minute, clock=clock),
            PodStatusWriter(client, None, self.pods.get, clock),
            self.measures,
            clock=clock,
            nudge=self.nudge,
            pulse=Pulse(clock),
            shadow=shadow,
        )

    def took_turn(self, turn: QueueTurn) -> None:
        """As the scheduler tells it: what the evictor begins is promised."""
        for promise in self.evictor.took_turn(turn):
            self.holds.promise(promise)

    def refusals(self, why: Refusal) -> float:
        return float(self.measures.refused.labels(why.name)._value.get())

    def spent(self) -> list[str]:
        found = self.api.find(CONFIG_MAPS, "switch", namespace="f")
        return str(found["data"].get("recent", "")).splitlines() if found else []


def play(scene: Callable[[Scene], Awaitable[None]], **options: Any) -> None:
    """Run a story on a virtual clock, with the evictor beside it."""

    async def main() -> None:
        made = Scene(**options)
        work = asyncio.create_task(made.evictor.run())
        try:
            await scene(made)
        finally:
            work.cancel()

    run(main())


def test_victims_go_and_the_beneficiary_is_nominated() -> None:
    """The room is promised at once; two evictions are paid for together; the pod that waits names its node."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "high"}))
        assert list(scene.holds.by_job) == ["high"]
        await asyncio.sleep(1)
        assert scene.there == ["low-2", "low-3", "high-0", "high-1"]
        assert scene.stored("high-0")["status"]["nominatedNodeName"] == "n1"
        assert list(scene.holds.by_job) == ["high"]
        assert [line.split()[1] for line in scene.spent()] == ["2"]
        assert scene.measures.evicted.labels("preempt")._value.get() == 2
        assert scene.measures.skipped._value.get() == 0

    play(story)


def test_a_victim_is_marked_before_it_goes() -> None:
    """The condition is on the pod when the eviction is asked for."""

    async def story(scene: Scene) -> None:
        seen: list[Any] = []
        scene.api.before(
            lambda: seen.append(scene.stored("low-0").get("status")), method="POST", path="low-0/eviction", times=2
        )
        scene.took_turn(scene.turn({"low-0": "high"}))
        await asyncio.sleep(1)
        dry_run, eviction = seen
        assert not dry_run
        (last,) = eviction["conditions"]
        assert (last["type"], last["status"], last["reason"]) == ("DisruptionTarget", "True", "PreemptionByScheduler")
        assert "high" in last["message"]

    play(story)


def test_a_pod_under_a_disruption_budget_is_left_out_of_the_next_choice() -> None:
    """Nobody is evicted, nothing is paid, the promise is withdrawn, and the pod is spared for a while."""

    async def story(scene: Scene) -> None:
        scene.api.put(
            DISRUPTION_BUDGETS,
            {
                "metadata": {"name": "keep", "namespace": "ml"},
                "spec": {"selector": {"matchLabels": {"app": "a"}}},
                "status": {"disruptionsAllowed": 0},
            },
        )
        scene.took_turn(scene.turn({"low-0": "high"}))
        await asyncio.sleep(1)
        assert len(scene.there) == 6
        assert scene.evictor.spared == {"uid-low-0"}
        assert scene.holds.by_job == {}
        assert scene.refusals(Refusal.PROTECTED) == 1
        assert scene.spent() == []
        assert scene.nudges == 1
        await asyncio.sleep(SPARED)
        scene.evictor.rested()
        assert scene.evictor.spared == set()
        assert scene.nudges == 2

    play(story)


def test_a_budget_that_says_no_midway_stops_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dry runs pass, the second eviction is refused: it and the third stay, and only the first is paid."""
    monkeypatch.setattr(evictor, "AT_ONCE", 1)

    async def story(scene: Scene) -> None:
        victims = {"low-0": "high", "low-1": "high", "low-2": "high"}
        scene.put("high-2", app="b")
        scene.api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": {}})
        scene.api.before(
            lambda: scene.api.fail(429, method="POST", path="low-1/eviction"), method="PUT", path="configmaps/switch"
        )
        scene.took_turn(scene.turn(victims))
        await asyncio.sleep(1)
        assert scene.there == ["low-1", "low-2", "low-3", "high-0", "high-1", "high-2"]
        assert [line.split()[1] for line in scene.spent()] == ["1"]
        assert scene.holds.withdrawn == ["high"]
        assert scene.stored("high-0")["status"].get("nominatedNodeName") is None
        assert scene.stored("low-1")["status"]["conditions"][0]["status"] == "False"

    play(story)


def test_the_switch_stops_preemption_but_not_the_turns() -> None:
    """While it is set, turns are taken without preemption; afterwards again with it."""

    async def story(scene: Scene) -> None:
        scene.api.put(CONFIG_MAPS, {"metadata": {"name": "switch", "namespace": "f"}, "data": {"stop": "true"}})
        scene.took_turn(scene.turn({"low-0": "high"}))
        await asyncio.sleep(1)
        assert len(scene.there) == 6
        assert not scene.evictor.able
        assert scene.refusals(Refusal.STOPPED) == 1
        await asyncio.sleep(6)
        scene.evictor.rested()
        assert scene.evictor.able

    play(story)


def test_a_job_that_needs_more_than_a_minute_allows_never_evicts() -> None:
    """Half a gang's room helps nobody: the job is barred, the others go on."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "high"}))
        await asyncio.sleep(1)
        assert len(scene.there) == 6
        assert scene.evictor.barred == {"high"}
        assert scene.evictor.able
        await asyncio.sleep(BARRED)
        scene.evictor.rested()
        assert scene.evictor.barred == set()

    play(story, per_minute=1)


def test_a_spent_budget_drops_the_rest_of_the_turn() -> None:
    """The first job's eviction is paid; the second has to wait, and its promise is withdrawn."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "higher"}))
        assert list(scene.holds.by_job) == ["high", "higher"]
        await asyncio.sleep(1)
        assert scene.there == ["low-1", "low-2", "low-3", "high-0", "high-1"]
        assert list(scene.holds.by_job) == ["high"]
        assert scene.refusals(Refusal.BUDGET) == 1

    play(story, per_minute=1)


def test_an_eviction_that_betters_nothing_is_not_carried_out() -> None:
    """It is counted, and the job evicts nobody for a while."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high"}, better=False))
        await asyncio.sleep(1)
        assert len(scene.there) == 6
        assert scene.measures.skipped._value.get() == 1
        assert scene.evictor.barred == {"high"}

    play(story)


def test_nobody_goes_for_a_job_that_has_found_room_meanwhile() -> None:
    """Others ended between the turn and the eviction: nothing is paid, and the promise is withdrawn."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high"}))
        scene.holds.started.add("high")
        await asyncio.sleep(1)
        assert len(scene.there) == 6
        assert scene.spent() == []
        assert scene.holds.by_job == {}
        assert scene.evictor.barred == set()

    play(story)


def test_room_that_one_job_took_from_another_is_made_all_the_same() -> None:
    """The second started in the room of the first, which still waits: the victims of the second go for the first."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "higher"}))
        scene.holds.started.add("higher")
        await asyncio.sleep(1)
        assert scene.there == ["low-2", "low-3", "high-0", "high-1"]
        assert scene.evictor.idle

    play(story)


def test_who_gets_what_others_leave_is_promised_it_and_evicts_nobody() -> None:
    """Its pods name their node; if the evictions it waits for are refused, its promise goes too."""

    async def story(scene: Scene) -> None:
        turn = scene.turn({"low-0": "high"})
        rest = Promise(job="other", places={("ml", "high-1"): "n1"}, at=0.0)
        turn = replace(turn, promises=(*turn.promises, rest), sharing=sharing({"high": (0, 1), "other": (0, 1)}))
        scene.took_turn(turn)
        await asyncio.sleep(1)
        assert scene.there == ["low-1", "low-2", "low-3", "high-0", "high-1"]
        assert list(scene.holds.by_job) == ["high", "other"]
        assert scene.stored("high-1")["status"]["nominatedNodeName"] == "n1"
        scene.api.fail(429, method="POST", path="low-0/eviction")
        scene.put("low-0", node="n1")
        scene.took_turn(turn)
        await asyncio.sleep(1)
        assert scene.holds.by_job == {}

    play(story)


def test_while_evictions_are_carried_out_turns_do_not_look_for_more() -> None:
    """That is most of the work of a turn, and would be for nothing; afterwards they look again."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high"}))
        assert not scene.evictor.able
        assert scene.evictor.yielding == {("ml", "low-0")}
        scene.evictor.rested()
        assert not scene.evictor.able
        await asyncio.sleep(1)
        assert scene.evictor.able
        assert scene.evictor.yielding == set()

    play(story)


def test_in_shadow_nothing_is_promised_and_nobody_goes() -> None:
    """What would be evicted is told once."""

    async def story(scene: Scene) -> None:
        for _ in range(3):
            scene.took_turn(scene.turn({"low-0": "high"}))
        await asyncio.sleep(1)
        assert len(scene.there) == 6
        assert scene.holds.by_job == {}
        assert not any(method in ("POST", "PATCH", "PUT") for method, _ in scene.api.calls)

    play(story, shadow=True)


def test_a_second_turn_waits_for_the_first() -> None:
    """While one is carried out the next is let pass; it comes again."""

    async def story(scene: Scene) -> None:
        scene.took_turn(scene.turn({"low-0": "high"}))
        scene.took_turn(scene.turn({"low-1": "higher"}))
        await asyncio.sleep(1)
        assert scene.there == ["low-1", "low-2", "low-3", "high-0", "high-1"]
        scene.took_turn(scene.turn({"low-1": "higher"}))
        await asyncio.sleep(1)
        assert scene.there == ["low-2", "low-3", "high-0", "high-1"]

    play(story)


def test_members_of_a_gang_that_is_released_go_one_by_one() -> None:
    """For nobody's sake; each is asked for once in a while, however often the turn names it."""

    async def story(scene: Scene) -> None:
        members = tuple(
            EvictionOrder(pod=scene.pods["ml", f"low-{number}"], node="n1", beneficiary="", action="release")
            for number in range(2)
        )
        turn = QueueTurn(sharing=sharing({}), jobs=(), grants=(), evictions=members)
        scene.took_turn(turn)
        scene.took_turn(turn)
        await asyncio.sleep(1)
        assert scene.there == ["low-2", "low-3", "high-0", "high-1"]
        assert scene.measures.evicted.labels("release")._value.get() == 2

    play(story)


def test_a_server_that_cannot_be_asked_costs_the_job_a_rest() -> None:
    """The promise is withdrawn; nobody is left half done."""

    async def story(scene: Scene) -> None:
        scene.api.fail(500, method="POST", path="low-0/eviction", times=9)
        scene.took_turn(scene.turn({"low-0": "high"}))
        await asyncio.sleep(60)
        assert len(scene.there) == 6
        assert scene.holds.by_job == {}

    play(story)


@pytest.mark.parametrize("regained", [False, True])
@pytest.mark.parametrize("asked", [1, 3])
def test_evictions_that_were_decided_in_an_earlier_lead_are_given_up(
    regained: bool, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease is lost while the server is asked, or after the first batch has gone; no other pod goes then, also
    where it is regained at once. The job was refused nothing: it may evict in the next lead."""
    monkeypatch.setattr(evictor, "AT_ONCE", 1)

    async def story(scene: Scene) -> None:
        fence = Fence(asyncio.get_running_loop().time)

        def won() -> None:
            fence.begin()
            fence.extend(inf, inf)

        def lost() -> None:
            fence.close()
            if regained:
                won()

        won()
        scene.evictor.evictions.client = Client(scene.api).fenced(fence)
        asks = iter(range(1, 100))
        scene.api.before(lambda: lost() if next(asks) == asked else None, method="POST", path="/eviction", times=9)
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "high"}))
        await asyncio.sleep(1)
        assert len(scene.there) == (6 if asked == 1 else 5)
        assert (scene.holds.by_job, scene.evictor.barred) == ({}, frozenset())

    play(story)


def test_an_eviction_that_fails_takes_back_the_mark_of_its_pod() -> None:
    """One of a batch cannot be asked for, another is refused: both stay unmarked, and only what is refused is free."""

    async def story(scene: Scene) -> None:
        scene.put("high-2", app="b")

        def broken() -> None:
            scene.api.fail(500, method="POST", path="low-1/eviction", times=9)
            scene.api.fail(429, method="POST", path="low-2/eviction", times=9)

        scene.api.before(broken, method="PATCH", path="low-0/status")
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "high", "low-2": "high"}))
        await asyncio.sleep(30)
        assert scene.there == ["low-1", "low-2", "low-3", "high-0", "high-1", "high-2"]
        conditions = [scene.stored(name)["status"]["conditions"][0] for name in ("low-1", "low-2")]
        assert [each["status"] for each in conditions] == ["False", "False"]
        assert conditions[0]["message"] == "the eviction failed"
        assert [line.split()[1] for line in scene.spent()] == ["2"]
        assert scene.holds.withdrawn == ["high"]
        assert scene.evictor.barred == {"high"}
        assert scene.stored("high-0")["status"].get("nominatedNodeName") is None

    play(story)


def test_an_eviction_that_was_certainly_not_carried_out_is_not_paid() -> None:
    """The server refused it with an error that is no word of a disruption budget."""

    async def story(scene: Scene) -> None:
        scene.api.before(
            lambda: scene.api.fail(403, method="POST", path="low-1/eviction"), method="PATCH", path="low-0/status"
        )
        scene.took_turn(scene.turn({"low-0": "high", "low-1": "high"}))
        await asyncio.sleep(1)
        assert scene.there == ["low-1", "low-2", "low-3", "high-0", "high-1"]
        assert [line.split()[1] for line in scene.spent()] == ["1"]
        assert scene.evictor.barred == {"high"}

    play(story)


def test_a_pod_that_goes_although_its_eviction_failed_stays_marked() -> None:
    """The answer was lost: the pod is on its way out."""

    async def story(scene: Scene) -> None:
        made = scene.stored("low-0")
        scene.api.put(PODS, made | {"metadata": made["metadata"] | {"finalizers": ["example.com/slow"]}})
        scene.api.before(
            lambda: scene.api.cut(method="POST", path="low-0/eviction", after=True), method="PATCH", path="low-0/status"
        )
        scene.took_turn(scene.turn({"low-0": "high"}))
        await asyncio.sleep(30)
        assert scene.stored("low-0")["metadata"]["deletionTimestamp"]
        assert scene.stored("low-0")["status"]["conditions"][0]["status"] == "True"
        assert scene.holds.withdrawn == ["high"]

    play(story)
