"""Gangs that have been started, from the first bind to the last; and those that have to be given up."""

from collections.abc import Callable, Iterable
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.events import Recorder
from fairlead.levels.queue.reasons import GANG_ABOVE_REPLICAS
from fairlead.live.cluster.cache import PodEvent
from fairlead.live.cluster.identity import JobKey, PodKey, group_of_job
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import LiveJob, Place, Promise
from fairlead.live.queue.contested_turn import bare
from fairlead.live.queue.intents import RESOURCES, End, Intents
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.pod_groups import moment
from fairlead.model.reasons import Finding

GATHERING = 5.0
"""Seconds for which the pods of a gang may still be coming, before they are told that some are missing."""


def gathers(finding: Finding | None, waiting: Iterable[PodRecord], now: float) -> bool:
    """Whether the pods wait for others of their gang that may well be on their way; `now` is of the wall clock."""
    if finding is None or finding.reason is not GANG_ABOVE_REPLICAS:
        return False
    return now - max(moment(pod.created) for pod in waiting) < GATHERING


@dataclass(slots=True, eq=False)
class Gangs:
    """Follows every recorded intent until all its pods are bound or gone. Only a leader ends them.

    `pod_of` looks up a pod.
    """

    job_cache: JobCache
    intents: Intents
    pod_of: Callable[[PodKey], PodRecord | None]
    recorder: Recorder | None = None
    leads: Callable[[], bool] = lambda: True
    _open: dict[JobKey, tuple[Promise, set[PodKey]]] = field(default_factory=dict, init=False)

    def check(self) -> None:
        """Look at intents that are new to us, those of an earlier leader among them."""
        if not self.leads():
            return
        intents = self.job_cache.intents
        for job, promise in list(intents.items()):
            if self._open.get(job, (None,))[0] is not promise:
                self._open[job] = promise, {key for key in promise.places if self._misses(key)}
                self._close(job)
        for job in self._open.keys() - intents.keys():
            del self._open[job]

    def on_pod(self, event: PodEvent) -> None:
        """A pod came, changed or went: a gang that misses no pod any more ends."""
        if not self._open or not self.leads():
            return
        pod = event.pod
        job = self.job_cache.job_of(pod)
        if job in self._open and not self._misses(pod.key):
            self._open[job][1].discard(pod.key)
            self._close(job)

    def lost(self) -> None:
        """This instance leads no longer: another follows the gangs now."""
        self._open.clear()

    def drop(self, jobs: Iterable[JobKey]) -> None:
        """End these intents: nothing of them is bound, and what they name does not fit any more."""
        for job in jobs:
            self._end(job)

    def expire(self, before: float, released: Iterable[LiveJob]) -> None:
        """Intents seen before that moment end, complete or not; people are told of gangs that are given up."""
        given_up = {job.key: job for job in released}
        for job, promise in list(self.job_cache.intents.items()):
            if promise.at <= before:
                self._end(job)
                if job in given_up:
                    self._tell(given_up[job])

    def _misses(self, key: PodKey) -> bool:
        """Whether the pod is still to be bound."""
        pod = self.pod_of(key)
        return pod is not None and pod.waits

    def _close(self, job: JobKey) -> None:
        if not self._open[job][1]:
            self._end(job)

    def _end(self, job: JobKey) -> None:
        """The intent counts no longer, from now on; the server is told."""
        self._open.pop(job, None)
        if self.job_cache.intents.pop(job, None) is None:
            return
        key = group_of_job(job)
        group = self.job_cache.groups.get(key) if key else None
        if key is not None and group is not None:
            self.intents.end(End(key[0], key[1:], group.intent))

    def _tell(self, job: LiveJob) -> None:
        if self.recorder is None:
            return
        stay = [pod for pod, _ in _running(job) if bare(pod)]
        resource = RESOURCES[job.source]
        group = self.job_cache.groups.get((job.source, job.namespace, job.name))
        note = f"{job.running} of {job.min_member} members were bound in time; the gang is released"
        if stay:
            names = ", ".join(pod.metadata.name for pod in stay[:3])
            note += f", but {len(stay)} pods without a controller stay ({names}{', …' if len(stay) > 3 else ''})"
        self.recorder.record(
            resource.refer(job.name, namespace=job.namespace, uid=group.uid if group is not None else ""),
            reason="GangReleased",
            action="Scheduling",
            note=note,
            kind="Warning",
        )


def _running(job: LiveJob) -> list[Place]:
    return [place for role in job.roles for place in role.running]
