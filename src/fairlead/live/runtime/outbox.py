"""What is to be written, many at a time; at the end what has begun is completed and the rest is given up."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Outbox(Generic[T]):
    """`send` is called for each thing put in, for at most `in_flight` at once; it must see to its own failures."""

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
