"""The recorded stories of Volcano's controllers, played on a real API server with the scheduler's gate kept.

What is written in each story is compared with what vc-scheduler wrote, field by field (`volcano_writes.py`); intended
differences and their reasons are in tests/peers/data/volcano_writes.json.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from tools.controlplane.api import Api, ApiError
from tools.controlplane.nodes import create_kwok_nodes

from tests.cluster import volcano
from tests.cluster.played.host import Crew
from tests.cluster.played.volcano_groups import MIN_MEMBER, GroupController
from tests.cluster.played.volcano_jobs import JobController, PlayedJob, Task
from tests.cluster.test_fairness import Running, running
from tests.cluster.volcano_writes import Writes, differs, job_of, of_story, settled, wanted, written

NODES = 10


@pytest.fixture(scope="module")
def stage(api: Api, kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Ten nodes of 4 cpu and 16Gi, and the scheduler with its gate kept; evictions are not allowed."""
    volcano.install(api)
    mark = {"fairlead.test/stage": "volcano"}
    create_kwok_nodes(api, NODES, prefix="stage-", cpu="4", memory="16Gi", labels=mark)
    queue = {"admit": "gated", "statusSeconds": 0.2}
    try:
        with running(kubeconfig, tmp_path_factory.mktemp("stage"), queue=queue) as scheduler:
            yield scheduler
    finally:
        api.delete("/api/v1/nodes", labelSelector="fairlead.test/stage=volcano")


class Play:
    """A namespace with both controllers at work, and everything that is written there."""

    def __init__(self, api: Api, namespace: str, jobs: JobController, writes: Writes, queue: str) -> None:
        self.api = api
        self.namespace = namespace
        self.jobs = jobs
        self.writes = writes
        self.queue = queue

    def end(self, job: str) -> None:
        """The Job ends; what is written of it from then on does not count."""
        self.over(job)
        self.jobs.end(job)

    def over(self, job: str) -> None:
        """What is written of it from now on does not count."""
        found = self.api.get(volcano.groups_path(self.namespace), limit=1)
        self.writes.over.setdefault(job, int(found["metadata"]["resourceVersion"]))

    def counted(self, story: str) -> None:
        """Wait until the queue has said of each Job of the story that it holds as much as in the recording."""
        for job in self.writes.courses():
            most = of_story(story)[job].get("most")
            if most is not None:
                self.until(f"{job} counts", lambda most=most: most in self.writes.held(self.queue))  # type: ignore[misc]

    def annotations(self, group: str) -> set[str]:
        """Those that the PodGroup ever had."""
        metas = [found["metadata"] for _, _, found in list(self.writes.seen)]
        return {name for meta in metas if meta["name"] == group for name in meta.get("annotations", {})}

    def lives(self, job: str) -> list[str]:
        """The phases of all PodGroups that the Job had, one after another."""
        found = [each for _, kind, each in sorted(self.writes.seen, key=itemgetter(0)) if kind == "PodGroup"]
        phases = [each.get("status", {}).get("phase", "") for each in found if job_of(each["metadata"]["name"]) == job]
        return [phase for phase, _ in groupby(phases)]

    def bound(self, job: str = "") -> int:
        """Pods with a node, of one Job or of all."""
        where = {"labelSelector": f"volcano.sh/job-name={job}"} if job else {}
        found = self.api.items(f"/api/v1/namespaces/{self.namespace}/pods", **where)
        return sum(bool(pod["spec"].get("nodeName")) for pod in found)

    def pods(self) -> int:
        """Pods that exist."""
        return len(self.api.items(f"/api/v1/namespaces/{self.namespace}/pods"))

    def status(self, job: str) -> dict[str, Any]:
        """The status of a Job's PodGroup; empty where it is gone."""
        with suppress(ApiError):
            found = self.api.get(f"{volcano.groups_path(self.namespace)}/{self.jobs.jobs[job].group}")
            return dict(found.get("status", {}))
        return {}

    def until(self, what: str, holds: Callable[[], object]) -> None:
        """Wait for it."""
        self.api.wait(what, holds, seconds=25)

    def reaches(self, job: str, phase: str) -> None:
        """Wait until the Job's PodGroup is in a phase."""
        self.until(f"{job} {phase}", lambda: self.status(job).get("phase") == phase)


