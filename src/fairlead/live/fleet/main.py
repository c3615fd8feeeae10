"""The fleet scheduler's process."""

from fairlead.kube.config import load
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.runtime.elected import Instance, run_elected
from fairlead.live.runtime.process import Process
from fairlead.live.runtime.telemetry import telemetry


async def run(
    process: Process, options: FleetOptions, *, kubeconfig: str, context: str, events: bool, pages: str
) -> None:
    """Serve until a signal says stop. `pages` is the address of `/decisions` and `/differences`."""
    connection = load(kubeconfig_path=kubeconfig, context=context)
    reporter = f"{options.name}-fleet" if events and not options.shadow else ""

    def make(instance: Instance) -> Fleet:
        return Fleet(instance, options)

    async with telemetry("fleet") as tracer:
        await run_elected(process, connection, make, reporter=reporter, pages=pages, tracer=tracer)
