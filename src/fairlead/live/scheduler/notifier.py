"""Writes what was decided: on waiting pods why they wait (the PodScheduled condition), on controllers and pods Events.

The condition is written once per message, and only on a pod that still waits, in the version that is known: it cannot
land after the bind (docs/decisions/0209). A pod that was told nothing yet comes first; other words for the same pod,
with numbers that change from turn to turn, are written now and then, and only the last of them. A controller gets an
Event for each decision about it. A pod's own Events are for calm times: in a storm only so many a second are made,
for ten thousand of them say no more than a few on the controller do.
"""

import asyncio
import contextlib
from collections.abc import Callable

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError, NotLeadingError
from fairlead.kube.events import Recorder
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.resources import PODS
from fairlead.live.cluster.identity import Uid
from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.cluster.records import PodRecord, reference
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.scheduler.messages import REASON, pod_message, summary

IN_FLIGHT = 4
"""Patches at once: telling must not compete with binding."""
PER_SECOND, BURST = 2.0, 20.0
"""Events of single pods."""
REWORD = 10.0
"""Seconds after which a pod may be told in other words."""


@dataclass(frozen=True, slots=True)
class PodNotice:
    """What a pod was told last, and when, in seconds of the monotonic clock."""

    why: str
    at: float


class EventPace:
    """So many a second, and a few more at once after a pause."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = BURST
        self._at = clock()

    def may(self) -> bool:
        """Whether one more may be made now; if so it counts."""
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class PodNotifier:
    """Remembers what each pod was told last, so that nothing is written twice.

    `waiting` gives a pod as it is known now; None where it is gone, bound or being bound.
    """

    def __init__(
        self,
        client: Client,
        recorder: Recorder | None,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
        waiting: Callable[[PodRecord], PodRecord | None] = lambda pod: pod,
        pulse: Pulse | None = None,
    ) -> None:
        self._client = client
        self._waiting = waiting
        self._pulse = pulse or Pulse(monotonic)
        self._pace = EventPace(monotonic)
        self._recorder = recorder
        self._wall = wall
        self._clock = monotonic
        self._notices: dict[Uid, PodNotice] = {}
        self._first: dict[Uid, tuple[PodRecord, str]] = {}
        self._again: dict[Uid, tuple[PodRecord, str]] = {}
        self._news = asyncio.Event()

    def waits(self, pod: PodRecord, why: str) -> None:
        """The pod waits, for this reason."""
        uid, why = pod.metadata.uid, pod_message(pod, why)
        notice = self._notices.get(uid)
        if notice is None:
            self._first[uid] = pod, why
        elif notice.why != why:
            self._again[uid] = pod, why
        else:
            self._again.pop(uid, None)
            return
        self._news.set()

    def bound(self, pod: PodRecord, node: str) -> None:
        """The pod has its node."""
        if self._recorder and self._pace.may():
            note = pod_message(pod, f"assigned to {node}")
            self._recorder.record(reference(pod), reason="Scheduled", action="Binding", note=note)

    def decided(self, outcome: PodSetOutcome) -> None:
        """An Event on the controller of the pods that were decided; pods without one have only Events of their own."""
        owner = outcome.group.pods[0].owner
        if self._recorder is None or owner is None or not (outcome.placed or outcome.waiting):
            return
        waits = bool(outcome.waiting)
        self._recorder.record(
            ObjectReference(
                api_version=owner.api_version,
                kind=owner.kind,
                namespace=outcome.group.pods[0].metadata.namespace,
                name=owner.name,
                uid=owner.uid,
            ),
            reason="FailedScheduling" if waits else "Scheduled",
            action="Scheduling",
            note=summary(outcome),
            kind="Warning" if waits else "Normal",
        )

    def gone(self, uid: Uid) -> None:
        """The pod is no more, or waits no more."""
        for each in (self._notices, self._first, self._again):
            each.pop(uid, None)

    def clear(self) -> None:
        """Forget everything: another instance tells the pods now."""
        for each in (self._notices, self._first, self._again):
            each.clear()

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            pod, why = await self._next()
            now = self._waiting(pod)
            if now is None:
                self.gone(pod.metadata.uid)
                continue
            self._notices[pod.metadata.uid] = PodNotice(why, self._clock())
            with self._pulse.under_way("conditions"):
                await self._tell(now, why)

    async def _next(self) -> tuple[PodRecord, str]:
        """The next pod to write a condition on, and its message; waits until there is one."""
        while True:
            wait = None
            if self._first:
                return self._first.pop(next(iter(self._first)))
            if self._again:
                uid = next(iter(self._again))
                wait = self._notices[uid].at + REWORD - self._clock()
                if wait <= 0:
                    return self._again.pop(uid)
            self._news.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._news.wait()

    async def _tell(self, pod: PodRecord, why: str) -> None:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": REASON,
            "message": why,
            "lastTransitionTime": timestamps.whole(self._wall()),
        }
        same = {"uid": pod.metadata.uid, "resourceVersion": pod.metadata.resource_version}
        try:
            await self._client.patch(
                PODS,
                pod.metadata.name,
                {"metadata": same, "status": {"conditions": [condition]}},
                kind="strategic",
                namespace=pod.metadata.namespace,
                subresource="status",
            )
        except KubeError as error:
            self._failed(pod, why, error)
            return
        if self._recorder and self._pace.may():
            self._recorder.record(
                reference(pod), reason="FailedScheduling", action="Scheduling", note=why, kind="Warning"
            )

    def _failed(self, pod: PodRecord, why: str, error: KubeError) -> None:
        """The server did not take it: a pod that waits no longer needs no words, any other is told later."""
        uid = pod.metadata.uid
        not_there = isinstance(error, ApiError) and error.not_found
        if not_there or isinstance(error, NotLeadingError) or self._waiting(pod) is None:
            self.gone(uid)
        elif uid in self._notices:
            self._notices[uid] = PodNotice("", self._clock())
            self._again.setdefault(uid, (pod, why))
            self._news.set()
