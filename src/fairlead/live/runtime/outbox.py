"""Calls to the server, many at a time: an outbox that is never done, a batch that ends, and what a write came to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import KW_ONLY, field
from typing import Generic, TypeVar

import structlog
from prometheus_client import Counter

from fairlead.dataclass import dataclass
from fairlead.kube.errors import ApiError, KubeError
from fairlead.live.runtime.pulse import Pulse

DRAIN_SECONDS = 10.0
"""How long the end of a component waits for calls that have begun."""

T = TypeVar("T")
R = TypeVar("R")

log = structlog.get_logger("runtime")


async def together(call: Callable[[T], Awaitable[R]], things: Iterable[T], *, in_flight: int) -> list[R]:
    """The answers in the order of the things, with at most `in_flight` calls under way."""
    gate = asyncio.Semaphore(in_flight)

    async def one(thing: T) -> R:
        async with gate:
            return await call(thing)

    return await asyncio.gather(*map(one, things))


async def written(write: Awaitable[R], refusals: Counter) -> tuple[R | None, KubeError | None]:
    """What the write gave, or why it failed; failures are counted by whether they were conflicts."""
    try:
        return await write, None
    except KubeError as error:
        conflict = isinstance(error, ApiError) and error.conflict
        refusals.labels("conflict" if conflict else "other").inc()
        return None, error


@dataclass(slots=True, eq=False)
class Outbox(Generic[T]):
    """`send` is called for each thing put in, for at most `in_flight` at once; it must see to its own failures.

    `given_up` is told of each thing that will not be sent. `name` is what a call that never ends is called.
    """

    send: Callable[[T], Awaitable[None]]
    _: KW_ONLY
    in_flight: int
    name: str
    pulse: Pulse
    given_up: Callable[[T], None] = lambda what: None
    _queue: asyncio.Queue[T] = field(default_factory=asyncio.Queue, init=False)
    _under_way: int = field(default=0, init=False)
    _quiet: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def put(self, what: T) -> None:
        """Send this as soon as there is a place in flight."""
        self._queue.put_nowait(what)

    @property
    def waiting(self) -> int:
        """Things not yet begun."""
        return self._queue.qsize()

    def clear(self) -> None:
        """Give up what has not begun."""
        things = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        for what in things:
            self.given_up(what)

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self.in_flight):
                group.create_task(self._work())

    async def drain(self, within: float = DRAIN_SECONDS) -> None:
        """Give up what has not begun, and wait until what has begun is complete, so many seconds at most.

        Where the senders are gone nothing is under way, and it ends at once.
        """
        self.clear()
        try:
            async with asyncio.timeout(within):
                while self._under_way:
                    self._quiet.clear()
                    await self._quiet.wait()
        except TimeoutError:
            log.warning("not waited for any longer", what=self.name, under_way=self._under_way, seconds=within)

    async def _work(self) -> None:
        while True:
            what = await self._queue.get()
            self._under_way += 1
            try:
                with self.pulse.under_way(self.name):
                    await self.send(what)
            finally:
                self._under_way -= 1
                if not self._under_way:
                    self._quiet.set()
