"""The fleet scheduler's process."""

from fairlead.kube.config import load
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.runtime.elected import run_elected
from fairlead.live.runtime.process import Process


async def run(
    process: Process, options: FleetOptions, *, kubeconfig: str, context: str, events: bool, pages: str
) -> None:
    """Serve until a signal says stop. `pages` is the address of `/decisions` and `/differences`."""
    connection = load(kubeconfig_path=kubeconfig, context=context)
    reporter = f"{options.name}-fleet" if events and not options.shadow else ""
    await run_elected(process, connection, lambda instance: Fleet(instance, options), reporter=reporter, pages=pages)
