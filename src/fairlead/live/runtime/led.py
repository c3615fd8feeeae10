"""A component of which one instance leads, as a process: connection, events, lease, health server."""

from collections.abc import Callable, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry

from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.events import Recorder
from fairlead.kube.http import connect
from fairlead.kube.lease import own_identity
from fairlead.live.runtime.health import Content
from fairlead.live.runtime.process import Leadership, Process, serve
from fairlead.live.runtime.rounds import Work


class Led(Protocol):
    """What a process needs of a component. It follows the cluster from the start and acts while it leads."""

    @property
    def registry(self) -> CollectorRegistry:
        """Its metrics."""

    @property
    def pages(self) -> Mapping[str, Content]:
        """What it shows beside health and metrics, by path."""

    @property
    def synced(self) -> bool:
        """Whether the first lists are in."""

    def nudge(self) -> None:
        """It has just begun to lead."""

    async def run(self) -> None:
        """Work until cancelled; then what was begun is complete."""


Make = Callable[[Client, Recorder | None, Callable[[], bool]], Led]
"""Makes the component of a client, a recorder of Events (None: it records none) and the question whether it leads."""


async def run_led(process: Process, connection: Connection, make: Make, *, reporter: str) -> None:
    """Serve until a signal says stop. `reporter` is who Events are from; empty, there are none."""
    client = connect(connection)
    try:
        recorder = Recorder(client, component=reporter, instance=own_identity()) if reporter else None
        component = make(client, recorder, lambda: leadership())
        leadership = Leadership(client, process, component.nudge)
        # In the order of their end: what writes stops before the lease that lets it write is released.
        work: list[Work] = [component.run, leadership.run]
        if recorder is not None:
            work.append(recorder.run)
        await serve(process, component.registry, lambda: component.synced, work, extra=component.pages)
    finally:
        await client.close()
