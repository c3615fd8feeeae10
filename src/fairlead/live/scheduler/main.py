"""The scheduler's process: connection, lease, events, health, and the component itself."""

import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from fairlead.kube.config import load
from fairlead.kube.events import Recorder
from fairlead.kube.http import connect
from fairlead.kube.lease import own_identity
from fairlead.live.queue.duties import Duties
from fairlead.live.runtime.health import Content
from fairlead.live.runtime.process import Leadership, Process, serve
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.settings import DEFAULTS, Configuration


async def run(
    process: Process,
    options: Options,
    configuration: Configuration = DEFAULTS,
    *,
    kubeconfig: str,
    context: str,
    events: bool,
) -> None:
    """Serve until a signal says stop."""
    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        component = f"{options.name}-scheduler"
        recorder = (
            Recorder(client, component=component, instance=own_identity()) if events and not options.shadow else None
        )
        scheduler = Scheduler(
            client,
            options,
            recorder=recorder,
            monotonic=time.monotonic,
            wall=time.time,
            leads=lambda: leadership(),
        )
        duties = Duties(
            client,
            scheduler,
            configuration,
            recorder=recorder,
            monotonic=time.monotonic,
            wall=time.time,
            leads=lambda: leadership(),
        )
        leadership = Leadership(client, process, scheduler.nudge)
        work: list[Callable[[], Coroutine[Any, Any, None]]] = [
            duties.run,
            scheduler.run,
            leadership.run,
        ]
        if recorder:
            work.append(recorder.run)

        def explain(query: Mapping[str, str]) -> bytes:
            namespace, _, name = query.get("pod", "").partition("/")
            return msgspec.json.encode(scheduler.explain(namespace, name))

        pages: dict[str, Content] = {"/explain": explain}
        await serve(process, scheduler.measures.registry, lambda: scheduler.synced, work, extra=pages)
    finally:
        await client.close()
