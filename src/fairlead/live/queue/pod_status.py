"""What evictions write on pods: where a pod is nominated, which is about to go, and Events that tell both sides."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.events import Recorder
from fairlead.kube.objects.meta import Bare
from fairlead.kube.resources import PODS
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.records import PodRecord, reference
from fairlead.live.cluster.turn_types import EvictionOrder
from fairlead.live.runtime.outbox import together

IN_FLIGHT = 8
CONDITION = "DisruptionTarget"
REASON = "PreemptionByScheduler"
"""The reason that controllers know for pods that a scheduler removes."""

log = structlog.get_logger("evictor")


@dataclass(slots=True, eq=False)
class PodStatusWriter:
    """Writes to `status` of pods, by uid; what cannot be written is logged and left, for it decides nothing.

    `find` gives the pod of a key as the cache has it.
    """

    client: Client
    recorder: Recorder | None
    find: Callable[[PodKey], PodRecord | None]
    wall: Callable[[], float]
    nominated: dict[PodKey, str] = field(default_factory=dict, init=False)
    """Where pods were nominated to, as far as it was not taken back."""

    async def nominate(self, places: Mapping[PodKey, str]) -> None:
        """Say at the pods which nodes are being cleared for them."""
        await self._all(places.items())

    async def unnominate(self, places: Iterable[PodKey]) -> None:
        """The pods have no claim any longer, or they are bound; what was written here, or shows, is taken back."""
        await self._all((key, None) for key in places if key in self.nominated or self._shows(key))

    def _shows(self, key: PodKey) -> bool:
        pod = self.find(key)
        return pod is not None and bool(pod.nominated)

    async def _all(self, places: Iterable[tuple[PodKey, str | None]]) -> None:
        await together(self._nominate, places, in_flight=IN_FLIGHT)

    async def _nominate(self, place: tuple[PodKey, str | None]) -> None:
        key, node = place
        pod = self.find(key)
        if node is None:
            self.nominated.pop(key, None)
        else:
            self.nominated[key] = node
        if pod is not None:
            await self._patch(pod, {"nominatedNodeName": node})

    async def condemn(self, pod: PodRecord, beneficiary: str) -> None:
        """Mark the pod as one that is about to be evicted, and name the job that gets its room."""
        await self._condition(pod, "True", f"makes room for {beneficiary}")

    async def pardon(self, pod: PodRecord) -> None:
        """The eviction was refused after the mark was written."""
        await self._condition(pod, "False", "the eviction was refused")

    async def pardon_if_it_stays(self, pod: PodRecord) -> None:
        """The eviction failed after the mark was written, yet the server may have carried it out."""
        meta = pod.metadata
        try:
            found = await self.client.get(PODS.of(Bare), meta.name, namespace=meta.namespace)
        except KubeError as error:
            log.info("the mark is not taken back", pod="/".join(pod.key), why=error)
            return
        if found.metadata.uid == meta.uid and found.metadata.deletion_timestamp is None:
            await self._condition(pod, "False", "the eviction failed")

    def evicted(self, wanted: EvictionOrder) -> None:
        """Tell the pod that it is on its way out."""
        if self.recorder is not None:
            sake = f" to make room for {wanted.beneficiary}" if wanted.beneficiary else ": its gang cannot be completed"
            self.recorder.record(
                reference(wanted.pod),
                reason=EVENTS[wanted.action],
                action="Evicting",
                note=f"evicted from {wanted.node}{sake}",
            )

    def refused(self, places: Iterable[PodKey], why: str) -> None:
        """Tell the pods that were to get the room; the first of them stands for all."""
        pod = next(filter(None, map(self.find, places)), None)
        if self.recorder is not None and pod is not None:
            self.recorder.record(
                reference(pod),
                reason="EvictionRefused",
                action="Evicting",
                note=f"no room is made for it: {why}",
                kind="Warning",
            )

    async def _condition(self, pod: PodRecord, status: str, message: str) -> None:
        condition = {
            "type": CONDITION,
            "status": status,
            "reason": REASON,
            "message": message,
            "lastTransitionTime": timestamps.whole(self.wall()),
        }
        await self._patch(pod, {"conditions": [condition]})

    async def _patch(self, pod: PodRecord, status: Mapping[str, Any]) -> None:
        meta = pod.metadata
        try:
            await self.client.patch(
                PODS,
                meta.name,
                {"metadata": {"uid": meta.uid}, "status": status},
                kind="strategic",
                namespace=meta.namespace,
                subresource="status",
            )
        except KubeError as error:
            log.info("not marked", pod="/".join(pod.key), why=error)


EVENTS = {"preempt": "Preempted", "reclaim": "Reclaimed", "release": "Released"}
"""The reason of the Event that an evicted pod gets, by action."""
