"""Tells people: waiting pods why they wait (the PodScheduled condition), workloads and pods by Events.

The condition is written once per message. A workload's owner gets an Event for each decision about it. A pod's own
Events are for calm times: in a storm only so many a second are made, for ten thousand of them say no more than a few
of the workload do.
"""

import asyncio
from collections.abc import Callable

from fairlead.kube import moments
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.events import Recorder
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.resources import PODS
from fairlead.live.scheduler.decide import Outcome
from fairlead.live.scheduler.records import PodRecord
from fairlead.live.scheduler.words import REASON, summary

IN_FLIGHT = 4
"""Patches at once: telling must not compete with binding."""
PER_SECOND, BURST = 20.0, 100.0
"""Events of single pods."""


class Pace:
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


class Teller:
    """Remembers what each pod was told last, so that nothing is written twice."""

    def __init__(
        self,
        client: Client,
        recorder: Recorder | None,
        wall: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._client = client
        self._pace = Pace(monotonic)
        self._recorder = recorder
        self._wall = wall
        self._told: dict[str, str] = {}
        self._queue: asyncio.Queue[tuple[PodRecord, str]] = asyncio.Queue()

    def waits(self, pod: PodRecord, why: str) -> None:
        """The pod waits, for this reason."""
        if self._told.get(pod.metadata.uid) != why:
            self._told[pod.metadata.uid] = why
            self._queue.put_nowait((pod, why))

    def bound(self, pod: PodRecord, node: str) -> None:
        """The pod has its node."""
        self._told.pop(pod.metadata.uid, None)
        if self._recorder and self._pace.may():
            self._recorder.record(reference(pod), reason="Scheduled", action="Binding", note=f"assigned to {node}")

    def decided(self, outcome: Outcome) -> None:
        """What a decision means for the workload, said to its owner; a pod without one hears it itself."""
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

    def gone(self, uid: str) -> None:
        """The pod is no more, or waits no more."""
        self._told.pop(uid, None)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            pod, why = await self._queue.get()
            if self._told.get(pod.metadata.uid) == why:
                await self._tell(pod, why)

    async def _tell(self, pod: PodRecord, why: str) -> None:
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": REASON,
            "message": why,
            "lastTransitionTime": moments.whole(self._wall()),
        }
        try:
            await self._client.patch(
                PODS,
                pod.metadata.name,
                {"metadata": {"uid": pod.metadata.uid}, "status": {"conditions": [condition]}},
                kind="strategic",
                namespace=pod.metadata.namespace,
                subresource="status",
            )
        except KubeError:
            # Gone, replaced, or the server is busy: the next cycle that finds it waiting says it again.
            self._told.pop(pod.metadata.uid, None)
            return
        if self._recorder and self._pace.may():
            self._recorder.record(
                reference(pod), reason="FailedScheduling", action="Scheduling", note=why, kind="Warning"
            )


def reference(pod: PodRecord) -> ObjectReference:
    """The pod as the subject of an Event."""
    meta = pod.metadata
    return ObjectReference(
        api_version="v1",
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
