"""Tells waiting pods why they wait: the PodScheduled condition and an Event, once per message, at a bounded rate."""

import asyncio
from collections.abc import Callable

from fairlead.kube import moments
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.events import Recorder
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.resources import PODS
from fairlead.live.scheduler.records import PodRecord
from fairlead.live.scheduler.words import REASON

IN_FLIGHT = 4
"""Patches at once: telling must not compete with binding."""


class Teller:
    """Remembers what each pod was told last, so that nothing is written twice."""

    def __init__(self, client: Client, recorder: Recorder | None, wall: Callable[[], float]) -> None:
        self._client = client
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
        if self._recorder:
            self._recorder.record(_reference(pod), reason="Scheduled", action="Binding", note=f"assigned to {node}")

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
        if self._recorder:
            self._recorder.record(
                _reference(pod), reason="FailedScheduling", action="Scheduling", note=why, kind="Warning"
            )


def _reference(pod: PodRecord) -> ObjectReference:
    meta = pod.metadata
    return ObjectReference(
        api_version="v1",
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
