"""`plan` and `share` on the same manifests: the same jobs start."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fairlead.cli.main import cli
from tests.queue.test_manifests import group, node, obj, pod

Objects = list[dict[str, Any]]


def answered(verb: str, objects: Objects, folder: Path) -> dict[str, Any]:
    """The JSON answer of a verb to these manifests."""
    (folder / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    result = CliRunner().invoke(cli, [verb, "-f", str(folder), "-o", "json"], standalone_mode=False)
    assert result.exception is None, result.exception
    answer = json.loads(result.stdout)
    assert isinstance(answer, dict)
    return answer


def planned(objects: Objects, folder: Path) -> dict[str, int]:
    """New replicas by workload, as `plan` places them."""
    (site,) = answered("plan", objects, folder)["sites"]
    counts = {
        row["workload"]: sum(sum(part["placements"].values()) for part in row["parts"]) for row in site["workloads"]
    }
    return {name: count for name, count in counts.items() if count}


def shared(objects: Objects, folder: Path) -> dict[str, int]:
    """New replicas by job, as `share` grants them."""
    return dict(answered("share", objects, folder)["placements"])


def waiting(name: str, *, created: str = "", **more: Any) -> dict[str, Any]:
    """A pod of ours that takes the whole node."""
    times = {"creationTimestamp": created} if created else {}
    return pod(name, cpu="4", schedulerName="fairlead", meta=times | more.pop("meta", {}), **more)


@pytest.mark.parametrize("turned", [False, True], ids=["as written", "turned round"])
def test_what_has_no_time_is_younger_than_all_that_has_one(tmp_path: Path, turned: bool) -> None:
    """A pod of a file beside pods of a cluster comes after them, wherever it stands in the file."""
    objects = [node("n1"), waiting("a"), waiting("b", created="2026-01-01T00:00:00Z")]
    assert planned(objects[:: -1 if turned else 1], tmp_path) == {"ns/b": 1}
    assert shared(objects[:: -1 if turned else 1], tmp_path) == {"ns/b": 1}


@pytest.mark.parametrize("turned", [False, True], ids=["as written", "turned round"])
def test_without_times_the_name_decides_and_not_the_place_in_the_file(tmp_path: Path, turned: bool) -> None:
    """In natural order."""
    objects = [node("n1"), waiting("p10"), waiting("p2")]
    assert planned(objects[:: -1 if turned else 1], tmp_path) == {"ns/p2": 1}
    assert shared(objects[:: -1 if turned else 1], tmp_path) == {"ns/p2": 1}


@pytest.mark.parametrize("keeper", ["bare", "group"])
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("2026-01-01T03:00:00+04:00", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "2025-12-31T20:00:01-04:00"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:01.5Z"),
    ],
)
def test_times_of_several_zones_are_compared_as_times(tmp_path: Path, earlier: str, later: str, keeper: str) -> None:
    """A server writes all of them in UTC; files need not."""
    if keeper == "bare":
        objects = [node("n1"), waiting("a", created=later), waiting("b", created=earlier)]
    else:
        groups = [group("a"), group("b")]
        for each, created in zip(groups, (later, earlier), strict=True):
            each["metadata"]["creationTimestamp"] = created
        objects = [node("n1"), *groups, waiting("a", group="a"), waiting("b", group="b")]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {"ns/b": 1}


def test_a_part_of_a_second_makes_nothing_older(tmp_path: Path) -> None:
    """A server keeps whole seconds; then names decide."""
    times = ("2026-01-01T00:00:00.9Z", "2026-01-01T00:00:00.1Z")
    objects = [node("n1"), *(waiting(name, created=time) for name, time in zip("ab", times, strict=True))]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {"ns/a": 1}


def test_the_age_of_a_gang_is_that_of_its_group(tmp_path: Path) -> None:
    """Whenever its pods were created."""
    pods = [
        waiting("a", created="2026-01-02T00:00:00Z", group="late"),
        waiting("b", created="2026-01-03T00:00:00Z", group="soon"),
    ]
    groups = [group("late"), group("soon")]
    for row, day in zip(groups, ("05", "04"), strict=True):
        row["metadata"]["creationTimestamp"] = f"2026-01-{day}T00:00:00Z"
    assert planned([node("n1"), *groups, *pods], tmp_path) == {"ns/b": 1}
    assert shared([node("n1"), *groups, *pods], tmp_path) == {"ns/soon": 1}


def test_a_group_without_a_time_is_as_old_as_its_first_pod(tmp_path: Path) -> None:
    """Pods without a time say nothing."""
    pods = [
        waiting("a", created="2026-01-02T00:00:00Z", group="late"),
        waiting("b", group="soon"),
        waiting("c", created="2026-01-01T00:00:00Z", group="soon"),
    ]
    objects = [node("n1"), group("late"), group("soon"), *pods]
    assert planned(objects, tmp_path) == {"ns/b": 1}
    assert shared(objects, tmp_path) == {"ns/soon": 1}


def test_the_age_of_a_volcano_job_is_its_own(tmp_path: Path) -> None:
    """The group that is read out of it is as old as the job."""

    def job(name: str, day: str) -> dict[str, Any]:
        asked = pod("x", cpu="4")["spec"]
        tasks = [{"name": "t", "replicas": 1, "template": {"spec": asked}}]
        spec = {"minAvailable": 1, "tasks": tasks}
        times = {"creationTimestamp": f"2026-01-{day}T00:00:00Z"}
        return obj("Job", name, "batch.volcano.sh/v1alpha1", "ns", meta=times, spec=spec)

    assert planned([node("n1"), job("a", "02"), job("b", "01")], tmp_path) == {"ns/b-t": 1}


def member(name: str, role: str, **more: Any) -> dict[str, Any]:
    """A pod of the gang g, of 1 cpu, for the node of its role."""
    meta = {"annotations": {"volcano.sh/task-spec": role}}
    return pod(name, group="g", schedulerName="fairlead", nodeSelector={"zone": role}, meta=meta, **more)


def test_a_gang_starts_with_the_minimum_of_each_task_or_not_at_all(tmp_path: Path) -> None:
    """One master of two finds a place: no worker starts, though two of the gang would fit."""
    small = node("master")
    small["status"]["allocatable"]["cpu"] = "1"
    pods = [member("m1", "master"), member("m2", "master"), member("w1", "worker"), member("w2", "worker")]
    for tasks in ({"master": 2}, {"master": 2, "worker": 1}, {"master": 1, "worker": 1, "driver": 1}):
        gang = group("g", minMember=sum(tasks.values()), minTaskMember=tasks)
        objects = [small, node("worker"), gang, *pods]
        assert planned(objects, tmp_path) == shared(objects, tmp_path) == {}, tasks
    # With a minimum of its own below their sum the tasks have no say.
    objects[2] = group("g", minMember=1, minTaskMember={"master": 2})
    assert planned(objects, tmp_path) == {"ns/m1": 1, "ns/w1": 1, "ns/w2": 1}
    assert shared(objects, tmp_path) == {"ns/g": 3}


def test_a_gang_starts_once_its_minimum_resources_are_free(tmp_path: Path) -> None:
    """Its pods alone would fit."""
    asked = pod("p", group="g", schedulerName="fairlead")
    for cpu, started in (("4", 1), ("5", 0)):
        objects = [node("n1"), group("g", minMember=1, minResources={"cpu": cpu}), asked]
        assert sum(planned(objects, tmp_path).values()) == sum(shared(objects, tmp_path).values()) == started


def test_a_gang_waits_until_it_has_as_many_pods_as_it_starts_with(tmp_path: Path) -> None:
    """Two pods of three."""
    pods = [pod(name, group="g", schedulerName="fairlead") for name in ("a", "b")]
    objects = [node("n1"), group("g", minMember=3), *pods]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {}


def test_pods_that_have_succeeded_count_for_the_minimum_of_their_gang(tmp_path: Path) -> None:
    """One is done: the two that are left need no third."""
    pods = [pod(name, group="g", schedulerName="fairlead") for name in ("a", "b", "c")]
    pods[0]["status"] = {"phase": "Succeeded"}
    objects = [node("n1"), group("g", minMember=3, minTaskMember={"": 3}), *pods]
    assert planned(objects, tmp_path) == {"ns/b": 1, "ns/c": 1}
    assert shared(objects, tmp_path) == {"ns/g": 2}


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    """A PriorityClass."""
    return obj("PriorityClass", name, "scheduling.k8s.io/v1", value=value, **more)


def test_the_class_that_a_gang_names_counts_before_the_priority_of_its_pods(tmp_path: Path) -> None:
    """A server writes a priority into every pod, 0 where it names no class."""
    pods = [waiting("a", priority=0), waiting("b", priority=0, group="g")]
    objects = [node("n1"), priority_class("high", 9), group("g", priorityClassName="high"), *pods]
    assert planned(objects, tmp_path) == {"ns/b": 1}
    assert shared(objects, tmp_path) == {"ns/g": 1}


def test_the_system_s_own_priority_classes_are_there_without_being_written(tmp_path: Path) -> None:
    """They come before what names no class."""
    objects = [node("n1"), waiting("a"), waiting("b", priorityClassName="system-node-critical")]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {"ns/b": 1}


def test_the_default_priority_class_is_that_of_pods_that_name_none(tmp_path: Path) -> None:
    """As a server gives it to them: the least of several defaults."""
    classes = [
        priority_class("usual", 5, globalDefault=True),
        priority_class("other", 50, globalDefault=True),
        priority_class("low", 1),
    ]
    objects = [node("n1"), *classes, waiting("a", priorityClassName="low"), waiting("b")]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {"ns/b": 1}
    objects = [node("n1"), *classes, waiting("a"), waiting("b", priorityClassName="high"), priority_class("high", 9)]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {"ns/b": 1}


def test_a_gang_starts_with_the_members_that_fit(tmp_path: Path) -> None:
    """A master and a worker of two each, where the nodes of either take one."""
    nodes = [node(name) for name in ("masters", "workers")]
    pods = [
        waiting(f"{name}-{row}", group="g", nodeSelector={"zone": name})
        for name in ("masters", "workers")
        for row in range(2)
    ]
    assert sum(planned([*nodes, group("g", minMember=2), *pods], tmp_path).values()) == 2
    assert shared([*nodes, group("g", minMember=2), *pods], tmp_path) == {"ns/g": 2}
    assert not planned([*nodes, group("g", minMember=3), *pods], tmp_path)
    assert not shared([*nodes, group("g", minMember=3), *pods], tmp_path)


TASK = "volcano.sh/task-spec"
GOING = {"deletionTimestamp": "2026-03-01T00:00:00Z"}


def test_tasks_have_no_say_where_the_gang_starts_with_fewer_than_they_ask_for(tmp_path: Path) -> None:
    """Five are asked for by task and four by the gang, which starts without the one that finds no node."""
    gang = group("g", minMember=4, minTaskMember={"a": 3, "b": 2})
    lost = pod(
        "a", group="g", schedulerName="fairlead", nodeSelector={"zone": "none"}, meta={"annotations": {TASK: "a"}}
    )
    others = [
        pod(f"b{row}", group="g", schedulerName="fairlead", meta={"annotations": {TASK: "b"}}) for row in range(4)
    ]
    objects = [node("n1"), gang, lost, *others]
    assert sum(planned(objects, tmp_path).values()) == 4
    assert shared(objects, tmp_path) == {"ns/g": 4}


def test_replicas_beyond_what_is_asked_for_count_in_their_gang(tmp_path: Path) -> None:
    """A StatefulSet is scaled to none, and its pod still runs: with two others that makes three."""
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
    made = {"metadata": {"annotations": {"scheduling.k8s.io/group-name": "g"}}, "spec": {"containers": []}}
    keeper = obj("StatefulSet", "db", "apps/v1", "ns", spec={"replicas": 0, "template": made})
    runs = pod("db-0", group="g", schedulerName="fairlead", nodeName="n1", meta={"ownerReferences": [owner]})
    others = [pod(name, group="g", schedulerName="fairlead") for name in ("a", "b")]
    objects = [node("n1"), group("g", minMember=3), keeper, runs, *others]
    assert planned(objects, tmp_path) == {"ns/a": 1, "ns/b": 1}
    assert shared(objects, tmp_path) == {"ns/g": 2}
    objects = [node("n1"), group("g", minMember=4), keeper, runs, *others]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {}


def test_a_pod_that_is_being_deleted_is_no_member_of_its_gang(tmp_path: Path) -> None:
    """As in the live scheduler, the one that comes in its place does not start alone; the room is still taken."""
    gang, leaves = group("g", minMember=2), pod("a", group="g", nodeName="n1", meta=GOING)
    objects = [node("n1"), gang, leaves, pod("b", group="g")]
    assert planned(objects, tmp_path) == shared(objects, tmp_path) == {}
    objects += [pod(name, group="g") for name in "cde"]
    assert sum(planned(objects, tmp_path).values()) == 3
    assert shared(objects, tmp_path) == {"ns/g": 3}


def test_a_controller_s_pods_are_as_old_as_the_first_of_them(tmp_path: Path) -> None:
    """Whenever the controller was created: live the age of pods decides whose turn it is."""

    def owned(name: str, month: str, created: str) -> Objects:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
        template = {"metadata": {}, "spec": pod("x", cpu="4")["spec"]}
        times = {"creationTimestamp": f"2026-{month}-01T00:00:00Z"}
        return [
            obj("ReplicaSet", name, "apps/v1", "ns", meta=times, spec={"replicas": 1, "template": template}),
            waiting(f"{name}-x", created=created, meta={"ownerReferences": [owner]}),
        ]

    a, b = owned("a", "01", "2026-05-02T00:00:00Z"), owned("b", "02", "2026-05-01T00:00:00Z")
    assert planned([node("n1"), *a, *b], tmp_path) == shared([node("n1"), *a, *b], tmp_path) == {"ns/b": 1}
    assert planned([node("n1"), a[0], b[0]], tmp_path) == shared([node("n1"), a[0], b[0]], tmp_path) == {"ns/a": 1}


def test_a_node_that_is_not_ready_is_not_shared(tmp_path: Path) -> None:
    """Two queues of one weight share the four cores of the other node."""
    closed = node("n1")
    closed["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    queues = [obj("Queue", name, "scheduling.volcano.sh/v1beta1", spec={"weight": 1}) for name in "xy"]
    asks = {"scheduling.volcano.sh/queue-name": "x"}
    objects = [closed, node("n2"), *queues, *(pod(f"p{row}", meta={"annotations": asks}) for row in range(9))]
    told = answered("share", objects, tmp_path)["queues"]["x"]["deserved"]
    (site,) = answered("plan", objects, tmp_path)["sites"]
    assert told == next(row for row in site["queues"] if row["queue"] == "x")["deserved"] == {"cpu": "4"}
