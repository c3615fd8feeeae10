"""Calls to the server, many at a time: an outbox that is never done, a batch that ends, and what a write came to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from prometheus_client import Counter

from fairlead.kube.errors import ApiError, KubeError

T = TypeVar("T")
R = TypeVar("R")


async def together(call: Callable[[T], Awaitable[R]], things: Iterable[T], *, in_flight: int) -> list[R]:
    """The answers in the order of the things, with at most `in_flight` calls under way."""
    gate = asyncio.Semaphore(in_flight)

    async def one(thing: T) -> R:
        async with gate:
            return await call(thing)

    return await asyncio.gather(*map(one, things))


async def written(write: Awaitable[R], refusals: Counter) -> tuple[R | None, KubeError | None]:
    """What the write gave, or why it failed; failures are counted by whether somebody else was faster."""
    try:
        return await write, None
    except KubeError as error:
        conflict = isinstance(error, ApiError) and error.conflict
        refusals.labels("conflict" if conflict else "other").inc()
        return None, error


class Outbox(Generic[T]):
    """`send` is called for each thing put in, for at most `in_flight` at once; it must see to its own failures.

    At the end what has begun is completed and the rest is given up.
    """

    def __init__(self, send: Callable[[T], Awaitable[None]], *, in_flight: int) -> None:
        self._send = send
        self._in_flight = in_flight
        self._queue: asyncio.Queue[T] = asyncio.Queue()

    def put(self, what: T) -> None:
        """Send this as soon as there is a place in flight."""
        self._queue.put_nowait(what)

    async def run(self) -> None:
        """Send until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._in_flight):
                group.create_task(self._work())

    async def drain(self) -> None:
        """Give up what has not begun, and wait until what has begun is complete."""
        while not self._queue.empty():
            self._queue.get_nowait()
            self._queue.task_done()
        await self._queue.join()

    async def _work(self) -> None:
        while True:
            what = await self._queue.get()
            try:
                await self._send(what)
            finally:
                self._queue.task_done()
