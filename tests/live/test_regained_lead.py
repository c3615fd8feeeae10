"""What a lost lease ends, and what the next lead of the same instance begins with."""

import asyncio

import pytest

from fairlead.kube.client import Client
from fairlead.kube.resources import LONGHORN_NODES, LONGHORN_REPLICAS, PODS, QUEUES, TIER_LEDGERS
from fairlead.live.runtime.aside import DECIDING, READING, WRITING
from fairlead.live.webhook.component import Webhook
from fairlead.model.errors import InputError
from fairlead.settings import DEFAULTS
from tests.fake import FakeApi
from tests.kube.virtual import run
from tests.live.failing_turns import bad_queue, fail_turns
from tests.live.longhorn_objects import node
from tests.live.test_queue_wiring import Town, play
from tests.live.test_storage import THREE, Stage, find, pair, put
from tests.live.test_storage import play as play_storage

AWAY = 40.0
"""Seconds for which another instance leads."""


def lose(town: Town) -> None:
    """As the elector does it."""
    town.leads = False
    town.scheduler.lost()


def win(town: Town) -> None:
    """As the elector does it."""
    town.leads = True
    town.scheduler.nudge()


def stuck(town: Town, name: str) -> None:
    """The pod takes its time to end once it is evicted."""
    pod = town.api.find(PODS, name, namespace="ml")
    assert pod is not None
    town.api.put(PODS, pod | {"metadata": pod["metadata"] | {"finalizers": ["example.com/slow"]}})


def ended(town: Town, name: str) -> None:
    """The pod has ended at last."""
    pod = town.api.find(PODS, name, namespace="ml")
    assert pod is not None
    town.api.put(PODS, pod | {"metadata": pod["metadata"] | {"finalizers": []}})


def evictions(town: Town) -> int:
    """How many evictions were asked for, tries included."""
    return sum(path.endswith("/eviction") for _, path in town.api.calls)


def test_room_that_is_still_made_when_the_lease_is_regained_has_its_whole_time() -> None:
    """The time in which another led does not count: nothing is said of late room, and no second pod is evicted."""

    async def story(town: Town) -> None:
        stuck(town, "low-0")
        await asyncio.sleep(5)
        town.gang("high", 4, 4, priority=100)
        await asyncio.sleep(20)
        asked = evictions(town)
        lose(town)
        await asyncio.sleep(AWAY)
        win(town)
        await asyncio.sleep(20)
        assert (town.told("EvictionRefused"), town.scheduler.promises.by_job.keys()) == ([], {"PodGroup/ml/high"})
        assert evictions(town) == asked
        ended(town, "low-0")
        await asyncio.sleep(20)
        assert town.bound() == {"high": 4}

    play(story, queue={"holdSeconds": 30}, evictions={"allowed": True, "perMinute": 6})


def test_room_that_came_while_another_led_is_promised_no_longer() -> None:
    """The other one may have given it away; the job is not barred and may ask for room at once."""

    async def story(town: Town) -> None:
        stuck(town, "low-0")
        await asyncio.sleep(5)
        town.gang("high", 4, 4, priority=100)
        await asyncio.sleep(20)
        lose(town)
        ended(town, "low-0")
        town.gang("rival", 2, 2, node="n1")
        await asyncio.sleep(AWAY)
        win(town)
        await asyncio.sleep(20)
        assert town.told("EvictionRefused") == []
        assert town.bound() == {"high": 4}

    play(story, queue={"holdSeconds": 30}, evictions={"allowed": True, "perMinute": 60})


def test_pod_whose_notice_was_given_up_is_told_when_the_lease_is_regained() -> None:
    """Nothing happened meanwhile that could help the pod, and still it says why it waits."""

    async def story(town: Town) -> None:
        await asyncio.sleep(5)
        town.api.fail(503, method="PATCH", path="/big-0/status", times=1000)
        town.gang("big", 1, 1)
        await asyncio.sleep(5)
        lose(town)
        town.api.faults.rules.clear()
        await asyncio.sleep(AWAY)
        win(town)
        await asyncio.sleep(15)
        pod = town.api.find(PODS, "big-0", namespace="ml")
        assert pod is not None
        assert [each["reason"] for each in pod.get("status", {}).get("conditions", [])] == ["Unschedulable"]

    play(story)


