"""`fairlead plan`: manifests through all five levels, as one report."""

from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.main import EXIT_OK, EXIT_UNPLACED
from fairlead.cli.output import chosen, console, json_text, output_option, yaml_text
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.engine.plan import Plan
    from fairlead.kube.manifests.catalogue import Catalogue


@click.command(
    "plan",
    epilog="""
\b
Examples:
  fairlead plan -f examples/shop
  fairlead plan -f nodes.yaml -f apps/ -o json
  kubectl get nodes,pods,deployments -A -o yaml | fairlead plan -f -
""",
)
@click.option(
    "-f",
    "--file",
    "sources",
    multiple=True,
    required=True,
    metavar="PATH",
    help="A manifest, a directory, or - (repeatable).",
)
@click.option("--strict", is_flag=True, help="Any broken or contradictory manifest is an error (exit code 2).")
@output_option()
def command(sources: tuple[str, ...], strict: bool, output: str | None) -> int:
    """Plan where everything in the manifests would go, and say why.

    Kubernetes, Karmada, Volcano and Longhorn objects are read; other kinds are counted and left alone. A broken file
    does not stop the plan: it is named on standard error.
    """
    from fairlead.engine.plan import plan

    found, view = read(sources, strict=strict)
    decided = plan(view)
    form = chosen(output)
    if form == "table":
        from fairlead.cli.report import draw

        draw(console(), decided, found)
    else:
        record = _record(decided, found)
        click.echo(json_text(record) if form == "json" else yaml_text(record))
    return EXIT_UNPLACED if decided.unplaced else EXIT_OK


def read(sources: tuple[str, ...], *, strict: bool) -> tuple["Catalogue", Any]:
    """The snapshot of the sources; what is broken is told on standard error, and ends the command where it must."""
    from fairlead.kube.manifests.catalogue import catalogue
    from fairlead.kube.manifests.reading import read_manifests
    from fairlead.kube.manifests.sites import snapshot

    manifests, errors = read_manifests(sources)
    found = catalogue(manifests)
    found.errors[:0] = errors
    view = snapshot(found)
    for error in found.errors:
        click.echo(f"fairlead: {error}", err=True)
    if found.errors and (strict or not found.objects):
        many = "1 mistake" if len(found.errors) == 1 else f"{len(found.errors)} mistakes"
        raise InputError("", f"{many} in the manifests; nothing was planned")
    if not found.objects:
        raise InputError(", ".join(sources), "no object that a plan can use; expected nodes, workloads, volumes …")
    return found, view


def _record(decided: "Plan", found: "Catalogue") -> dict[str, Any]:
    from fairlead.engine.record import plan_record

    record = plan_record(decided)
    if found.ignored:
        record["ignored"] = dict(sorted(found.ignored.items()))
    if found.errors:
        record["errors"] = [{"path": error.path, "message": error.message} for error in found.errors]
    return record
