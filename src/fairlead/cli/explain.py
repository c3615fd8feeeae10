"""`fairlead explain`: the decision as sentences."""

import click

from fairlead.cli.main import EXIT_OK
from fairlead.cli.output import FORMATS, json_text, yaml_text


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
  fairlead explain -f examples/shop volume/cart-data --why-not west-od-2/fast
""",
)
@click.argument("what")
@click.option(
    "-f",
    "--file",
    "sources",
    multiple=True,
    required=True,
    metavar="PATH",
    help="A manifest, a directory, or - (repeatable).",
)
@click.option(
    "--why-not", default="", metavar="TARGET", help="Why it gets no (more) replicas on this node, cluster or NODE/DISK."
)
@click.option(
    "-o", "--output", type=click.Choice(FORMATS), default="table", help="Sentences, or the same as a JSON or YAML list."
)
def command(what: str, sources: tuple[str, ...], why_not: str, output: str) -> int:
    """Say why WHAT is planned as it is: a workload, node/NAME, pod/NAME, volume/NAME, or volumes.

    Level by level: what was considered, what was refused and how often, what was kept, what was drawn with which odds,
    and what would have to change for another outcome.
    """
    from fairlead.cli.plan import read
    from fairlead.engine import explain
    from fairlead.engine.plan import plan
    from fairlead.engine.why_not import why_not as whynot
    from fairlead.kube.manifests.pods import pod_lines

    found, view = read(sources, strict=False)
    decided = plan(view)
    told: tuple[str, ...] = ()
    if what.startswith("pod/"):
        told, what = pod_lines(found, decided, what.removeprefix("pod/"))
    volume = explain.volume_name(decided, what)
    if why_not:
        lines = (*told, *whynot(decided, what, why_not))
    elif what.startswith("node/"):
        lines = explain.node_lines(decided, what.removeprefix("node/"))
    elif volume is not None:
        lines = explain.volume_lines(decided, volume)
    else:
        lines = (*told, *explain.workload_lines(decided, what))
    click.echo(
        json_text(lines) if output == "json" else yaml_text(list(lines)) if output == "yaml" else "\n".join(lines)
    )
    return EXIT_OK
