"""The scheduler's process: connection, lease, events, health, and the component itself."""

import asyncio
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec
import structlog

from fairlead.kube.config import load
from fairlead.kube.events import Recorder
from fairlead.kube.lease import own_identity
from fairlead.kube.wire.http import connect
from fairlead.live.runtime.pages import pages_server
from fairlead.live.runtime.process import Leadership, Process, serve
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Work
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.wiring import QueueWiring
from fairlead.settings import DEFAULTS, Configuration

PAGES = "127.0.0.1:8081"

log = structlog.get_logger("scheduler")


async def run(
    process: Process,
    options: Options,
    configuration: Configuration = DEFAULTS,
    *,
    kubeconfig: str,
    context: str,
    events: bool,
    pages: str = PAGES,
) -> None:
    """Serve until a signal says stop. `pages` is the address of `/explain` and `/snapshot`."""
    bare = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        pulse = Pulse(time.monotonic)
        leadership = Leadership(bare, process, pulse)
        client = bare.fenced(leadership.fence)
        component = f"{options.name}-scheduler"
        recorder = (
            Recorder(bare, component=component, instance=own_identity()) if events and not options.shadow else None
        )
        scheduler = Scheduler(
            client,
            options,
            recorder=recorder,
            monotonic=time.monotonic,
            wall=time.time,
            leads=leadership,
            pulse=pulse,
        )
        duties = QueueWiring(
            client,
            scheduler,
            configuration,
            recorder=recorder,
            monotonic=time.monotonic,
            wall=time.time,
            leads=leadership,
        )

        def lost() -> None:
            duties.lost()
            scheduler.lost()

        leadership.on_won, leadership.on_lost = scheduler.nudge, lost
        work: list[Work] = [duties.run, scheduler.run, leadership.run]
        if recorder:
            work.append(recorder.run)

        def explain(query: Mapping[str, str]) -> Callable[[], bytes]:
            namespace, _, name = query.get("pod", "").partition("/")
            return partial(msgspec.json.encode, scheduler.explain(namespace, name))

        def write() -> None:
            file = Path(configuration.scheduler.snapshot_file)
            loop.run_in_executor(None, _write, file, scheduler.snapshot())

        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR2, write)
        async with pages_server(pages, {"/explain": explain, "/snapshot": lambda query: scheduler.snapshot()}):
            await serve(process, scheduler.measures.registry, lambda: scheduler.synced, work, pulse)
    finally:
        await bare.close()


def _write(file: Path, render: Callable[[], bytes]) -> None:
    try:
        file.write_bytes(render())
    except OSError as error:
        log.error("snapshot not written", why=str(error))
    else:
        log.info("snapshot written", file=str(file))
