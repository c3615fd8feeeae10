"""What an instance that begins to lead finds of the promises of others: nominations, and pods that are leaving."""

import asyncio

import pytest

from fairlead.kube.resources import NODES, POD_GROUPS, PODS
from fairlead.live.cluster.identity import JobKey
from fairlead.live.cluster.turn_types import LiveJob
from fairlead.live.queue import promises
from fairlead.model.errors import InputError
from tests.live.test_queue_wiring import ALLOWED, Town, play
from tests.live.test_regained_lead import AWAY, ended, evictions, lose, stuck, win


def forget(town: Town) -> None:
    """As another process: whatever was promised is not known."""
    lose(town)
    town.scheduler.promises._held.clear()


def nominate(town: Town, *names: str, node: str = "n1") -> None:
    """The pods say that the node is being cleared for them."""
    for name in names:
        pod = town.api.find(PODS, name, namespace="ml")
        assert pod is not None
        town.api.put(PODS, pod | {"status": pod.get("status", {}) | {"nominatedNodeName": node}})


def delete(town: Town, name: str) -> None:
    """Somebody deletes the pod, which takes its time to end."""
    stuck(town, name)
    town.api.remove(PODS, name, namespace="ml")


def test_new_leader_waits_for_the_victims_of_the_one_before() -> None:
    """It finds in the nominations what was promised: two pods go for two, and the job has the whole time anew."""

    async def story(town: Town) -> None:
        stuck(town, "low-0")
        await asyncio.sleep(5)
        town.gang("high", 2, 2, priority=100)
        await asyncio.sleep(20)
        forget(town)
        await asyncio.sleep(AWAY)
        win(town)
        await asyncio.sleep(20)
        assert {town.nominated(f"high-{number}") for number in range(2)} == {"n1"}
        ended(town, "low-0")
        await asyncio.sleep(20)
        assert (town.bound(), len(town.told("Preempted"))) == ({"low": 2, "high": 2}, 2)
        assert (town.told("EvictionRefused"), town.scheduler.promises.by_job) == ([], {})

    play(story, queue={"holdSeconds": 30}, evictions={"allowed": True, "perMinute": 60})


def test_process_that_starts_waits_for_the_victims_of_another() -> None:
    """The first lists tell it of nominations and of pods that leave; it evicts none."""

    async def story(town: Town) -> None:
        town.gang("high", 2, 2, priority=100)
        nominate(town, "high-0", "high-1")
        delete(town, "low-0")
        delete(town, "low-1")
        await asyncio.sleep(20)
        assert (evictions(town), town.nominated("high-1")) == (0, "n1")
        ended(town, "low-0")
        ended(town, "low-1")
        await asyncio.sleep(20)
        assert (town.bound(), evictions(town)) == ({"low": 2, "high": 2}, 0)

    play(story, **ALLOWED)


def test_nominations_to_a_node_that_no_pod_leaves_are_not_counted_by_a_new_leader() -> None:
    """Its room came while another led, or never: it is for whoever is first."""

    async def story(town: Town) -> None:
        town.gang("later", 1, 1)
        nominate(town, "later-0")
        await asyncio.sleep(20)
        assert (town.scheduler.promises.by_job, town.nominated("later-0")) == ({}, "")

    play(story, **ALLOWED)


def test_half_a_gang_that_is_nominated_has_no_room_kept() -> None:
    """It could not start there, and would wait for nothing: it is decided anew, as a whole."""

    async def story(town: Town) -> None:
        town.gang("later", 4, 4)
        nominate(town, "later-0", "later-1")
        delete(town, "low-0")
        await asyncio.sleep(20)
        assert town.scheduler.promises.by_job == {}
        assert {town.nominated(f"later-{number}") for number in range(4)} == {""}

    play(story, **ALLOWED)


def test_gang_that_lacks_a_task_or_its_group_has_no_room_kept() -> None:
    """All its pods are nominated, and still it could not start."""

    async def story(town: Town) -> None:
        town.gang("taskless", 2, 2)
        town.gang("groupless", 2, 2)
        group = town.api.find(POD_GROUPS, "taskless", namespace="ml")
        assert group is not None
        town.api.put(POD_GROUPS, group | {"spec": group["spec"] | {"minTaskMember": {"driver": 1}}})
        town.api.remove(POD_GROUPS, "groupless", namespace="ml")
        nominate(town, "taskless-0", "taskless-1", "groupless-0", "groupless-1")
        delete(town, "low-0")
        await asyncio.sleep(20)
        assert (town.scheduler.promises.by_job, town.nominated("taskless-0")) == ({}, "")

    play(story, **ALLOWED)


def test_job_that_cannot_be_read_has_no_room_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """An instance takes over all the same."""

    def broken(job: LiveJob, places: object) -> LiveJob:
        raise InputError("", "cannot be used")

    async def story(town: Town) -> None:
        town.gang("later", 2, 2)
        nominate(town, "later-0", "later-1")
        delete(town, "low-0")
        with monkeypatch.context() as defect:
            defect.setattr(promises, "settled", broken)
            await asyncio.sleep(20)
        assert (town.scheduler.promises.by_job, town.nominated("later-0")) == ({}, "")

    play(story, **ALLOWED)


def test_room_that_another_leader_promised_counts_for_more_than_what_is_remembered() -> None:
    """It was made later, elsewhere: the pods say where."""

    async def story(town: Town) -> None:
        stuck(town, "low-0")
        await asyncio.sleep(5)
        town.gang("high", 2, 2, priority=100)
        await asyncio.sleep(20)
        lose(town)
        town.api.put(NODES, {"metadata": {"name": "n2"}, "status": {"allocatable": {"cpu": "1", "pods": "110"}}})
        town.gang("there", 1, 1, node="n2")
        delete(town, "there-0")
        nominate(town, "high-0", node="n2")
        await asyncio.sleep(AWAY)
        win(town)
        await asyncio.sleep(10)
        kept = town.scheduler.promises.by_job[JobKey("PodGroup/ml/high")]
        assert kept.places == {("ml", "high-0"): "n2", ("ml", "high-1"): "n1"}

    play(story, **ALLOWED)


@pytest.mark.parametrize("ends", [True, False])
def test_nominations_to_more_room_than_comes_hold_it_for_no_longer_than_a_promise(ends: bool) -> None:
    """Anybody may have written them. Room is free for all when no pod leaves any more, and at the deadline at last."""

    async def story(town: Town) -> None:
        town.gang("later", 3, 3)
        nominate(town, "later-0", "later-1", "later-2")
        delete(town, "low-0")
        delete(town, "low-1")
        await asyncio.sleep(10)
        assert town.scheduler.promises.by_job.keys() == {"PodGroup/ml/later"}
        ended(town, "low-0")
        if ends:
            ended(town, "low-1")
        town.gang("small", 1, 1)
        await asyncio.sleep(15 if ends else 45)
        assert (town.bound().get("small"), town.nominated("later-0")) == (None, "n1")
        await asyncio.sleep(25)
        assert (town.bound().get("small"), town.nominated("later-0")) == (1, "")

    play(story, queue={"holdSeconds": 60}, evictions={"allowed": True, "perMinute": 6})


def test_nominations_mean_nothing_to_a_scheduler_in_shadow() -> None:
    """Another scheduler keeps the promises, and tells the pods."""

    async def story(town: Town) -> None:
        town.gang("high", 2, 2, priority=100)
        nominate(town, "high-0", "high-1")
        delete(town, "low-0")
        await asyncio.sleep(20)
        assert (town.scheduler.promises.by_job, town.nominated("high-0")) == ({}, "n1")

    play(story, shadow=True)
