"""The fleet scheduler's process: connection, lease, events, health, and the component itself."""

import time
from collections.abc import Callable, Coroutine
from typing import Any

from fairlead.kube.config import load
from fairlead.kube.events import Recorder
from fairlead.kube.http import connect
from fairlead.kube.lease import own_identity
from fairlead.live.fleet.component import Fleet, Options
from fairlead.live.runtime.process import Leadership, Process, serve


async def run(process: Process, options: Options, *, kubeconfig: str, context: str, events: bool) -> None:
    """Serve until a signal says stop."""
    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        quiet = options.shadow or not events
        recorder = None if quiet else Recorder(client, component=f"{options.name}-fleet", instance=own_identity())
        fleet = Fleet(
            client,
            options,
            recorder=recorder,
            monotonic=time.monotonic,
            wall=time.time,
            leads=lambda: leadership(),
        )
        leadership = Leadership(client, process, fleet.nudge)
        work: list[Callable[[], Coroutine[Any, Any, None]]] = [fleet.run, leadership.run]
        if recorder:
            work.append(recorder.run)
        await serve(
            process,
            fleet.measures.registry,
            lambda: fleet.synced,
            work,
            extra={"/decisions": fleet.decisions},
        )
    finally:
        await client.close()
