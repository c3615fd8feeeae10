"""The life of a component that follows the cluster: watch, wait for a change, act while leading, finish what began."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import structlog

from fairlead.kube.errors import KubeError
from fairlead.kube.watch import Reflector
from fairlead.live.runtime.pulse import CALL_SECONDS, IDLE_SECONDS, Pulse

log = structlog.get_logger("runtime")

Work = Callable[[], Coroutine[Any, Any, None]]


async def every(
    seconds: float,
    one_round: Callable[[], Awaitable[None]],
    *,
    name: str,
    pulse: Pulse,
    leads: Callable[[], bool] = lambda: True,
) -> None:
    """A round every so many seconds while leading, until cancelled; after one that the server fails comes the next."""
    while True:
        pulse.beat(name, seconds + CALL_SECONDS)
        await asyncio.sleep(seconds)
        if leads():
            try:
                await one_round()
            except KubeError as error:
                log.warning("round failed, the next one tries again", what=name, why=error)


def follow_progress(reflectors: Iterable[Reflector[Any]], pulse: Pulse) -> None:
    """Let each watch show at the pulse that it goes on."""
    for each in reflectors:
        each.on_progress = partial(pulse.beat, f"watch of {each.resource.plural}", CALL_SECONDS)


class Rounds:
    """Watches, and a round of work after each change that is told of with `wake`.

    Changes within `gather` seconds make one round. An instance that does not lead follows the cluster all the same, so
    that it can take over with all it needs known. The loop says at the `pulse` that it goes on, also while it is idle.
    No round begins while a watch of the `vital` ones is known to be behind.
    """

    def __init__(
        self,
        reflectors: Sequence[Reflector[Any]],
        *,
        vital: Sequence[Reflector[Any]] = (),
        gather: float,
        leads: Callable[[], bool],
        monotonic: Callable[[], float],
        pulse: Pulse,
    ) -> None:
        self._reflectors = tuple(reflectors)
        self._vital = tuple(vital)
        self._gather = gather
        self._leads = leads
        self._now = monotonic
        self._pulse = pulse
        self._changed = asyncio.Event()

    @property
    def synced(self) -> bool:
        """Whether the first lists are in."""
        return all(each.synced.is_set() for each in self._reflectors)

    def wake(self) -> None:
        """Something changed: a round is due."""
        self._changed.set()

    async def run(
        self,
        one_round: Callable[[], Awaitable[None]],
        *,
        begin: Callable[[], Awaitable[None]],
        idle: Callable[[], None],
        due: Callable[[], float | None],
        beside: Sequence[Work],
        drain: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        """Until cancelled, or until something fails; then `drain` completes what was begun, in bounded time, before
        anything else is stopped.

        `begin` is called once all first lists are in; `one_round` after changes while leading, `idle` after changes
        otherwise; `due` tells when a round is wanted without a change. `beside` runs all the while.
        """
        follow_progress(self._reflectors, self._pulse)
        async with asyncio.TaskGroup() as group:
            work = (*(each.run for each in self._reflectors), *beside)
            tasks = [group.create_task(each()) for each in work]
            try:
                for each in self._reflectors:
                    await each.synced.wait()
                await begin()
                while True:
                    await self._wait(due)
                    await self._catch_up()
                    await asyncio.sleep(self._gather)
                    if not all(each.current.is_set() for each in self._vital):
                        continue
                    self._changed.clear()
                    if self._leads():
                        await one_round()
                    else:
                        idle()
            finally:
                await asyncio.shield(drain())
                for task in tasks:
                    task.cancel()

    async def _catch_up(self) -> None:
        """Until every vital watch is open. The pulse is told now and then: to wait for the server is no defect."""
        for each in self._vital:
            while not each.current.is_set():
                self._pulse.beat("rounds")
                with suppress(TimeoutError):
                    async with asyncio.timeout(IDLE_SECONDS):
                        await each.current.wait()

    async def _wait(self, due: Callable[[], float | None]) -> None:
        """Until something changed, or what is due comes. The pulse is told at the beginning and now and then."""
        while True:
            self._pulse.beat("rounds")
            until = due()
            left = IDLE_SECONDS if until is None else min(until - self._now(), IDLE_SECONDS)
            try:
                async with asyncio.timeout(max(left, 0)):
                    await self._changed.wait()
                return
            except TimeoutError:
                if until is not None and self._now() >= until:
                    return
