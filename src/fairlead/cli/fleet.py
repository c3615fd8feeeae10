"""`fairlead fleet`: the live scheduler of Karmada's bindings as a process."""

import click

from fairlead.cli.configured import config_option, configuration
from fairlead.cli.leases import lease_of
from fairlead.cli.live import cluster_options, log_options, pages_option


@click.command(
    "fleet",
    epilog="""
\b
Examples:
  fairlead fleet --config fairlead.yaml
  fairlead fleet --kubeconfig karmada.config --shadow --health 127.0.0.1:8080

\b
/healthz, /readyz and /metrics are served on the health address; /decisions (the last verdict on every binding, JSON)
and with --shadow /differences (where another scheduler decided otherwise, and why) on the address of --pages.
""",
)
@config_option
@cluster_options
@click.option("--health", metavar="HOST:PORT", help="Overrides the configuration's fleet.health.")
@pages_option("/decisions and /differences", 8082)
@click.option("--shadow", is_flag=True, help="Decide and report, write nothing, not even a lease.")
@click.option("--no-leader-election", is_flag=True, help="Lead at once; for a single instance.")
@click.option("--no-events", is_flag=True, help="Write no Events.")
@log_options
def command(
    config: str | None,
    kubeconfig: str,
    context: str,
    health: str | None,
    pages: str,
    shadow: bool,
    no_leader_election: bool,
    no_events: bool,
) -> None:
    """Schedule the ResourceBindings and ClusterResourceBindings that name this scheduler.

    Connects to Karmada's API server. Two instances may run: one leads by a Lease, the other follows and takes over.
    SIGTERM finishes the writes under way.
    """
    import uvloop

    from fairlead.live.fleet.component import FleetOptions
    from fairlead.live.fleet.main import run
    from fairlead.live.runtime.process import Process

    settings = configuration(config).fleet
    options = FleetOptions(
        name=settings.name,
        shadow=shadow or settings.shadow,
        sticky=settings.sticky,
        estimator=settings.estimator if settings.estimator.address else None,
    )
    # A lease is a write, and one that a shadow took would be missing where the real work is done.
    alone = no_leader_election or options.shadow
    process = Process(
        listen=health or settings.health,
        lease_namespace=settings.namespace,
        lease_name="" if alone else lease_of(settings.name, "fleet", "fleet.name"),
        lease_seconds=settings.lease_seconds,
    )
    uvloop.run(run(process, options, kubeconfig=kubeconfig, context=context, events=not no_events, pages=pages))
