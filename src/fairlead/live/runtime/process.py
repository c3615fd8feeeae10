"""A component as a process: signals, the lease, the health server, and an end that leaves nothing half done."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from fairlead.kube.client import Client
from fairlead.kube.lease import Elector, own_identity
from fairlead.live.runtime.health import Content, health_server

log = structlog.get_logger("runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """How a component runs: where it listens, and which lease makes it the leader (no name: it always leads)."""

    listen: str
    lease_namespace: str = "fairlead"
    lease_name: str = ""


class Leadership:
    """Whether this instance leads. Without a lease it always does."""

    def __init__(self, client: Client, process: Process, on_won: Callable[[], None]) -> None:
        self._elector: Elector | None = None
        if process.lease_name:
            self._elector = Elector(
                client,
                namespace=process.lease_namespace,
                name=process.lease_name,
                identity=own_identity(),
                on_won=on_won,
                on_lost=lambda: log.warning("lost the lease", lease=process.lease_name),
            )

    def __call__(self) -> bool:
        return self._elector is None or self._elector.leading

    async def run(self) -> None:
        """Campaign until cancelled; then the lease is released."""
        if self._elector is None:
            await asyncio.Event().wait()
        else:
            await self._elector.run()


async def serve(
    process: Process,
    registry: CollectorRegistry,
    ready: Callable[[], bool],
    work: list[Callable[[], Coroutine[Any, Any, None]]],
    *,
    extra: Mapping[str, Content] | None = None,
    started: Callable[[int], Awaitable[None] | None] | None = None,
) -> None:
    """Run all of `work` until SIGTERM or SIGINT, then cancel it and wait for its end.

    Work is cancelled in the order given, each finished before the next: what writes comes before the lease that lets
    it write.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, stop.set)
    async with health_server(process.listen, registry, ready, extra) as port:
        log.info("serving", port=port)
        tasks = [asyncio.create_task(each()) for each in work]
        waiting = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            for task in tasks:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        for task in tasks:
            failure = None if task.cancelled() else task.exception()
            if failure is not None:
                raise failure
    log.info("stopped")