@contextmanager
def play(
    api: Api, namespace: str, story: str, *, queue: str = "default", restart_before_group: bool = False
) -> Iterator[Play]:
    """Both controllers, for the time of the block; then what was written is compared with the recorded story."""
    jobs = JobController(api, namespace, restart_before_group=restart_before_group)
    with written(api, namespace) as writes:
        made = Play(api, namespace, jobs, writes, queue)
        with Crew(jobs.sync, GroupController(api, namespace).sync):
            try:
                yield made
                made.counted(story)
            finally:
                for name in list(jobs.jobs):
                    made.end(name)
    recorded, found = of_story(story), writes.courses()
    assert {job: settled(recorded[job], found[job]) for job in found} == {job: wanted(recorded[job]) for job in found}


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Status and reason by type."""
    return {each["type"]: (each["status"], each.get("reason", "")) for each in status.get("conditions", [])}


READY = ("True", "tasks in gang are ready to be scheduled")


def test_queues_root_and_default_are_there(api: Api, stage: Running) -> None:
    """(a) Both with weight 1, only default reclaimable; then state Open and what they hold, which is nothing."""
    api.wait("both queues", lambda: {"root", "default"} <= set(_queues(api)))
    found = _queues(api)
    assert (found["root"]["spec"]["weight"], found["root"]["spec"]["reclaimable"]) == (1, False)
    assert (found["default"]["spec"]["weight"], found["default"]["spec"]["reclaimable"]) == (1, True)

    def status() -> dict[str, Any]:
        found: dict[str, Any] = api.get(f"{volcano.QUEUES}/default").get("status", {})
        return found

    # An earlier test on this server may have left its own figures there, until they are written anew.
    api.wait("the status of the queue", lambda: status().get("allocated") == {"cpu": "0", "memory": "0"})
    assert status()["state"] == "Open"
    counts = {phase.lower() for phase in ("Pending", "Inqueue", "Running", "Unknown", "Completed")}
    assert sorted(status().keys() - counts) == differs("fields of the status of the Queue default")
    assert sorted(found["default"]["spec"]) == differs("fields of the spec of the Queue default")


def _queues(api: Api) -> dict[str, Any]:
    return {each["metadata"]["name"]: each for each in api.items(volcano.QUEUES)}


def test_job_of_two_tasks_starts_and_ends(api: Api, stage: Running, namespace: str) -> None:
    """(b) "", Inqueue, pods, Scheduled, Running with 3; on completion the PodGroup is gone."""
    with play(api, namespace, "b") as story:
        job = PlayedJob(name="b", tasks={"m": Task(replicas=1), "w": Task(replicas=2)})
        story.jobs.submit(job)
        story.reaches("b", "Running")
        story.until("three counted", lambda: story.status("b").get("running") == 3)
        assert conditions(story.status("b"))["Scheduled"] == READY
        counts = differs("groups that run, in the status of their queue")
        story.until("queue counts groups", lambda: _queues(api)["default"]["status"].get("running") == counts)
        assert sorted(story.annotations(job.group)) == differs("annotations of a PodGroup while its gang starts")
        story.end("b")
        story.until("all gone", lambda: not story.pods())


def test_job_that_does_not_fit_is_not_let_in(api: Api, stage: Running, namespace: str) -> None:
    """(c) Pending, no pods, for what does not fit now and for what never will; after room Inqueue, pods, Running."""
    with play(api, namespace, "c") as story:
        story.jobs.submit(PlayedJob(name="big", tasks={"t": Task(replicas=10, cpu=3)}))
        story.reaches("big", "Running")
        story.jobs.submit(PlayedJob(name="wait", tasks={"t": Task(replicas=5, cpu=3)}))
        story.jobs.submit(PlayedJob(name="huge", tasks={"t": Task(replicas=20, cpu=3)}))
        story.reaches("wait", "Pending")
        story.reaches("huge", "Pending")
        assert story.pods() == 10
        assert conditions(story.status("huge"))["Unschedulable"][0] == "True"
        story.end("big")
        story.reaches("wait", "Running")
        assert story.bound("wait") == 5
        assert story.status("huge")["phase"] == "Pending"


def test_job_that_fits_in_sum_and_on_no_node_waits_with_its_pods(api: Api, stage: Running, namespace: str) -> None:
    """(c2) Let in, pods exist; Unschedulable on the group and on each pod; after room it runs."""
    with play(api, namespace, "c2") as story:
        story.jobs.submit(PlayedJob(name="thin", tasks={"t": Task(replicas=10)}))
        story.reaches("thin", "Running")
        story.jobs.submit(PlayedJob(name="wide", tasks={"t": Task(replicas=5, cpu=4)}))
        story.until("pods of wide", lambda: story.pods() == 15)
        story.until(
            "wide is told",
            lambda: conditions(story.status("wide")).get("Unschedulable") == ("True", "NotEnoughResources"),
        )
        assert story.bound("wide") == 0
        waits = api.items(f"/api/v1/namespaces/{namespace}/pods", labelSelector="volcano.sh/job-name=wide")
        story.until("pods are told", lambda: all(unscheduled(api, namespace, each) for each in waits))
        story.end("thin")
        story.reaches("wide", "Running")
        assert conditions(story.status("wide"))["Scheduled"] == READY


def unscheduled(api: Api, namespace: str, pod: dict[str, Any]) -> bool:
    """Whether the pod has PodScheduled=False."""
    found = api.get(f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")
    return any(
        (each["type"], each["status"], each.get("reason")) == ("PodScheduled", "False", "Unschedulable")
        for each in found["status"].get("conditions", [])
    )


def test_job_in_a_closed_queue_is_never_let_in_first(api: Api, stage: Running, namespace: str) -> None:
    """(d) Closed: Pending, no pods. Opened: Inqueue, pods, Running."""
    name = f"shut-{namespace[:20]}".rstrip("-")
    with volcano.queues(api, **{name: {"weight": 1}}), play(api, namespace, "d", queue=name) as story:
        api.patch(f"{volcano.QUEUES}/{name}/status", {"status": {"state": "Closed"}})
        story.jobs.submit(PlayedJob(name="d", queue=name, tasks={"t": Task(replicas=2)}))
        story.reaches("d", "Pending")
        assert story.pods() == 0
        api.patch(f"{volcano.QUEUES}/{name}/status", {"status": {"state": "Open"}})
        story.reaches("d", "Running")
        held = {"cpu": "2", "memory": "2Gi", "pods": "2"}
        story.until("queue counts", lambda: api.get(f"{volcano.QUEUES}/{name}")["status"]["allocated"] == held)
        story.end("d")


def test_deployment_that_announces_a_group_starts_whole(api: Api, stage: Running, namespace: str) -> None:
    """(e) Pods are born without annotation: none is bound before the last of six has it; two more come to eight."""
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    template = {
        "metadata": {"labels": {"app": "e"}},
        "spec": {"schedulerName": "fairlead", "terminationGracePeriodSeconds": 0, "containers": [container]},
    }
    deployment = {
        "metadata": {"name": "e", "annotations": {MIN_MEMBER: "6"}},
        "spec": {"replicas": 6, "selector": {"matchLabels": {"app": "e"}}, "template": template},
    }
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    halves: list[int] = []
    with play(api, namespace, "e") as story:
        api.create(path, {"apiVersion": "apps/v1", "kind": "Deployment", **deployment})

        def whole() -> bool:
            found = api.items(f"/api/v1/namespaces/{namespace}/pods")
            named = sum(volcano.GROUP in pod["metadata"].get("annotations", {}) for pod in found)
            there = sum(bool(pod["spec"].get("nodeName")) for pod in found)
            if named < 6:
                halves.append(there)
            return there == 6

        story.until("six bound", whole)
        api.patch(f"{path}/e", {"spec": {"replicas": 8}})
        story.until("eight bound", lambda: story.bound() == 8)
        (group,) = api.items(volcano.groups_path(namespace))
        assert group["spec"]["minMember"] == 6
        counted = f"{volcano.groups_path(namespace)}/{group['metadata']['name']}"
        story.until("eight counted", lambda: api.get(counted).get("status", {}).get("running") == 8)
        story.over("e")
        api.delete(f"{path}/e")
        story.until("all gone", lambda: not story.pods())
    assert halves
    assert not any(halves)


def test_job_that_is_scaled_grows_and_shrinks(api: Api, stage: Running, namespace: str) -> None:
    """(f) 3, 5, 2: the PodGroup's spec first, then pods; running follows."""
    with play(api, namespace, "f") as story:
        story.jobs.submit(PlayedJob(name="f", tasks={"t": Task(replicas=3)}))
        story.reaches("f", "Running")
        for size in (5, 2):
            story.jobs.scale("f", size)
            story.until(f"{size} counted", lambda size=size: story.status("f").get("running") == size)  # type: ignore[misc]
            assert story.bound("f") == size
        assert story.status("f")["phase"] == "Running"


