"""The fleet scheduler's process."""

import time
from collections.abc import Callable

from fairlead.kube.client import Client
from fairlead.kube.config import load
from fairlead.kube.events import Recorder
from fairlead.live.fleet.component import Fleet, Options
from fairlead.live.runtime.led import run_led
from fairlead.live.runtime.process import Process


async def run(process: Process, options: Options, *, kubeconfig: str, context: str, events: bool) -> None:
    """Serve until a signal says stop."""

    def make(client: Client, recorder: Recorder | None, leads: Callable[[], bool]) -> Fleet:
        return Fleet(client, options, recorder=recorder, monotonic=time.monotonic, wall=time.time, leads=leads)

    reporter = f"{options.name}-fleet" if events and not options.shadow else ""
    await run_led(process, load(kubeconfig_path=kubeconfig, context=context), make, reporter=reporter)
