"""The books: pods become jobs, groups and queues say what jobs may ask for, in whatever order they come."""

import random
from typing import Any

import pytest

from fairlead.kube.resources import POD_GROUPS, QUEUES, RESOURCE_QUOTAS
from fairlead.live.cluster.identity import JobSource
from fairlead.live.cluster.turn_types import LiveJob
from fairlead.model.jobs import UNSET
from tests.live.queue_world import NOW, World


def job(world: World, key: str) -> LiveJob:
    """A job that is there."""
    found = world.job_cache.job(key)
    assert found is not None
    return found


def test_pods_become_jobs_by_group_by_native_group_by_controller_or_alone() -> None:
    """A pod's marks decide; a queue named on it makes a job of its own."""
    world = World(8)
    world.pod("a", group="g")
    world.pod("b", native="g")
    world.pods(2, "web", owner="web")
    world.pod("web-q", owner="web", queue="fast")
    world.pod("bare")
    found = {each.key: (each.source, each.queue, each.waiting) for each in world.job_cache.jobs()}
    assert found == {
        "PodGroup/ns/g": (JobSource.GROUP, "default", 1),
        "NativePodGroup/ns/g": (JobSource.NATIVE, "default", 1),
        "ReplicaSet/ns/web": (JobSource.CONTROLLER, "default", 2),
        "ReplicaSet/ns/web@fast": (JobSource.CONTROLLER, "fast", 1),
        "Pod/ns/bare": (JobSource.CONTROLLER, "default", 1),
    }


def test_a_group_may_come_after_its_pods_and_be_edited() -> None:
    """What the group says counts from the moment it is known."""
    world = World(8)
    world.priority_class("high", 1000)
    world.pods(3, "a", group="g", priority=5)
    assert world.job_cache.astray("PodGroup/ns/g") == "ns/g"
    world.group("g", 3, queue="q", priorityClassName="high", minTaskMember={"x": 1}, minResources={"cpu": "2"})
    found = job(world, "PodGroup/ns/g")
    assert (found.queue, found.min_member, found.priority) == ("q", 3, 1000)
    assert (found.min_tasks, found.min_resources) == ({"x": 1}, {"cpu": 2000})
    assert world.job_cache.astray(found.key) == ""
    world.group("g", 2, priorityClassName="nobody")
    assert (job(world, found.key).min_member, job(world, found.key).priority) == (2, 5)


def test_what_volcanos_job_controller_writes_is_no_resource_of_its_own() -> None:
    """Quota names beside the plain ones: the gang needs what its pods ask for, and nothing else."""
    world = World(8)
    names = {"cpu": "2", "memory": "1Gi", "requests.cpu": "2", "requests.memory": "1Gi"}
    world.pods(2, "a", group="g")
    world.group("g", 2, minResources={**names, "pods": "2", "count/pods": "2", "limits.cpu": "4"})
    assert job(world, "PodGroup/ns/g").min_resources == {"cpu": 2000, "memory": 2**30, "pods": 2}


def test_kinds_that_are_not_served_mean_nothing() -> None:
    """No PodGroups, no Queues: a pod that names them is like any other."""
    world = World(8)
    world.served.clear()
    world.queue("q", weight=9)
    world.pod("a", group="g", queue="q")
    world.pod("b", owner="web", queue="q")
    assert world.job_cache.astray("PodGroup/ns/g") == ""
    assert {each.queue for each in world.job_cache.jobs()} == {"default"}
    assert [row.name for row in world.job_cache.queues] == ["default"]
    assert world.job_cache.knows("whatever")
    world.served.add(QUEUES)
    assert job(world, "ReplicaSet/ns/web@q").queue == "q"


def test_members_that_succeeded_are_not_asked_for_again() -> None:
    """Of four that start together two have finished well: two are enough. Failed ones are not."""
    world = World(8)
    world.group("g", 4)
    world.pods(2, "a", group="g", phase="Succeeded")
    world.pod("b", group="g", phase="Failed")
    found = job(world, "PodGroup/ns/g")
    assert (found.min_member, found.succeeded, found.failed) == (2, 2, 1)


def test_leaving_gated_and_foreign_pods_are_no_members() -> None:
    """They neither wait nor hold a place in the job."""
    world = World(8)
    world.group("g", 1)
    world.pod("going", group="g", on="n1", leaving=True)
    world.pod("gated", group="g", schedulingGates=[{"name": "x"}])
    world.pod("other", group="g", schedulerName="somebody")
    assert (job(world, "PodGroup/ns/g").waiting, job(world, "PodGroup/ns/g").running) == (0, 0)


