"""Volcano's job controller, played from what the real one wrote: which objects, in which order, and what it waits for.

A Job here is a value: its kind is not installed, for nobody else reads it. Its PodGroup is made first, with an empty
status and the six names of `minResources`; its pods, annotated from birth, once somebody has moved the group's phase
on from "" or Pending.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster.volcano import GROUP, groups_path

Raw = dict[str, Any]
JOB = "volcano.sh/job-name"
WORKERS = 16
"""Pods that it creates at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Replicas of one role. `least` is its minAvailable; pods of a task that depends on others come after those run."""

    replicas: int
    least: int | None = None
    cpu: int = 1
    after: tuple[str, ...] = ()

    @property
    def minimum(self) -> int:
        """What the controller writes as minTaskMember: all of them where the task says nothing."""
        return self.replicas if self.least is None else self.least


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedJob:
    """One Job; `least` is its minAvailable, all pods where it is not given."""

    name: str
    tasks: Mapping[str, Task] = field(default_factory=lambda: {"t": Task(replicas=1)})
    queue: str = "default"
    least: int | None = None
    uid: str = "u1"
    retry: int = 0

    @property
    def group(self) -> str:
        """The name of its PodGroup."""
        return f"{self.name}-{self.uid}"

    @property
    def minimum(self) -> int:
        """Pods that start together."""
        return sum(task.replicas for task in self.tasks.values()) if self.least is None else self.least

    def pods(self) -> Iterator[tuple[str, str, Task]]:
        """Name, task and its description, in the order in which they are made."""
        for name, task in self.tasks.items():
            for number in range(task.replicas):
                yield f"{self.name}-{name}-{number}", name, task


class JobController:
    """Looks at its Jobs again and again; `restart_before_group` makes new pods of a restart before their PodGroup.

    `pods` and `groups` are those there are, by name, as somebody's watch tells; where not given they are listed.
    """

    def __init__(
        self,
        api: Api,
        namespace: str,
        *,
        restart_before_group: bool = False,
        pods: Callable[[], Mapping[str, Raw]] | None = None,
        groups: Callable[[], Mapping[str, Raw]] | None = None,
    ) -> None:
        self.api = api
        self.namespace = namespace
        self.jobs: dict[str, PlayedJob] = {}
        self.restarts_first = restart_before_group
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self.groups_path = groups_path(namespace)
        self._all_pods = pods or self._listed
        self._all_groups = groups or self._listed_groups
        self._sent: set[str] = set()
        """Pods that were created and not seen yet."""

    def submit(self, job: PlayedJob) -> None:
        """A user creates the Job: its PodGroup follows at once, sent twice as the real controller often does."""
        self.jobs[job.name] = job
        for _ in range(2):
            with suppress(ApiError):
                self.api.create(self.groups_path, group_of(job))

    def scale(self, name: str, replicas: int) -> None:
        """Another number of replicas, all of them needed: first the PodGroup, then pods, the highest go."""
        old = self.jobs[name]
        tasks = {task: replace(spec, replicas=replicas) for task, spec in old.tasks.items()}
        new = self.jobs[name] = replace(old, tasks=tasks, least=None)
        self.api.patch(f"{self.groups_path}/{new.group}", {"spec": group_of(new)["spec"]})
        for pod in {name for name, *_ in old.pods()} - {name for name, *_ in new.pods()}:
            self._delete(f"{self.pods_path}/{pod}")

    def end(self, name: str) -> PlayedJob:
        """The Job is done, aborted or deleted: its pods go, then its PodGroup."""
        job = self.jobs.pop(name)
        for pod, *_ in job.pods():
            self._delete(f"{self.pods_path}/{pod}")
        self._delete(f"{self.groups_path}/{job.group}")
        return job

    def restart(self, name: str) -> None:
        """A pod was evicted: all go, and come again under the same PodGroup's name, before or after it."""
        job = self.end(name)
        self.api.wait(f"pods of {name} gone", lambda: not self._pods(job))
        again = replace(job, retry=job.retry + 1)
        if self.restarts_first:
            self.api.create_many(self.pods_path, [pod_of(again, *pod) for pod in again.pods()])
        self.submit(again)

    def sync(self) -> None:
        """Make the pods that may exist and do not."""
        phases = {name: each.get("status", {}).get("phase", "") for name, each in self._all_groups().items()}
        found: dict[str, dict[str, Raw]] = {}
        for name, pod in self._all_pods().items():
            found.setdefault(pod["metadata"].get("labels", {}).get(JOB, ""), {})[name] = pod
            self._sent.discard(name)
        made: list[Raw] = []
        for job in list(self.jobs.values()):
            if phases.get(job.group, "") not in ("", "Pending"):
                there = found.get(job.name, {})
                missing = (pod for pod in job.pods() if pod[0] not in there and pod[0] not in self._sent)
                made.extend(pod_of(job, *pod) for pod in missing if self._ready(pod[2], job, there))
        self._sent |= {pod["metadata"]["name"] for pod in made}
        try:
            self.api.create_many(self.pods_path, made, workers=WORKERS)
        except ApiError:
            self._sent.clear()
            raise

    def _ready(self, task: Task, job: PlayedJob, there: Mapping[str, Raw]) -> bool:
        """Whether the tasks that it depends on run, as many of each as its own minAvailable asks for."""
        for other in task.after:
            least = job.tasks[other].least
            up = sum(
                pod["metadata"]["annotations"]["volcano.sh/task-spec"] == other
                and pod["status"].get("phase") == "Running"
                for pod in there.values()
            )
            if least is not None and up < least:
                return False
        return True

    def _listed(self) -> dict[str, Raw]:
        self._sent.clear()
        return {pod["metadata"]["name"]: pod for pod in self.api.items(self.pods_path)}

    def _listed_groups(self) -> dict[str, Raw]:
        return {group["metadata"]["name"]: group for group in self.api.items(self.groups_path)}

    def _pods(self, job: PlayedJob) -> dict[str, Raw]:
        found = self.api.items(self.pods_path, labelSelector=f"{JOB}={job.name}")
        return {each["metadata"]["name"]: each for each in found}

    def _delete(self, path: str) -> None:
        with suppress(ApiError):
            self.api.delete(path, gracePeriodSeconds=0)


def quota_names(pods: int, cpu: int) -> Raw:
    """`minResources` as the controllers write it; every pod asks for 1Gi."""
    plain = {"cpu": str(cpu), "memory": f"{pods}Gi", "pods": str(pods)}
    return {**plain, "requests.cpu": str(cpu), "requests.memory": f"{pods}Gi", "count/pods": str(pods)}


def group_of(job: PlayedJob) -> Raw:
    """The PodGroup; amounts are those of the first `minimum` pods."""
    first = [task for _, _, task in job.pods()][: job.minimum]
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": job.group},
        "spec": {
            "minMember": job.minimum,
            "minTaskMember": {name: task.minimum for name, task in job.tasks.items()},
            "minResources": quota_names(len(first), sum(task.cpu for task in first)),
            "queue": job.queue,
        },
        "status": {},
    }


def pod_of(job: PlayedJob, name: str, task_name: str, task: Task) -> Raw:
    """One pod of the Job."""
    marks = {
        GROUP: job.group,
        JOB: job.name,
        "volcano.sh/task-spec": task_name,
        "volcano.sh/job-retry-count": str(job.retry),
        "volcano.sh/queue-name": job.queue,
    }
    requests = {"cpu": str(task.cpu), "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "annotations": marks,
            "labels": {JOB: job.name, "volcano.sh/queue-name": job.queue},
        },
        "spec": {
            "schedulerName": "fairlead",
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": requests}}],
        },
    }
