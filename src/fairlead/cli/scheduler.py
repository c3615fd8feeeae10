"""`fairlead scheduler`: the live scheduler as a process."""

import gc

import click

from fairlead.cli.configured import configuration
from fairlead.cli.leases import lease_of
from fairlead.cli.live import cluster_options, log_options, pages_option
from fairlead.model.errors import InputError


@click.command(
    "scheduler",
    epilog="""
\b
Examples:
  fairlead scheduler                          in a pod, with its ServiceAccount
  fairlead scheduler --kubeconfig ~/.kube/config --shadow
  fairlead scheduler --name batch --no-leader-election --listen 127.0.0.1:0
""",
)
@cluster_options
@click.option("--name", default="fairlead", show_default=True, help="Pods whose schedulerName is this are scheduled.")
@click.option("--listen", default="0.0.0.0:8080", show_default=True, help="Address of /healthz, /readyz and /metrics.")
@pages_option("/explain and /snapshot", 8081)
@click.option(
    "--lease-namespace", default="fairlead-system", show_default=True, help="Namespace of the leader's lease."
)
@click.option("--no-leader-election", is_flag=True, help="Lead at once; for a single instance.")
@click.option("--no-events", is_flag=True, help="Write no Events.")
@click.option("--config", "config", default="", metavar="FILE", help="A configuration (see `fairlead config`).")
@click.option(
    "--self-check",
    type=click.FloatRange(min=0),
    default=0.0,
    metavar="SECONDS",
    help="Compare the cache with a fresh list this often and report differences; 0 is never.",
)
@click.option("--shadow", is_flag=True, help="Decide and report, write nothing, not even a lease.")
@log_options
def command(
    kubeconfig: str,
    context: str,
    name: str,
    listen: str,
    pages: str,
    lease_namespace: str,
    no_leader_election: bool,
    no_events: bool,
    config: str,
    self_check: float,
    shadow: bool,
) -> None:
    """Schedule the pods that name this scheduler, beside kube-scheduler.

    Pods of one workload are placed together and bound many at a time. Two instances may run: one leads by a Lease, the
    other follows the cluster and takes over. SIGTERM finishes the binds under way.
    """
    gc.disable()  # what imports make stays; `run` collects again
    import uvloop

    from fairlead.live.runtime.process import Process
    from fairlead.live.scheduler.component import Options
    from fairlead.live.scheduler.main import run

    if not name:
        raise InputError("--name", "is empty; expected the schedulerName of the pods that are to be scheduled")
    given = configuration(config)
    settings = given.scheduler
    options = Options(
        name=name,
        shadow=shadow,
        strategy=settings.strategy,
        volume_seconds=settings.volume_seconds,
        gang_seconds=given.queue.gang_seconds,
        self_check=self_check,
    )
    process = Process(
        listen=listen,
        lease_namespace=lease_namespace,
        # A shadow takes no lease: it would be missing where the real work is done.
        lease_name="" if no_leader_election or shadow else lease_of(name, "scheduler", "--name"),
    )
    uvloop.run(
        run(
            process,
            options,
            given,
            kubeconfig=kubeconfig,
            context=context,
            events=not no_events,
            pages=pages,
        )
    )
