"""The scheduler's process: the component with fair share beside it, and SIGUSR2 for a snapshot in a file."""

import asyncio
import gc
import signal
from collections.abc import Callable
from pathlib import Path

import structlog

from fairlead.kube.config import load
from fairlead.live.runtime.elected import Instance, run_elected
from fairlead.live.runtime.process import Process
from fairlead.live.runtime.telemetry import telemetry
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.wiring import QueueWiring
from fairlead.settings import DEFAULTS, Configuration

LOADING = (100_000, 20, 100)
"""When garbage is collected until the first lists are in (`Scheduler.begin`): seldom, for nearly all of it stays."""

log = structlog.get_logger("scheduler")


async def run(
    process: Process,
    options: Options,
    configuration: Configuration = DEFAULTS,
    *,
    kubeconfig: str,
    context: str,
    events: bool,
    pages: str,
) -> None:
    """Serve until a signal says stop. `pages` is the address of `/explain` and `/snapshot`."""
    gc.freeze()  # what was imported stays: to look through it takes 20 ms
    gc.set_threshold(*LOADING)
    gc.enable()
    loop = asyncio.get_running_loop()

    def make(instance: Instance) -> Scheduler:
        scheduler = Scheduler(instance, options)
        QueueWiring(scheduler, configuration)
        file = Path(configuration.scheduler.snapshot_file)
        loop.add_signal_handler(signal.SIGUSR2, lambda: loop.run_in_executor(None, _write, file, scheduler.snapshot()))
        return scheduler

    connection = load(kubeconfig_path=kubeconfig, context=context)
    reporter = f"{options.name}-scheduler" if events and not options.shadow else ""
    async with telemetry("scheduler") as tracer:
        await run_elected(process, connection, make, reporter=reporter, pages=pages, tracer=tracer)


def _write(file: Path, render: Callable[[], bytes]) -> None:
    try:
        file.write_bytes(render())
    except OSError as error:
        log.error("snapshot not written", why=error)
    else:
        log.info("snapshot written", file=str(file))
