"""A component of which one instance leads: what it is given, what all of them do alike, and its process."""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry

from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.events import Recorder
from fairlead.kube.lease import own_identity
from fairlead.kube.watch import Reflector
from fairlead.kube.wire.http import connect
from fairlead.live.runtime.event_metrics import EventCollector
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pages import Page, pages_server
from fairlead.live.runtime.process import Leadership, Process, serve
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.runtime.reconcile_loop import Rounds, Work
from fairlead.live.runtime.watch_metrics import WatchCollector

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


class Instance:
    """What one instance of a component works with: the API, Events, whether it leads, clocks in seconds, the pulse.

    `monotonic` never goes back. Without a `recorder` no Events are recorded. Events do not pass the fence of the lease:
    they tell what this instance did and decide nothing. Without a `tracer` there are no spans.
    """

    def __init__(
        self,
        client: Client,
        *,
        recorder: Recorder | None = None,
        leads: Callable[[], bool] = lambda: True,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        pulse: Pulse | None = None,
        tracer: "Tracer | None" = None,
    ) -> None:
        self.client = client
        self.recorder = recorder
        self.leads = leads
        self.monotonic = monotonic
        self.wall = wall
        self.pulse = pulse or Pulse(monotonic)
        self.tracer = tracer


class ElectedComponent:
    """Follows the cluster from the start and acts in rounds while it leads. A subclass says what a round does."""

    def __init__(
        self,
        instance: Instance,
        registry: CollectorRegistry,
        reflectors: Sequence[Reflector[Any]],
        *,
        gather: float,
        vital: Sequence[Reflector[Any]] = (),
        leads: Callable[[], bool] | None = None,
    ) -> None:
        """`leads` tells where rounds are made, if not only where the instance leads. The rest is as in `Rounds`."""
        self.registry = registry
        self.pulse = instance.pulse
        WatchCollector(registry, reflectors)
        EventCollector(registry, instance.recorder)
        self._rounds = Rounds(
            reflectors,
            vital=vital,
            gather=gather,
            leads=leads or instance.leads,
            monotonic=instance.monotonic,
            pulse=instance.pulse,
        )

    @property
    def synced(self) -> bool:
        """Whether the first lists are in, or their kinds known not to be served."""
        return self._rounds.synced

    @property
    def pages(self) -> Mapping[str, Page]:
        """What it shows to people, by path, on the address of the pages."""
        return {}

    @property
    def outboxes(self) -> Sequence[Outbox[Any]]:
        """What it writes with, in the order in which it is given up."""
        return ()

    @property
    def work(self) -> Sequence[Work]:
        """What its process runs, in the order in which it ends."""
        return [self.run]

    @property
    def beside(self) -> Sequence[Work]:
        """What runs beside the rounds."""
        return [each.run for each in self.outboxes]

    async def run(self) -> None:
        """Work until cancelled; then what was begun is completed."""
        await self._rounds.run(
            self.round, begin=self.begin, idle=self.idle, due=self.due, beside=self.beside, drain=self.drain
        )

    async def round(self) -> None:
        """What is done after a change, or when something is due."""
        raise NotImplementedError

    async def begin(self) -> None:
        """The first lists are in."""
        self._rounds.wake()

    def idle(self) -> None:
        """Something changed while another instance leads."""

    def due(self) -> float | None:
        """When a round is wanted without a change."""
        return None

    async def drain(self) -> None:
        """Give up what has not begun and complete the rest, in bounded time."""
        for each in self.outboxes:
            await each.drain()

    def nudge(self) -> None:
        """This instance has just begun to lead: look at everything."""
        self._rounds.wake()

    def lost(self) -> None:
        """This instance leads no longer: what was decided and is not sent yet is given up."""
        for each in self.outboxes:
            each.clear()


async def run_elected(
    process: Process,
    connection: Connection,
    make: Callable[[Instance], ElectedComponent],
    *,
    reporter: str,
    pages: str,
    tracer: "Tracer | None" = None,
) -> None:
    """Serve until a signal says stop. `reporter` is who Events are from (empty: there are none), `pages` the address
    of the component's pages. Without a `tracer` there are no spans.
    """
    client = connect(connection)
    try:
        pulse = Pulse(time.monotonic)
        recorder = Recorder(client, component=reporter, instance=own_identity()) if reporter else None
        if recorder is not None:
            recorder.on_progress = partial(pulse.beat, "events", CALL_SECONDS)
        leadership = Leadership(client, process, pulse)
        component = make(
            Instance(client.fenced(leadership.fence), recorder=recorder, leads=leadership, pulse=pulse, tracer=tracer)
        )
        leadership.on_won, leadership.on_lost = component.nudge, component.lost
        # In the order of their end: what writes stops before the lease that lets it write is released.
        work = [*component.work, leadership.run, *([recorder.run] if recorder is not None else ())]
        async with pages_server(pages, component.pages):
            await serve(process, component.registry, lambda: component.synced, work, pulse)
    finally:
        await client.close()
