"""Gangs that are about to start: collected while decisions are acted on, then begun whole or given back.

See docs/decisions/0207.

collected ──► enough? ──► volumes of all members ──► recorded (`intents`) ──► bound
                 │ no             │ not enough come
                 └──────────► given back ◄──┘
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Protocol

from fairlead.dataclass import dataclass
from fairlead.levels.queue.reasons import NODES_FULL
from fairlead.live.cluster.cache import PodEvent
from fairlead.live.cluster.identity import JobKey, JobSource, PodKey, Uid
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import LiveJob, Place
from fairlead.live.queue.intents import Begin, Intents
from fairlead.live.queue.job_cache import JobCache
from fairlead.model.reasons import because

Choices = Mapping[str, str]
"""Claim to the volume chosen for it; empty where one is to be made."""


class Volumes(Protocol):
    """Sees to the volumes of pods; the outcome is told to `Assembly.ready` and `Assembly.failed`."""

    def begin(self, pod: PodRecord, node: str, choices: Choices) -> None: ...

    def give_up(self, pod: PodRecord) -> None: ...


@dataclass(slots=True)
class Gang:
    """A gang that starts, or goes on, with these members. `job` is as it was before they counted as placed."""

    job: LiveJob
    places: list[Place] = field(default_factory=list)
    choices: dict[Uid, Choices] = field(default_factory=dict)
    """By uid, of the members whose volumes are still to come."""

    def enough(self) -> bool:
        """Whether the members that run and these are what the gang needs."""
        if self.job.running + len(self.places) < self.job.min_member:
            return False
        tasks = Counter(pod.queue_fields.task for pod, _ in self.places)
        for role in self.job.roles:
            tasks[role.task] += len(role.running)
        return all(tasks[task] >= least for task, least in self.job.min_tasks.items())


GiveBack = Callable[[LiveJob, Sequence[Place]], None]
"""Told of members that are not started after all: their places are free again."""


@dataclass(slots=True, eq=False)
class Assembly:
    """Waits until the members of a gang have their volumes, then starts them together.

    A gang that loses a member goes on while it is enough; else all its members are given back.
    """

    job_cache: JobCache
    intents: Intents
    volumes: Volumes
    give_back: GiveBack
    pod_of: Callable[[PodKey], PodRecord | None]
    _by_uid: dict[Uid, Gang] = field(default_factory=dict, init=False)

    @contextmanager
    def collect(self) -> Iterator["Starting"]:
        """Collect the gangs of what is placed in the block; at its end each is started, or given back."""
        starting = Starting(self.job_cache, self)
        try:
            yield starting
        finally:
            starting.begin()

    def on_pod(self, event: PodEvent) -> None:
        """A pod came, changed or went: one that is gone does not start with its gang."""
        if event.deleted:
            self.failed(event.pod)

    def start(self, gang: Gang) -> None:
        """Start the gang as soon as all volumes are there; at once give back one that is not enough."""
        if not gang.enough():
            self._end(gang)
            return
        for pod, _ in gang.places:
            self._by_uid[pod.metadata.uid] = gang
        for pod, node in list(gang.places):
            if pod.metadata.uid in gang.choices:
                self.volumes.begin(pod, node, gang.choices[pod.metadata.uid])
        self._go(gang)

    def ready(self, pod: PodRecord) -> bool:
        """The pod has its volumes; False where it starts on its own."""
        gang = self._by_uid.get(pod.metadata.uid)
        if gang is None:
            return False
        gang.choices.pop(pod.metadata.uid, None)
        self._go(gang)
        return True

    def failed(self, pod: PodRecord) -> None:
        """The pod will not start this time, or is gone: without it the gang may not be enough."""
        gang = self._by_uid.pop(pod.metadata.uid, None)
        if gang is None:
            return
        gang.choices.pop(pod.metadata.uid, None)
        gang.places = [place for place in gang.places if place[0].metadata.uid != pod.metadata.uid]
        if gang.enough():
            self._go(gang)
        else:
            self._end(gang)

    def clear(self) -> None:
        """Give back whatever has not started."""
        for gang in {id(gang): gang for gang in self._by_uid.values()}.values():
            self._end(gang)

    def _go(self, gang: Gang) -> None:
        if gang.choices:
            return
        self._forget(gang)
        job, open_ = gang.job, self.job_cache.intents.get(gang.job.key)
        begun = {key: node for key, node in open_.places.items() if self._open(key)} if open_ else {}
        record = begun | {pod.key: node for pod, node in gang.places}
        self.intents.begin(Begin(job=job, uid=self.job_cache.uid(job), places=tuple(gang.places), record=record))

    def _open(self, key: PodKey) -> bool:
        """Whether a pod that an earlier intent names is still to be bound."""
        pod = self.pod_of(key)
        return pod is not None and pod.waits

    def _end(self, gang: Gang) -> None:
        self._forget(gang)
        for pod, _ in gang.places:
            if pod.metadata.uid in gang.choices:
                self.volumes.give_up(pod)
        self.give_back(gang.job, gang.places)

    def _forget(self, gang: Gang) -> None:
        for pod, _ in gang.places:
            self._by_uid.pop(pod.metadata.uid, None)


class Starting:
    """Collects the pods of gangs that begin, or go on, while decisions are acted on; then all are sent together."""

    def __init__(self, job_cache: JobCache, assembly: Assembly) -> None:
        self._job_cache = job_cache
        self._assembly = assembly
        self._begun: dict[JobKey, Gang | None] = {}

    def takes(self, pod: PodRecord, node: str, choices: Choices) -> bool:
        """Take the pod if it is part of a gang that is not complete; to be asked before it counts as placed."""
        if not (pod.queue_fields.group or pod.queue_fields.native):
            return False
        key = self._job_cache.job_of(pod)
        if key not in self._begun:
            job = self._job_cache.job(key)
            self._begun[key] = Gang(job) if job is not None and _starts(job) else None
        gang = self._begun[key]
        if gang is not None:
            gang.places.append((pod, node))
            if choices:
                gang.choices[pod.metadata.uid] = choices
        return gang is not None

    def begin(self) -> None:
        """Start the gangs that are enough, give back the others."""
        for gang in filter(None, self._begun.values()):
            self._assembly.start(gang)


def _starts(job: LiveJob) -> bool:
    """Whether binding pods of the job now begins a gang, or goes on with one that is not complete."""
    return job.source != JobSource.CONTROLLER and job.min_member > 1 and job.running < job.min_member


def unstarted(job: LiveJob, waiting: Sequence[PodRecord]) -> list[PodSetOutcome]:
    """What members of a gang are told that was given back."""
    detail = "its members cannot all start now"
    finding = because(NODES_FULL, fits=len(waiting), count=job.min_member, detail=detail)
    return [
        PodSetOutcome(group=group, placed=(), waiting=group.pods, considered=0, rejected=(), finding=finding)
        for group in grouped(waiting)
    ]