def test_job_that_is_aborted_and_resumed_starts_again(api: Api, stage: Running, namespace: str) -> None:
    """(g) Pods and PodGroup go; a PodGroup of the same name is made anew, let in, and runs."""
    with play(api, namespace, "g") as story:
        job = PlayedJob(name="g", tasks={"t": Task(replicas=3)})
        story.jobs.submit(job)
        story.reaches("g", "Running")
        story.jobs.end("g")
        story.until("aborted", lambda: not story.pods())
        story.jobs.submit(job)
        story.reaches("g", "Running")
    # While its pods go one by one the first group may be Unknown for a moment.
    assert [each for each in story.lives("g") if each in ("Inqueue", "Running")] == ["Inqueue", "Running"] * 2


@pytest.mark.parametrize("least", [None, 2], ids=["h", "h2"])
def test_tasks_that_depend_on_others(api: Api, stage: Running, namespace: str, least: int | None) -> None:
    """(h) Without the tasks' minAvailable all pods at once; (h2) with it the second task follows the first."""
    tasks = {"ps": Task(replicas=2, least=least), "wk": Task(replicas=2, least=least, after=("ps",))}
    with play(api, namespace, "h" if least is None else "h2") as story:
        story.jobs.submit(PlayedJob(name="dep", tasks=tasks, least=2))
        story.until("four bound", lambda: story.bound("dep") == 4)
        story.reaches("dep", "Running")


