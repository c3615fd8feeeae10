"""What a shell completes: nodes, contexts, namespaces, strategies and policies by name.

A key press must not wait: whatever takes longer than a moment, or fails, completes nothing and says nothing.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from fairlead.cli.output import Decorated

if TYPE_CHECKING:
    from fairlead.kube.resources import Resource

SECONDS = 0.8
"""For all that is read, from files or from the server."""
MOST = 500
"""Names asked of a server."""

Names = Callable[[click.Context], Iterable[str]]
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(names: Names, *, or_file: bool = False) -> Complete:
    """A completion by these names; `or_file` where a path may stand there too."""

    def complete(ctx: click.Context, param: click.Parameter, unfinished: str) -> list[CompletionItem]:
        try:
            found = [CompletionItem(each) for each in sorted(set(names(ctx))) if each.startswith(unfinished)]
        except Exception:
            found = []
        return [*found, CompletionItem(unfinished, type="file")] if or_file else found

    return complete


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """`TimeoutError` in whatever still runs then."""

    def late(number: int, frame: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def contexts(ctx: click.Context) -> Iterable[str]:
    """The contexts of the kubeconfig."""
    from fairlead.kube.kubeconfig import paths, read

    return read(paths(ctx.params.get("kubeconfig") or "", os.environ, Path.home())).contexts


def namespaces(ctx: click.Context) -> Iterable[str]:
    """Those of the manifests, or of the live cluster."""
    if files := _files(ctx):
        return {manifest.namespace for manifest in files}
    from fairlead.kube.resources import NAMESPACES

    return _live(ctx, NAMESPACES)


def nodes(ctx: click.Context) -> Iterable[str]:
    """Those of the manifests, or of the live cluster."""
    if files := _files(ctx):
        return [manifest.name for manifest in files if (manifest.group, manifest.kind) == ("", "Node")]
    from fairlead.kube.resources import NODES

    return _live(ctx, NODES)


def explained(ctx: click.Context) -> Iterable[str]:
    """What `explain` takes: nodes as node/NAME, and the objects of manifests as KIND/NAMESPACE/NAME."""
    if files := _files(ctx):
        return {
            "/".join(filter(None, (each.kind.lower(), each.namespace, each.name)))
            for each in files
            if each.kind in ("Node", "Pod", "Deployment", "StatefulSet", "Job", "DaemonSet")
        }
    return [f"node/{each}" for each in nodes(ctx)]


def strategies(ctx: click.Context) -> Iterable[str]:
    """Those of the node level, by each of their names."""
    from fairlead.levels.node.strategies import BY_NAME

    return BY_NAME


def policy_names(ctx: click.Context) -> Iterable[str]:
    """The policies of a simulation that are always there."""
    from fairlead.sim.policy import STRATEGIES

    return STRATEGIES


def policies_option(text: str) -> Callable[[Decorated], Decorated]:
    """`--policy` of what simulates."""
    return click.option(
        "--policy",
        "policies",
        multiple=True,
        metavar="NAME|FILE",
        shell_complete=completing(policy_names, or_file=True),
        help=text,
    )


def _files(ctx: click.Context) -> list[Any]:
    """The objects of `-f`; standard input is left to the command."""
    from fairlead.kube.manifests.load import read_manifests

    sources = [each for each in ctx.params.get("sources") or () if each != "-"]
    with _at_most(SECONDS):
        return read_manifests(sources)[0] if sources else []


def _live(ctx: click.Context, resource: "Resource[Any]") -> list[str]:
    """The names of one kind in the cluster that the options choose; none where the command reads files."""
    if not ctx.params.get("cluster", True):
        return []
    import asyncio

    from fairlead.kube.config import load
    from fairlead.kube.objects.meta import Bare
    from fairlead.kube.wire.http import connect

    async def read() -> list[str]:
        given = ctx.params.get("kubeconfig") or "", ctx.params.get("context") or ""
        client = connect(load(kubeconfig_path=given[0], context=given[1]))
        try:
            page = await client.page(resource.of(Bare), limit=MOST)
            return [each.metadata.name for each in page.items]
        finally:
            await client.close()

    with _at_most(SECONDS):
        return asyncio.run(read())
