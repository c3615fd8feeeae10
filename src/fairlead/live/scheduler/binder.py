"""Bindings, many in flight. A pod is bound once, by uid; what the server refuses goes back to waiting.

What the server may have acted upon without saying so is neither bound nor refused: it is handed on to be asked about
(`fairlead.live.scheduler.resolver`, `docs/decisions/0211`).
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError, NotLeadingError, UnansweredError
from fairlead.live.cluster.identity import Uid
from fairlead.live.cluster.records import PodRecord
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pulse import Pulse

OnRefused = Callable[[PodRecord, KubeError | str], None]
"""Told of a pod that is not bound, and why. An error stays one, so that the log knows what it is about."""
IN_FLIGHT = 48
"""More than this many binds at once only queue up inside the API server."""


@dataclass(slots=True, eq=False)
class Binder:
    """Takes placements, writes them, and tells `on_failed` about each that the server refused.

    `took` is told the seconds of each bind that came through. While `may()` is false nothing is sent. `notes` are
    annotations for the pod. Binds wait in the `outbox`; one that is given up there has failed. `wanted` is asked before
    a bind is sent: one whose pod or node is gone by then, or that was taken back, is dropped. `on_unanswered` is told
    of binds that nothing is known of, with how often that was so.
    """

    client: Client
    on_failed: OnRefused
    on_bound: Callable[[PodRecord, str], None] = lambda pod, node: None
    took: Callable[[float], None] = lambda seconds: None
    may: Callable[[], bool] = lambda: True
    notes: Callable[[PodRecord], Mapping[str, str]] = lambda pod: {}
    wanted: Callable[[PodRecord, str], bool] = lambda pod, node: True
    on_unanswered: Callable[[PodRecord, str, int], None] | None = None
    _: KW_ONLY
    pulse: Pulse = field(default_factory=lambda: Pulse(time.monotonic))
    outbox: Outbox[tuple[PodRecord, str, int]] = field(init=False)
    _sent: dict[Uid, asyncio.Task[Any]] = field(default_factory=dict, init=False)
    """By uid of the pod, the task that waits for the answer."""

    def __post_init__(self) -> None:
        self.outbox = Outbox(
            lambda place: self._bind(*place),
            in_flight=IN_FLIGHT,
            name="binds",
            pulse=self.pulse,
            given_up=lambda place: self._unsent(*place, "not sent before this instance stopped leading"),
        )

    def bind(self, pod: PodRecord, node: str, unanswered: int = 0) -> None:
        """Bind the pod to the node as soon as there is a place in flight; `unanswered` tells how often it was tried."""
        self.outbox.put((pod, node, unanswered))

    def cancel(self, uid: Uid) -> None:
        """The pod or its node is gone: the answer is not waited for. What is still queued is no longer wanted."""
        task = self._sent.pop(uid, None)
        if task is not None:
            task.cancel()

    def sends(self, pod: PodRecord) -> bool:
        """Whether a bind of the pod is under way: only its own answer tells."""
        return pod.metadata.uid in self._sent

    @property
    def waiting(self) -> int:
        """Binds not yet sent."""
        return self.outbox.waiting

    async def _bind(self, pod: PodRecord, node: str, unanswered: int = 0) -> None:
        if not self.wanted(pod, node):
            return
        if not self.may():
            # Another instance decides for itself.
            self._unsent(pod, node, unanswered, "this instance no longer leads")
            return
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            if not await self._send(pod, node):
                return
        except (UnansweredError, NotLeadingError) as error:
            unknown = isinstance(error, UnansweredError) or error.sent
            self._failed(pod, node, error, unanswered + unknown)
        except KubeError as error:
            # After a conflict the watch tells whether another scheduler was faster, or another pod has the name by now.
            self.on_failed(pod, error)
        else:
            self.took(clock() - start)
            self.on_bound(pod, node)

    async def _send(self, pod: PodRecord, node: str) -> bool:
        """Send the bind; False where it was cancelled before the answer came."""
        meta, task = pod.metadata, asyncio.current_task()
        assert task is not None
        self._sent[meta.uid] = task
        try:
            await self.client.bind(meta.namespace, meta.name, node, uid=meta.uid, annotations=self.notes(pod))
        except asyncio.CancelledError:
            # Taken out by `cancel`; where the whole is to end at the same time, that counts.
            if meta.uid in self._sent or task.uncancel():
                raise
            return False
        finally:
            self._sent.pop(meta.uid, None)
        return True

    def _unsent(self, pod: PodRecord, node: str, unanswered: int, why: str) -> None:
        self._failed(pod, node, why, unanswered and unanswered + 1)

    def _failed(self, pod: PodRecord, node: str, why: KubeError | str, unanswered: int) -> None:
        """Not bound as far as is known: its room stays taken if an earlier try may yet have been acted upon."""
        if unanswered and self.on_unanswered is not None:
            self.on_unanswered(pod, node, unanswered)
        else:
            self.on_failed(pod, why)
