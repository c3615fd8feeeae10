"""`fairlead webhook`: serve admission reviews of a cluster."""

import click

from fairlead.cli.configured import config_option, configuration
from fairlead.cli.live import cluster_options, log_options


@click.command(
    "webhook",
    epilog="""
\b
Examples:
  fairlead webhook --config fairlead.yaml
  fairlead webhook --kubeconfig ~/.kube/config --listen 127.0.0.1:8443 --health 127.0.0.1:8080

\b
/mutate gives new pods their tier, /validate refuses workloads with a bad annotation. /healthz, /readyz and /metrics
are served on the health address. SIGTERM drains: it goes on serving for a while and asks clients to leave.
""",
)
@config_option
@cluster_options
@click.option("--listen", metavar="HOST:PORT", help="Overrides the configuration's webhook.listen.")
@click.option("--health", metavar="HOST:PORT", help="Overrides the configuration's webhook.health.")
@log_options
def command(config: str | None, kubeconfig: str, context: str, listen: str | None, health: str | None) -> None:
    """Give new pods their tier, exactly counted, with as many replicas of this process as you like."""
    import msgspec

    from fairlead.live.webhook.main import start

    given = configuration(config)
    addresses = {name: value for name, value in (("listen", listen), ("health", health)) if value is not None}
    webhook = msgspec.structs.replace(given.webhook, **addresses)
    start(msgspec.structs.replace(given, webhook=webhook), kubeconfig, context)
