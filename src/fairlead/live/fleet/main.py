"""The fleet scheduler's process."""

import time
from collections.abc import Callable

from fairlead.kube.client import Client
from fairlead.kube.config import load
from fairlead.kube.events import Recorder
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.runtime.elected import run_elected
from fairlead.live.runtime.process import Process
from fairlead.live.runtime.pulse import Pulse


async def run(process: Process, options: FleetOptions, *, kubeconfig: str, context: str, events: bool) -> None:
    """Serve until a signal says stop."""

    def make(client: Client, recorder: Recorder | None, leads: Callable[[], bool], pulse: Pulse) -> Fleet:
        return Fleet(
            client, options, recorder=recorder, monotonic=time.monotonic, wall=time.time, leads=leads, pulse=pulse
        )

    reporter = f"{options.name}-fleet" if events and not options.shadow else ""
    connection = load(kubeconfig_path=kubeconfig, context=context)
    await run_elected(process, connection, make, reporter=reporter, monotonic=time.monotonic)
