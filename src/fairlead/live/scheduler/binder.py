"""Bindings, many in flight. A pod is bound once, by uid; what fails goes back to waiting."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.scheduler.records import PodRecord

IN_FLIGHT = 48
"""More than this many binds at once only queue up inside the API server."""


@dataclass(slots=True)
class Tally:
    """What became of the binds so far."""

    bound: int = 0
    conflicts: int = 0
    gone: int = 0
    errors: int = 0


class Binder:
    """Takes placements, writes them, and tells `on_failed` about each that the server refused.

    `took` is told the seconds of each bind that came through. While `may()` is false nothing is sent. `notes` are
    annotations for the pod. Binds wait in the `outbox`; one that is given up there has failed.
    """

    def __init__(
        self,
        client: Client,
        on_failed: Callable[[PodRecord, str], None],
        on_bound: Callable[[PodRecord, str], None] = lambda pod, node: None,
        took: Callable[[float], None] = lambda seconds: None,
        may: Callable[[], bool] = lambda: True,
        notes: Callable[[PodRecord], Mapping[str, str]] = lambda pod: {},
        *,
        in_flight: int = IN_FLIGHT,
        pulse: Pulse | None = None,
    ) -> None:
        self.tally = Tally()
        self._client = client
        self._on_failed = on_failed
        self._on_bound = on_bound
        self._took = took
        self._may = may
        self._notes = notes
        self.outbox: Outbox[tuple[PodRecord, str]] = Outbox(
            lambda place: self._bind(*place),
            in_flight=in_flight,
            name="binds",
            pulse=pulse or Pulse(time.monotonic),
            given_up=lambda place: on_failed(place[0], "not sent before this instance stopped leading"),
        )

    def bind(self, pod: PodRecord, node: str) -> None:
        """Bind the pod to the node as soon as there is a place in flight."""
        self.outbox.put((pod, node))

    @property
    def waiting(self) -> int:
        """Binds not yet sent."""
        return self.outbox.waiting

    async def run(self) -> None:
        """Send binds until cancelled."""
        await self.outbox.run()

    async def drain(self) -> None:
        """Give up the binds not yet sent, and wait for the answers to the others, in bounded time."""
        await self.outbox.drain()

    async def _bind(self, pod: PodRecord, node: str) -> None:
        if not self._may():
            # Another instance leads by now and decides for itself.
            self._on_failed(pod, "this instance no longer leads")
            return
        meta = pod.metadata
        clock = asyncio.get_running_loop().time
        start = clock()
        try:
            await self._client.bind(meta.namespace, meta.name, node, uid=meta.uid, annotations=self._notes(pod))
        except ApiError as error:
            if error.conflict:
                # Bound by somebody else, or another pod of that name by now: the watch tells which.
                self.tally.conflicts += 1
            elif error.not_found:
                self.tally.gone += 1
            else:
                self.tally.errors += 1
            self._on_failed(pod, str(error))
        except KubeError as error:
            self.tally.errors += 1
            self._on_failed(pod, str(error))
        else:
            self._took(clock() - start)
            self.tally.bound += 1
            self._on_bound(pod, node)