def test_since_is_the_oldest_waiting_pod_and_unset_while_nobody_waits() -> None:
    """It survives a restart, for the API server remembers it."""
    world = World(8)
    pod = world.pod("a", owner="web", created="1970-01-12T13:46:00Z")
    world.pod("b", owner="web")
    assert job(world, pod.controller).since == NOW - 40
    world.pod("a", owner="web", on="n1")
    assert job(world, pod.controller).since == NOW
    world.pod("b", owner="web", on="n1")
    assert job(world, pod.controller).since == UNSET


@pytest.mark.parametrize(
    ("values", "want"), [(["3"], 3), (["2", "5"], 5), (["abc"], 1), (["0"], 1), (["-3"], 1), (["1500m"], 1)]
)
def test_weights_follow_quotas(values: list[str], want: int) -> None:
    """The highest positive whole number of a namespace's quotas; deleted, it counts 1 again; only changes are told."""
    world = World(8)
    for number, value in enumerate(values):
        world.weigh("ns", value, f"quota{number}")
    assert world.job_cache.weights.get("ns", 1) == want
    before = world.changes
    world.weigh("ns", values[0], "quota0")
    assert world.changes == before
    for number in range(len(values)):
        world.drop(RESOURCE_QUOTAS, f"quota{number}", "ns")
    assert world.job_cache.weights.get("ns", 1) == 1


def test_only_edits_are_told() -> None:
    """A status that somebody writes wakes nobody; a weight, a bound or a group does."""
    world = World(8)
    world.queue("q", weight=1)
    world.queue("q", weight=1)
    assert world.changes == 1
    world.queue("q", weight=2)
    world.group("g", 1)
    world.group("g", 1)
    assert world.changes == 3
    world.drop(POD_GROUPS, "g", "ns")
    world.drop(QUEUES, "q")
    assert world.changes == 5


def test_a_queue_that_cannot_be_read_stays_as_it_was() -> None:
    """The API server checks amounts; should one slip through, the last that could be read counts."""
    world = World(8)
    world.queue("q", capability={"cpu": "4"})
    world.queue("q", capability={"cpu": "much"})
    assert {row.name: row.capability for row in world.job_cache.queues}["q"] == {"cpu": 4000}
    assert world.job_cache.bounded


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        ({"weight": 3, "parent": "root", "reclaimable": False}, False),
        ({"parent": "other"}, True),
        ({"capability": {"cpu": "1"}}, True),
        ({"guarantee": {"resource": {"cpu": "1"}}}, True),
        ({"state": "Closed"}, True),
    ],
)
def test_queues_that_may_refuse_although_there_is_room(spec: dict[str, Any], want: bool) -> None:
    """Weights and what Volcano makes itself do not; bounds, trees and closed queues do."""
    world = World(8)
    world.queue("root")
    world.queue("q", **spec)
    assert world.job_cache.bounded is want


def test_books_do_not_depend_on_the_order_of_events() -> None:
    """The same pods, seen in any order and several times, make the same jobs."""
    pods = [
        {
            "name": f"p{number}",
            "group": "g" if number % 2 else "",
            "task": "ab"[number % 3 > 0],
            "cpu": str(number % 2 + 1),
        }
        for number in range(12)
    ]
    made = []
    for seed in range(4):
        world = World(8)
        world.group("g", 2)
        shuffled = [*pods, *pods[:4]]
        random.Random(seed).shuffle(shuffled)
        for each in shuffled:
            world.pod(**each)
        roles = {
            each.key: [(role.task, [pod.metadata.name for pod in role.waiting]) for role in each.roles]
            for each in world.job_cache.jobs()
        }
        made.append(dict(sorted(roles.items())))
    assert all(each == made[0] for each in made)


def test_jobs_without_pods_are_forgotten_and_unchanged_ones_kept() -> None:
    """News that change nothing cost nothing."""
    world = World(8)
    pod = world.pod("a", owner="web")
    before, generation = job(world, pod.controller), world.job_cache.generation
    world.pod("a", owner="web")
    assert job(world, pod.controller) is before
    assert world.job_cache.generation == generation
    world.gone(pod)
    assert world.job_cache.jobs() == []
    assert world.job_cache.job(pod.controller) is None
