"""`fairlead plan`: manifests through all five levels, as one report."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from fairlead.cli.completing import completing, nodes
from fairlead.cli.configured import plan_settings
from fairlead.cli.given import exit_code
from fairlead.cli.live import chooses_cluster, collected, source_options
from fairlead.cli.main import EXIT_BAD_INPUT, EXIT_OK, EXIT_UNPLACED, held
from fairlead.cli.output import chosen, console, output_option, write_file, write_record, yaml_text
from fairlead.cli.progress import progress
from fairlead.cli.selection import namespace_options, one_namespace, selected, selector_option
from fairlead.cli.verb import keep_going_option
from fairlead.cli.watching import follows_cluster, watch_option, watched
from fairlead.model.errors import InputError
from fairlead.model.progress import OnProgress, no_progress
from fairlead.pictures.counts import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.engine.budgets import Disruption
    from fairlead.engine.plan import Plan
    from fairlead.engine.plan_settings import PlanSettings
    from fairlead.kube.manifests.catalogue import Catalogue
    from fairlead.kube.manifests.manifest import Manifest
    from fairlead.model.snapshot import Snapshot


@click.command(
    "plan",
    epilog="""
\b
Examples:
  fairlead plan -f examples/shop
  fairlead plan -f nodes.yaml -f apps/ -o json
  fairlead plan -f examples/shop -o manifests
  fairlead plan -f examples/shop --html plan.html
  fairlead plan -f examples/shop --drain west-od-1
  fairlead plan -f examples/shop --scale shop/web=50 --add-nodes 3 --like west-spot-1
  fairlead plan --cluster --context production
  fairlead plan --cluster --context karmada --member north=north.config --member south=@south
  kubectl get nodes,pods,deployments -A -o yaml | fairlead plan -f -
