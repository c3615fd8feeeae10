"""`fairlead explain`: the decision as sentences."""

import asyncio

import click

from fairlead.cli.completing import completing, explained, nodes
from fairlead.cli.configured import plan_settings
from fairlead.cli.live import chooses_cluster, collected, source_options
from fairlead.cli.main import EXIT_OK
from fairlead.cli.output import FORMATS, OutputForm, write_record
from fairlead.cli.selection import namespace_options, one_namespace
from fairlead.cli.watching import follows_cluster, watch_option, watched


@click.command(
    "explain",
    epilog="""
\b
Examples:
  fairlead explain -f examples/shop shop/web
  fairlead explain -f examples/shop node/west-od-1
  fairlead explain -f examples/shop pod/shop/web-7c9f-1
  fairlead explain -f examples/shop ml/train --why-not west-od-1
  fairlead explain -f examples/shop deploy/web --why-not north
  fairlead explain -f examples/shop deploy web -n shop
  fairlead explain -f examples/shop volume/cart-data --why-not west-od-2/fast
  fairlead explain --cluster pod/shop/web-7c9f-1
""",
)
@click.argument("words", nargs=-1, required=True, metavar="WHAT", shell_complete=completing(explained))
@source_options("Explain the live cluster; a pod as the live scheduler sees it.")
@namespace_options
@watch_option
@click.option(
    "--why-not",
    default="",
    metavar="TARGET",
    shell_complete=completing(nodes),
    help="Why it gets no (more) replicas on this node, cluster or NODE/DISK.",
)
@click.option(
    "-o", "--output", type=OutputForm(FORMATS), default="table", help="Sentences, or the same as a JSON or YAML list."
)
def command(
    words: tuple[str, ...],
    sources: tuple[str, ...],
    cluster: bool,
    kubeconfig: str,
    context: str,
    members: tuple[str, ...],
    config: str | None,
    namespace: str,
    all_namespaces: bool,
    watch: bool,
    why_not: str,
    output: str,
) -> int:
    """Say why WHAT is planned as it is: a workload, node/NAME, pod/NAME, volume/NAME, or volumes.

    As for kubectl, `deploy/web`, `deployments/web` and `deploy web` are one; so are po/x and no/x.

    Level by level: what was considered, what was refused and how often, what was kept, what was drawn with which odds,
    and what would have to change for another outcome.
    """
    from fairlead.kube.manifests.records import explain_answer, meant

    what = meant(words, one_namespace(namespace, all_namespaces))
    if not (sources or cluster or members):
        raise click.UsageError("Missing option '-f' / '--file', or '--cluster'.")
    settings = plan_settings(config)
    follows_cluster(watch, cluster or bool(members))
    chooses_cluster(kubeconfig, context, cluster=cluster, members=bool(members))

    def once() -> int:
        if cluster and what.startswith("pod/") and not (sources or why_not):
            _print(_live_pod(what.removeprefix("pod/"), kubeconfig, context, settings.strategy), output, watch)
            return EXIT_OK
        from fairlead.cli.plan import read
        from fairlead.engine.plan import plan

        live = collected(kubeconfig, context, host=cluster, members=members) if cluster or members else ()
        found, view = read(sources, strict=False, settings=settings, live=live)
        _print(explain_answer(found, plan(view), what, why_not), output, watch)
        return EXIT_OK

    return watched(once, watch, output)


def _print(lines: tuple[str, ...], output: str, one_line: bool) -> None:
    if output == "table":
        click.echo("\n".join(lines))
    else:
        write_record(list(lines), output, one_line=one_line)


def _live_pod(name: str, kubeconfig: str, context: str, strategy: str) -> tuple[str, ...]:
    """A pod of the live cluster, NAME in the namespace `default` or NAMESPACE/NAME."""
    from fairlead.kube.config import load
    from fairlead.kube.wire.http import connect
    from fairlead.live.scheduler.explain_pod import look, sentences

    namespace, _, short = name.rpartition("/")

    async def asked() -> tuple[str, ...]:
        client = connect(load(kubeconfig_path=kubeconfig, context=context))
        try:
            return sentences(await look(client, namespace or "default", short, strategy))
        finally:
            await client.close()

    return asyncio.run(asked())