def test_queue_that_fails_turns_is_told_by_the_instance_that_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A former leader takes no turns and would not learn that the queue is mended; when it leads again it tells."""
    fail_turns(monkeypatch, bad_queue)

    async def story(town: Town) -> None:
        town.api.put(QUEUES, {"metadata": {"name": "bad"}, "spec": {"weight": 1, "capability": {"cpu": "1"}}})
        town.gang("waits", 1, 1, queue="bad")
        await asyncio.sleep(5)
        registry = town.scheduler.measures.registry

        def told() -> float | None:
            return registry.get_sample_value("fairlead_set_aside", {"kind": "Queue"})

        assert told() == 1
        lose(town)
        assert told() is None
        await asyncio.sleep(AWAY)
        win(town)
        town.gang("later", 1, 1, queue="bad")
        await asyncio.sleep(5)
        assert told() == 1

    play(story)


def test_storage_that_leads_no_longer_sets_aside_what_it_reads_and_decides() -> None:
    """Every instance looks, so that part stays; what could not be written is for the one that leads."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api)
        await stage.quiet(1)
        for number, stage_name in enumerate((READING, DECIDING, WRITING)):
            about = LONGHORN_REPLICAS.refer(f"r{number}", namespace="longhorn-system")
            stage.keeper.set_aside.tell(about, InputError("spec", "is odd"), stage_name)
        stage.keeper.lost()
        assert [name for *_, name in stage.keeper.set_aside.faults] == ["r0", "r1"]
        await stage.stop()

    play_storage(act)


def test_disk_that_was_there_in_an_earlier_lead_is_no_reason_to_speak_in_the_next() -> None:
    """Another replica waits by now, and Longhorn has as much time for it as for the first."""
    leading = [True]

    async def act(api: FakeApi) -> None:
        stage = Stage(api, leads=lambda: leading[0])
        await stage.quiet(5)
        leading[0] = False
        stage.keeper.lost()
        found = find(api, "a-r1")
        put(api, {**found, "spec": {**found["spec"], "nodeID": "n3", "diskID": "uuid-n3-d"}})
        await stage.quiet()
        put(api, {**found, "metadata": {**found["metadata"], "name": "a-r2", "uid": "uid-a-r2"}})
        api.remove(LONGHORN_REPLICAS, "a-r1", namespace="longhorn-system")
        leading[0] = True
        stage.keeper.nudge()
        await stage.quiet(20)
        assert stage.events("ReplicaPlaceable") == []
        await stage.quiet()
        assert len(stage.events("ReplicaPlaceable")) == 1
        await stage.stop()

    play_storage(act, *THREE, *pair("a", 50))


def test_volume_that_came_up_short_anew_is_told_again_by_the_instance_that_leads_again() -> None:
    """While another led there was a disk for a while: what was said before is no longer known to hold."""
    leading = [True]

    async def act(api: FakeApi) -> None:
        stage = Stage(api, leads=lambda: leading[0])
        await stage.quiet()
        leading[0] = False
        stage.keeper.lost()
        put(api, node("n4", d=200))
        await stage.quiet(300)
        api.remove(LONGHORN_NODES, "n4", namespace="longhorn-system")
        await stage.quiet(300)
        leading[0] = True
        stage.keeper.nudge()
        await stage.quiet()
        assert len(stage.events("ReplicaUnscheduled")) == 2
        await stage.stop()

    play_storage(act, *THREE, *pair("a", 150))


def test_webhook_that_leads_no_longer_sets_aside_only_what_it_cannot_read() -> None:
    """Ledgers are kept in order, and workloads repaired, by the replica that leads."""

    async def main() -> None:
        webhook = Webhook(Client(FakeApi()), DEFAULTS)
        for number, stage in enumerate((READING, DECIDING, WRITING)):
            about = TIER_LEDGERS.refer(f"l{number}", namespace="fairlead-system")
            webhook.aside.tell(about, InputError("spec", "is odd"), stage)
        webhook._leads._lost()
        assert [name for *_, name in webhook.aside.faults] == ["l0"]

    run(main())