def test_gang_that_waits_for_pods_that_wait_for_it_says_how_many_exist(
    api: Api, stage: Running, namespace: str
) -> None:
    """(h2) minAvailable 4 of which two depend on the others never starts, with either scheduler."""
    tasks = {"ps": Task(replicas=2, least=2), "wk": Task(replicas=2, least=2, after=("ps",))}
    with play(api, namespace, "h2") as story:
        story.jobs.submit(PlayedJob(name="depall", tasks=tasks, least=4))
        words = "2 pods exist, 4 start together"
        story.until("it is told", lambda: words in json.dumps(story.status("depall")))
        pods = api.items(f"/api/v1/namespaces/{namespace}/pods")
        story.until("pods are told", lambda: all(unscheduled(api, namespace, each) for each in pods))
        assert story.bound() == 0


def test_elastic_job_starts_with_what_fits(api: Api, stage: Running, namespace: str) -> None:
    """(i) 3 of 5 bound, Scheduled, the others wait; with room they are bound."""
    with play(api, namespace, "i") as story:
        story.jobs.submit(PlayedJob(name="fill", tasks={"t": Task(replicas=7, cpu=4)}))
        story.reaches("fill", "Running")
        story.jobs.submit(PlayedJob(name="el", tasks={"t": Task(replicas=5, cpu=4)}, least=2))
        story.until("three of el", lambda: story.bound("el") == 3)
        story.reaches("el", "Running")
        assert conditions(story.status("el"))["Scheduled"] == READY
        story.end("fill")
        story.until("five of el", lambda: story.bound("el") == 5)


def test_job_whose_pod_group_is_deleted_runs_on(api: Api, stage: Running, namespace: str) -> None:
    """(j) Nobody makes the group again; the pods stay and go on counting in the queue."""
    with play(api, namespace, "j") as story:
        story.jobs.submit(PlayedJob(name="j", tasks={"t": Task(replicas=2)}))
        story.reaches("j", "Running")
        story.until("queue counts", lambda: _held(api) == "2")
        story.over("j")
        api.delete(f"{volcano.groups_path(namespace)}/{story.jobs.jobs['j'].group}")
        story.until("group is gone", lambda: not api.items(volcano.groups_path(namespace)))
        assert story.bound("j") == 2
        assert _held(api) == differs("cpu of the queue after the PodGroup of two running pods is gone")


def _held(api: Api) -> str:
    return str(api.get(f"{volcano.QUEUES}/default").get("status", {}).get("allocated", {}).get("cpu", ""))


@pytest.mark.parametrize("pods_first", [True, False], ids=["pods before their group", "group before its pods"])
def test_job_whose_pod_is_evicted_restarts_whole(api: Api, stage: Running, namespace: str, pods_first: bool) -> None:
    """(k) The other pods are deleted, all come again, before or after the PodGroup of the same name: never half."""
    with play(api, namespace, "k", restart_before_group=pods_first) as story:
        story.jobs.submit(PlayedJob(name="k", tasks={"t": Task(replicas=3)}))
        story.reaches("k", "Running")
        path = f"/api/v1/namespaces/{namespace}/pods/k-t-1"
        api.create(f"{path}/eviction", {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "k-t-1"}})
        story.jobs.restart("k")
        story.until("three bound again", lambda: story.bound("k") == 3)
        story.reaches("k", "Running")
        retries = {
            pod["metadata"]["annotations"]["volcano.sh/job-retry-count"]
            for pod in api.items(f"/api/v1/namespaces/{namespace}/pods")
        }
        assert retries == {"1"}
