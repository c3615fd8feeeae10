"""`fairlead snapshot`: a live cluster as a file that `fairlead plan` reads."""

import click

from fairlead.cli.live import cluster_options, collected, member_option
from fairlead.cli.output import json_text


@click.command(
    "snapshot",
    epilog="""
\b
Examples:
  fairlead snapshot > cluster.json
  fairlead snapshot --context production > today.json
  fairlead plan -f today.json
""",
)
@cluster_options
@member_option
def command(kubeconfig: str, context: str, members: tuple[str, ...]) -> None:
    """Write every object that a plan reads, as one JSON list.

    Secrets and ConfigMaps are not read. Kinds that the server does not have are passed over.
    """
    items = [manifest.value for manifest in collected(kubeconfig, context, members=members)]
    click.echo(json_text({"apiVersion": "v1", "kind": "List", "items": items}))