""",
)
@source_options("Plan the live cluster, with whatever -f adds.")
@click.option(
    "--drain",
    multiple=True,
    metavar="NODE",
    shell_complete=completing(nodes),
    help="What if: empty this node (repeatable).",
)
@click.option(
    "--lose", multiple=True, metavar="LABEL=VALUE", help="What if: lose all nodes with this label, such as zone=a."
)
@click.option("--add-nodes", type=click.IntRange(min=1), metavar="N", help="What if: N more nodes, as --like says.")
@click.option(
    "--like",
    default="",
    metavar="NODE",
    shell_complete=completing(nodes),
    help="The node that --add-nodes copies.",
)
@click.option("--scale", multiple=True, metavar="WORKLOAD=N", help="What if: this workload has N replicas.")
@click.option(
    "--scale-hpa", type=click.Choice(["min", "max"]), help="What if: autoscalers are at their lowest or highest."
)
@click.option("--weight", multiple=True, metavar="NAMESPACE=N", help="What if: this namespace has weight N.")
@click.option("--upgrade", is_flag=True, help="What if: every zone is drained in turn.")
@namespace_options
@selector_option("workloads whose pods are")
@watch_option
@click.option("--waiting", is_flag=True, help="List only workloads that wait.")
@click.option("--rows", type=click.IntRange(min=0), default=50, help="Workloads listed; 0 is all.  [default: 50]")
@click.option("--html", default="", metavar="FILE", help="Write the plan as a page, in one file.")
@keep_going_option()
@click.option(
    "--strict", is_flag=True, help="Exit code 2 for any broken or contradictory manifest, and for what is not counted."
)
@output_option("wide", "manifests", "name")
def command(
    sources: tuple[str, ...],
    cluster: bool,
    kubeconfig: str,
    context: str,
    members: tuple[str, ...],
    config: str | None,
    drain: tuple[str, ...],
    lose: tuple[str, ...],
    add_nodes: int | None,
    like: str,
    scale: tuple[str, ...],
    scale_hpa: str | None,
    weight: tuple[str, ...],
    upgrade: bool,
    namespace: str,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    waiting: bool,
    rows: int,
    html: str,
    keep_going: bool,
    strict: bool,
    output: str | None,
) -> int:
    """Plan where everything in the manifests would go, and say why.

    Kubernetes, Karmada, Volcano and Longhorn objects are read; other kinds are counted and left alone. A broken file
    does not stop the plan: it is named on standard error, and the exit code is 2 unless --keep-going. The what-if
    options change the manifests before planning and show the answer beside the present.
    """
    from fairlead.engine.changes import Changes
    from fairlead.engine.changes import changed as apply
    from fairlead.engine.plan import plan
    from fairlead.engine.whatif import replicas_asked
    from fairlead.kube.adapters.autoscaler import autoscaled
    from fairlead.kube.manifests.records import stopped_by, unreached

    if not (sources or cluster or members):
        raise click.UsageError("Missing option '-f' / '--file', or '--cluster'.")
    wanted = Changes(drain=drain, lose=lose, add_nodes=add_nodes, like=like, scale=scale, weight=weight)
    space, form, settings = one_namespace(namespace, all_namespaces), chosen(output), plan_settings(config)
    follows_cluster(watch, cluster or bool(members))
    chooses_cluster(kubeconfig, context, cluster=cluster, members=bool(members))

    def once() -> int:
        asked, astray = wanted, list[str]()
        live = collected(kubeconfig, context, host=cluster, members=members) if cluster or members else []
        with progress() as on_progress:
            found, view = read(sources, strict=strict, live=live, settings=settings, on_progress=on_progress)
            if scale_hpa:
                at_bound, astray = autoscaled(found, scale_hpa, replicas_asked(view))
                asked = replace(asked, scale=(*scale, *at_bound))
            changed = apply(view, asked)
            decided = plan(view, on_progress=on_progress)
            then = plan(changed, on_progress=on_progress, after=decided) if changed is not view else decided
        for words in astray:
            click.echo(f"fairlead: {words}", err=True)
        if html:
            from fairlead.web.saved import plan_file

            write_file(html, plan_file(found, changed, then, ", ".join(sources) or "the cluster"))
        then = selected(then, space, selector)
        decided = then if changed is view else selected(decided, space, selector)
        if form == "manifests":
            code = _manifests(found, then)
        elif upgrade:
            code = _upgrade(changed, then, form)
        elif changed is not view:
            code = _beside(decided, then, form, stopped_by(view, asked))
        else:
            code = _show(found, decided, form, waiting, rows, one_line=watch)
        if strict and found.not_counted:
            code = max(code, EXIT_BAD_INPUT)
        return max(code, exit_code(found, keep_going), EXIT_UNPLACED if unreached(found, then) else EXIT_OK)

    return watched(once, watch, form)


def read(
    sources: tuple[str, ...],
    *,
    strict: bool,
    settings: "PlanSettings",
    live: "Sequence[Manifest]" = (),
    on_progress: OnProgress = no_progress,
) -> tuple["Catalogue", "Snapshot"]:
    """The snapshot of the sources and of what was read live.

    What is broken is told on standard error, and ends the command where it must.
    """
    from fairlead.kube.manifests.view import viewed

    def warn(words: str) -> None:
        click.echo(f"fairlead: {words}", err=True)

    found, view = viewed(sources, live, on_progress, warn, settings)
    held[:] = [found]
    for error in found.errors:
        click.echo(f"fairlead: {error}", err=True)
    if found.errors and (strict or not found.objects):
        many = "1 mistake" if len(found.errors) == 1 else f"{len(found.errors)} mistakes"
        raise InputError("", f"{many} in the manifests; nothing was planned")
    if not found.objects:
        raise InputError(
            ", ".join(sources) or "the cluster", "no object that a plan can use; expected nodes, workloads, volumes …"
        )
    return found, view


def _show(found: "Catalogue", decided: "Plan", form: str, waiting: bool, rows: int, *, one_line: bool) -> int:
    """The plan as it is: a table, the names of the workloads that wait or of all, a record or a part of it."""
    if form in ("table", "wide"):
        from fairlead.pictures.plan import PlanListing, draw

        draw(console(), decided, found, PlanListing(waiting=waiting, rows=rows, wide=form == "wide"))
    elif form == "name":
        for path in (path for site in decided.sites for path in site.paths):
            if path.unplaced or not waiting:
                click.echo(f"{path.workload.kind.lower()}/{path.workload.title}")
    else:
        from fairlead.kube.manifests.records import plan_answer

        write_record(plan_answer(decided, found), form, one_line=one_line)
    return EXIT_UNPLACED if decided.unplaced else EXIT_OK


def _manifests(found: "Catalogue", decided: "Plan") -> int:
    """The objects that carrying out the plan would write."""
    from fairlead.kube.manifests.export import unwritten, written

    for each in written(found, decided):
        click.echo("---\n" + yaml_text(each))
    without = unwritten(found, decided)
    if without:
        some = ", ".join(without[:3]) + (", …" if len(without) > 3 else "")
        note = f"{many(len(without), 'workload')} ({some}) have no pods that wait yet, so there is nothing to bind"
        click.echo(f"fairlead: written are ResourceBindings, Bindings of pods and Replicas; {note}", err=True)
    return EXIT_UNPLACED if decided.unplaced else EXIT_OK


def _beside(now: "Plan", then: "Plan", form: str, stopped: "tuple[Disruption, ...]") -> int:
    """The changed plan beside the present one, and what disruption budgets say to the way there."""
    from fairlead.kube.manifests.records import what_if_answer

    record = what_if_answer(now, then, stopped)
    if form in ("table", "wide"):
        from fairlead.pictures.changes import draw_changes

        draw_changes(console(), record, "now", "then", [each.sentence for each in stopped])
    else:
        write_record(record, form)
    return EXIT_UNPLACED if then.unplaced else EXIT_OK


def _upgrade(view: "Snapshot", now: "Plan", form: str) -> int:
    """Each zone drained on its own: what would wait while it is away."""
    from fairlead.engine import whatif
    from fairlead.engine.budgets import disruptions, steps_record
    from fairlead.engine.plan import plan

    steps = {zone: plan(whatif.away(view, zone)).unplaced for zone in whatif.zones(view)}
    stopped = {zone: disruptions(view, whatif.nodes_of(view, "zone", zone)) for zone in steps}
    worst = max(steps.values(), default=now.unplaced)
    if form in ("table", "wide"):
        for zone, waits in steps.items():
            click.echo(f"without {zone}: {waits} wait ({waits - now.unplaced:+d})")
            for each in stopped[zone]:
                click.echo(f"  {each.sentence}")
        click.echo(f"now {now.unplaced} wait, at worst {worst} while a zone is away.")
    else:
        note = {zone: steps_record(found) for zone, found in stopped.items() if found}
        record = {"now": now.unplaced, "zones": steps, "worst": worst, **({"budgets": note} if note else {})}
        write_record(record, form)
    return EXIT_UNPLACED if worst else EXIT_OK
