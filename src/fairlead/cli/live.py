"""What commands that look at a live cluster share: the options, the connection, the progress."""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fairlead.kube.manifests.load import Manifest

KUBECONFIG_OPTION = click.option(
    "--kubeconfig", default="", metavar="FILE", help="The kubeconfig; else KUBECONFIG, ~/.kube/config, in-cluster."
)
CLUSTER_OPTIONS = (
    KUBECONFIG_OPTION,
    click.option(
        "--context", default="", metavar="NAME", help="A context of the kubeconfig other than the current one."
    ),
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose a cluster."""
    for option in reversed(CLUSTER_OPTIONS):
        command = option(command)
    return command


def pages_option(paths: str, port: int) -> Callable[..., Any]:
    """The option for the address of the pages that people read."""
    told = f"Address of {paths}, which tell what is known of the cluster."
    return click.option("--pages", default=f"127.0.0.1:{port}", show_default=True, metavar="HOST:PORT", help=told)


def collected(kubeconfig: str, context: str) -> "list[Manifest]":
    """The objects of the cluster that a plan reads; what is being read is told on a terminal."""
    from fairlead.kube.config import load
    from fairlead.kube.manifests.collect import collect
    from fairlead.kube.wire.http import connect

    def told(kind: str, count: int) -> None:
        if sys.stderr.isatty() and count:
            click.echo(f"read {count} {kind}", err=True)

    async def read() -> "list[Manifest]":
        client = connect(load(kubeconfig_path=kubeconfig, context=context))
        try:
            return await collect(client, told)
        finally:
            await client.close()

    return asyncio.run(read())
