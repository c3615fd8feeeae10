"""How everybody stands is the same whether idle jobs are rows of their own or only counted."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.objects.volcano import VolcanoQueue
from fairlead.kube.resources import QUEUES
from fairlead.live.cluster.turn_types import IdleCounts, LiveJob, QueueTurn
from fairlead.live.queue.status import allocated
from tests.live.queue_world import NOW, World

QUEUES_THERE = {name: msgspec.convert({"metadata": {"name": name}}, VolcanoQueue) for name in ("default", "q1", "q2")}
POD = st.fixed_dictionaries(
    {
        "group": st.sampled_from(["", "", "g1", "g2"]),
        "owner": st.sampled_from(["", "", "web", "api"]),
        "queue": st.sampled_from(["", "", "q1", "q2", "nowhere"]),
        "namespace": st.sampled_from(["ns", "team"]),
        "cpu": st.sampled_from(["1", "2", "500m"]),
        "on": st.sampled_from(["", "n1", "n2", "n1"]),
        "priority": st.sampled_from([0, 0, 10]),
        "cools": st.sampled_from(["", "", "", "600s"]),
        "leaving": st.sampled_from([False, False, False, True]),
        "phase": st.sampled_from(["", "Running", "Succeeded"]),
    }
)


def world_of(pods: list[dict[str, Any]], *, served: bool) -> World:
    """Two nodes, two queues, two gangs, and these pods."""
    world = World(6, 6)
    world.queue("q1", weight=1, capability={"cpu": "5"})
    world.queue("q2", weight=3, guarantee={"resource": {"cpu": "2"}})
    world.group("g1", 2, queue="q1")
    world.group("g2", 3, queue="q2")
    world.weigh("team", "2")
    if not served:
        world.served.discard(QUEUES)
    for number, like in enumerate(pods):
        world.pod(f"p{number}", **like)
    return world


def each_a_row(world: World, monkeypatch: pytest.MonkeyPatch) -> QueueTurn:
    """The same look with every job as a row."""
    faulty = world.promises.faulty

    def every() -> tuple[list[LiveJob], IdleCounts]:
        return faulty.jobs(), {}

    with monkeypatch.context() as patch:
        patch.setattr(faulty, "jobs_and_idle", every)
        return world.promises.look(world.cache.view().nodes, NOW)


@given(st.lists(POD, max_size=12), st.booleans())
def test_look_is_the_same_with_idle_jobs_counted(pods: list[dict[str, Any]], served: bool) -> None:
    """Queues, namespaces, what stops whom, and what each queue's status says."""
    world = world_of(pods, served=served)
    found = world.promises.look(world.cache.view().nodes, NOW)
    with pytest.MonkeyPatch.context() as monkeypatch:
        expected = each_a_row(world, monkeypatch)
    assert found.sharing.queues == expected.sharing.queues
    spaces = [sorted(each.sharing.namespaces, key=lambda row: (row.queue, row.namespace)) for each in (found, expected)]
    assert spaces[0] == spaces[1]
    rows = {row.name: row for row in expected.sharing.jobs}
    assert [row.name for row in found.sharing.jobs] == [job.key for job in found.jobs]
    assert all(row == rows[row.name] for row in found.sharing.jobs)
    assert {name for name, row in rows.items() if row.pending} <= {job.key for job in found.jobs}
    assert allocated(found.jobs, found.idle, QUEUES_THERE) == allocated(expected.jobs, {}, QUEUES_THERE)


def test_only_jobs_of_which_nothing_more_is_to_be_told_are_counted() -> None:
    """Not those that wait, belong to a PodGroup, or have a cooldown that ends; a pod that comes changes it."""
    world = World(8)
    world.group("g", 1)
    world.pods(2, "web", owner="web", on="n1")
    world.pod("bare", on="n1", cpu="2")
    world.pod("member", group="g", on="n1")
    world.pod("cools", on="n1", cools="600s")
    world.pod("waits")
    turn = world.promises.look(world.cache.view().nodes, NOW)
    assert {job.key for job in turn.jobs} == {"PodGroup/ns/g", "Pod/ns/cools", "Pod/ns/waits"}
    (((where, counts)),) = turn.idle.items()
    assert where == ("default", "ns")
    assert {dict(request)["cpu"]: count for request, count in counts.items()} == {1000: 2, 2000: 1}
    world.pod("web-2", owner="web")
    turn = world.promises.look(world.cache.view().nodes, NOW)
    assert "ReplicaSet/ns/web" in {job.key for job in turn.jobs}
    assert [sum(counts.values()) for counts in turn.idle.values()] == [1]


def test_queues_use_what_runs_and_not_what_would_run() -> None:
    """By sums a pod of four cores fits two nodes with three free cores each; it is asked for, and uses nothing."""
    world = World(4, 4)
    world.queue("q1", weight=1, parent="top")
    world.queue("top", weight=1)
    for node in ("n1", "n2"):
        world.pod(f"runs-on-{node}", on=node, queue="q1")
    world.pod("waits", cpu="4", queue="q1")
    turn = world.promises.look(world.cache.view().nodes, NOW)
    queues = {row.name: row for row in turn.sharing.queues}
    assert [(queues[name].allocated["cpu"], queues[name].requested["cpu"]) for name in ("q1", "top")] == [
        (2000, 6000)
    ] * 2
    (namespace,) = turn.sharing.namespaces
    assert namespace.allocated["cpu"] == 2000


@pytest.mark.parametrize("waits", [False, True])
def test_pod_that_is_resized_counts_with_what_it_takes_on_its_node(waits: bool) -> None:
    """Whether its job is idle or not, from the moment when its status says so, and as before when it no longer does."""
    world = World(8)
    world.pods(2, "web", owner="web", on="n1")
    if waits:
        world.pod("web-2", owner="web", cpu="9")

    def told() -> tuple[int, int]:
        turn = world.promises.look(world.cache.view().nodes, NOW)
        (queue,) = (row for row in turn.sharing.queues if row.name == "default")
        return queue.allocated["cpu"], allocated(turn.jobs, turn.idle, QUEUES_THERE)["default"]["cpu"]

    assert told() == (2000, 2000)
    world.pod("web-0", owner="web", on="n1", in_force="3")
    assert told() == (4000, 4000)
    world.pod("web-0", owner="web", on="n1")
    assert told() == (2000, 2000)
