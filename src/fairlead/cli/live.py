"""What commands that look at a live cluster share: the options, the connection, the progress."""

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.completing import completing, contexts
from fairlead.cli.configured import config_option

if TYPE_CHECKING:
    from fairlead.kube.manifests.manifest import Manifest

KUBECONFIG_OPTION = click.option(
    "--kubeconfig", default="", metavar="FILE", help="The kubeconfig; else KUBECONFIG, ~/.kube/config, in-cluster."
)
CLUSTER_OPTIONS = (
    KUBECONFIG_OPTION,
    click.option(
        "--context",
        default="",
        metavar="NAME",
        shell_complete=completing(contexts),
        help="A context of the kubeconfig other than the current one.",
    ),
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that choose a cluster."""
    for option in reversed(CLUSTER_OPTIONS):
        command = option(command)
    return command


def chooses_cluster(kubeconfig: str, context: Sequence[str] | str, *, cluster: bool, members: bool = False) -> None:
    """Whoever names a cluster wants it read: with files alone the answer would be about something else."""
    for name, of_use in (("--context", cluster or not context), ("--kubeconfig", cluster or members or not kubeconfig)):
        if not of_use:
            raise click.UsageError(f"{name} chooses a live cluster; expected --cluster beside it")


LOG_OPTIONS = (
    click.option(
        "--log-format",
        type=click.Choice(["console", "json"]),
        default="console",
        show_default=True,
        help="Form of the log, which goes to standard error.",
    ),
    click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"]),
        default="info",
        show_default=True,
        help="The least that is logged.",
    ),
)


def log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a component logs; the log begins before the command does."""

    @functools.wraps(command)
    def logged(*args: Any, log_format: str, log_level: str, **given: Any) -> Any:
        from fairlead.live.runtime.logs import start_log

        start_log(log_format, log_level)
        return command(*args, **given)

    for option in reversed(LOG_OPTIONS):
        logged = option(logged)
    return logged


def pages_option(paths: str, port: int) -> Callable[..., Any]:
    """The option for the address of the pages that people read."""
    purpose = f"Address of {paths}, which tell what is known of the cluster."
    return click.option("--pages", default=f"127.0.0.1:{port}", show_default=True, metavar="HOST:PORT", help=purpose)


member_option = click.option(
    "--member",
    "members",
    multiple=True,
    metavar="NAME=FILE[@CONTEXT]",
    help="Read this member cluster of the fleet too, by its kubeconfig (repeatable).",
)


def source_options(cluster: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Where a plan comes from, and with which configuration; `cluster` is the help of `--cluster`."""
    options = (
        click.option(
            "-f", "--file", "sources", multiple=True, metavar="PATH", help="A manifest, a directory, or - (repeatable)."
        ),
        click.option("--cluster", is_flag=True, help=cluster),
        cluster_options,
        member_option,
        config_option,
    )

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def collected(kubeconfig: str, context: str, *, host: bool = True, members: tuple[str, ...] = ()) -> "list[Manifest]":
    """The objects of the cluster that a plan reads, and those of the members; what is read is told on a terminal."""
    import asyncio

    from fairlead.kube.config import load
    from fairlead.kube.manifests.collect import collect, collect_foreign
    from fairlead.kube.wire.http import connect

    async def read(name: str, file: str, own_context: str) -> "list[Manifest]":
        def purpose(kind: str, count: int) -> None:
            if sys.stderr.isatty() and count:
                click.echo(f"read {count} {kind}" + (f" of {name}" if name else ""), err=True)

        client = connect(load(kubeconfig_path=file, context=own_context))
        try:
            own = await collect(client, purpose, member=name)
            return own + await collect_foreign(client, purpose, _warn, member=name)
        finally:
            await client.close()

    async def read_all() -> "list[Manifest]":
        places = [("", kubeconfig, context)] if host else []
        return [each for place in (*places, *_members(members, kubeconfig)) for each in await read(*place)]

    return asyncio.run(read_all())


def _warn(words: str) -> None:
    click.echo(f"fairlead: {words}", err=True)


def _members(given: tuple[str, ...], kubeconfig: str) -> list[tuple[str, str, str]]:
    """Name, file and context of each member; without a file the context is one of the host's kubeconfig."""
    found: dict[str, tuple[str, str, str]] = {}
    for text in given:
        name, purpose, where = text.partition("=")
        file, _, context = where.partition("@")
        if not (name and purpose and where):
            raise click.UsageError(f"--member {text!r}: expected NAME=FILE, NAME=FILE@CONTEXT or NAME=@CONTEXT")
        if name in found:
            raise click.UsageError(f"--member {name}: given twice")
        found[name] = (name, file or kubeconfig, context)
    return list(found.values())
