"""The ends of promises: pods that wait no longer, room that did not come in time, and nominations that mean nothing."""

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, field

import structlog

from fairlead.dataclass import dataclass
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import Promise
from fairlead.live.queue.evictor import Evictor, Holds
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.queue.pod_status import PodStatusWriter

LOST = 15.0
"""Seconds after the last pod left in which the room that was made must be taken; no group is parked that long."""

log = structlog.get_logger("queue")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSight:
    """What is read of pods, as the cache has them."""

    pod: Callable[[PodKey], PodRecord | None]
    leaving: Callable[[], int]
    """How many of our pods are on their way out."""
    nominated: Callable[[], Iterable[PodKey]]
    """Our pods that wait and say that a node is being cleared for them."""


@dataclass(slots=True, eq=False)
class PromiseEnds:
    """Room is kept for `hold_seconds` at most. In shadow no nomination is taken back."""

    promises: Holds
    sight: PodSight
    evictor: Evictor
    pod_status: PodStatusWriter
    measures: QueueMetrics
    _: KW_ONLY
    monotonic: Callable[[], float]
    nudge: Callable[[], None]
    hold_seconds: float
    writes: bool
    _calm_since: float | None = field(default=None, init=False)

    async def check(self) -> None:
        """End the promises whose pods wait no longer, and those whose room did not come in time."""
        held, lost = 0, self._lost()
        for promise in list(self.promises.by_job.values()):
            if promise.begun:
                continue
            waiting = [key for key in promise.places if self._waits(key)]
            late = self.monotonic() - promise.at > self.hold_seconds
            if waiting and not late and not lost:
                held += len(waiting)
                continue
            if waiting and late:
                self._too_late(promise)
            self.promises.withdraw(promise.job)
            self.nudge()
        self.measures.held.set(held)
        promised = {key for promise in self.promises.by_job.values() for key in promise.places}
        # A leader before this one may have nominated pods; what it promised them went with it.
        nominated = {*self.pod_status.nominated, *self.sight.nominated()} if self.writes else ()
        await self.pod_status.unnominate([key for key in nominated if key not in promised])

    def lost(self) -> None:
        """This instance leads no longer, and sees no more who leaves."""
        self._calm_since = None

    def _lost(self) -> bool:
        """Whether no room will come for open promises: no pod has been terminating for a while."""
        if self.sight.leaving() or not self.evictor.idle or not self.promises.by_job:
            self._calm_since = None
            return False
        if self._calm_since is None:
            self._calm_since = self.monotonic()
        return self.monotonic() - self._calm_since > LOST

    def _waits(self, key: PodKey) -> bool:
        pod = self.sight.pod(key)
        return pod is not None and pod.waits

    def _too_late(self, promise: Promise) -> None:
        why = f"the room was not there after {self.hold_seconds:g} seconds"
        log.warning("room is no longer kept", job=promise.job, why=why)
        self.pod_status.refused(promise.places, why)
        self.evictor.bar(promise.job)
