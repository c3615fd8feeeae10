"""A component as a process: signals, the lease, the health server, and an end that leaves nothing half done."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Sequence

import structlog
from prometheus_client import CollectorRegistry

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.fence import Fence
from fairlead.kube.lease import TERMS, Elector, Terms, own_identity
from fairlead.live.runtime.health import health_server
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Work
from fairlead.model.faults import place_of

LEASE_SECONDS = 60.0
"""The campaign for the lease is stuck after so long without a turn."""
END_SECONDS = 20.0
"""How long the end of all work is waited for together: less than the 30 seconds that Kubernetes gives a pod."""
LAST_SECONDS = 1.0
"""How long the end of one piece is waited for when that time is over, so that the lease is still released."""

log = structlog.get_logger("runtime")


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """How a component runs: where it listens, and which lease makes it the leader (no name: it always leads).

    A leader that dies is followed after `lease_seconds`.
    """

    listen: str
    lease_namespace: str = "fairlead-system"
    lease_name: str = ""
    lease_seconds: int = TERMS.lease


class Leadership:
    """Whether this instance leads. Without a lease it always does, and there is no fence.

    While something is stuck by the `pulse` the lease is for others. Set `on_won` and `on_lost` before it runs.
    """

    def __init__(self, client: Client, process: Process, pulse: Pulse) -> None:
        self.on_won: Callable[[], None] = lambda: None
        self.on_lost: Callable[[], None] = lambda: None
        self._name = process.lease_name
        self._pulse = pulse
        self._elector: Elector | None = None
        if process.lease_name:
            self._elector = Elector(
                client,
                namespace=process.lease_namespace,
                name=process.lease_name,
                identity=own_identity(),
                terms=Terms.of(process.lease_seconds),
                on_won=self._won,
                on_lost=self._lost,
                fit=self._fit,
            )

    def __call__(self) -> bool:
        return self._elector is None or self._elector.leading

    @property
    def fence(self) -> Fence | None:
        """What every write of elected work passes."""
        return None if self._elector is None else self._elector.fence

    async def run(self) -> None:
        """Campaign until cancelled; then the lease is released."""
        if self._elector is None:
            await asyncio.Event().wait()
        else:
            await self._elector.run()

    def _won(self) -> None:
        log.info("leads", lease=self._name)
        self.on_won()

    def _lost(self) -> None:
        log.warning("lost the lease", lease=self._name)
        self.on_lost()

    def _fit(self) -> bool:
        self._pulse.beat("lease", LEASE_SECONDS)
        stuck = self._pulse.stuck()
        if stuck and self():
            log.error("the lease is given back, for something is stuck", lease=self._name, stuck=stuck)
        return not stuck


async def serve(
    process: Process,
    registry: CollectorRegistry,
    ready: Callable[[], bool],
    work: Sequence[Work],
    pulse: Pulse,
    *,
    until: Callable[[asyncio.Event, int], Awaitable[object]] | None = None,
) -> None:
    """Run all of `work` until SIGTERM or SIGINT, then end it (`run_until`); a second signal ends the process at once.

    `until`, if given, is run in place of the wait for the event that a signal sets; its number is the health port.
    """
    stop = _stop_on_signals()
    async with health_server(process.listen, registry, ready, pulse) as port:
        log.info("serving", port=port)
        await run_until(lambda: until(stop, port) if until else stop.wait(), work)
    log.info("stopped")


def _stop_on_signals() -> asyncio.Event:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def ask() -> None:
        if stop.is_set():
            raise SystemExit(1)
        stop.set()

    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, ask)
    return stop


async def run_until(done: Callable[[], Awaitable[object]], work: Sequence[Work]) -> None:
    """Run all of `work` until `done` ends, or any of it does; then cancel it and wait for its end, in bounded time.

    Work is cancelled in the order given, each finished before the next: what writes comes before the lease that lets
    it write. Work that ends by itself has failed: its cause is logged and raised once everything has ended.
    """
    tasks = [asyncio.ensure_future(each()) for each in work]
    waiting = asyncio.ensure_future(done())
    try:
        await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
        failed = _failed(tasks)
        if failed is None and waiting.done():
            failed = waiting.exception()
        if failed is not None:
            log.error("ends, for it has failed", cause=place_of(failed))
    finally:
        waiting.cancel()
        clock = asyncio.get_running_loop().time
        deadline = clock() + END_SECONDS
        for task in (*tasks, waiting):
            task.cancel()
            await asyncio.wait([task], timeout=max(deadline - clock(), LAST_SECONDS))
            if not task.done():
                log.error("does not end, and is not waited for", work=repr(task))
    failed = failed or next(filter(None, map(_failure, tasks)), None)
    if failed is not None:
        raise failed


class EndedError(Exception):
    """Work that goes on until it is cancelled has ended without saying why."""


def _failed(tasks: Sequence[asyncio.Future[None]]) -> BaseException | None:
    """Why the first of the tasks that have ended did so."""
    for task in tasks:
        if task.done():
            return _failure(task) or EndedError(f"{task} ended though nothing asked it to")
    return None


def _failure(task: asyncio.Future[None]) -> BaseException | None:
    return None if not task.done() or task.cancelled() else task.exception()
