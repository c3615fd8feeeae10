"""A component of which one instance leads, as a process: connection, events, lease, health server."""

from collections.abc import Callable, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry

from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.events import Recorder
from fairlead.kube.lease import own_identity
from fairlead.kube.wire.http import connect
from fairlead.live.runtime.health import Content
from fairlead.live.runtime.process import Leadership, Process, serve
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Work


class ElectedComponent(Protocol):
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

    def lost(self) -> None:
        """It leads no longer: what was decided and is not sent yet is given up."""

    async def run(self) -> None:
        """Work until cancelled; then what was begun is complete."""


Make = Callable[[Client, Recorder | None, Callable[[], bool], Pulse], ElectedComponent]
"""Makes the component of a client, a recorder of Events (None: it records none), the question whether it leads, and
the pulse at which it shows that it goes on."""


async def run_elected(
    process: Process, connection: Connection, make: Make, *, reporter: str, monotonic: Callable[[], float]
) -> None:
    """Serve until a signal says stop. `reporter` is who Events are from; empty, there are none.

    Events do not pass the fence: they tell what this instance did and decide nothing.
    """
    client = connect(connection)
    try:
        recorder = Recorder(client, component=reporter, instance=own_identity()) if reporter else None
        pulse = Pulse(monotonic)
        leadership = Leadership(client, process, pulse)
        component = make(client.fenced(leadership.fence), recorder, leadership, pulse)
        leadership.on_won, leadership.on_lost = component.nudge, component.lost
        # In the order of their end: what writes stops before the lease that lets it write is released.
        work: list[Work] = [component.run, leadership.run]
        if recorder is not None:
            work.append(recorder.run)
        await serve(process, component.registry, lambda: component.synced, work, pulse, extra=component.pages)
    finally:
        await client.close()
