"""`fairlead tiers`: on-demand and spot replicas of every workload of a cluster."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.configured import config_option, configuration
from fairlead.cli.live import cluster_options
from fairlead.cli.main import EXIT_OK
from fairlead.cli.output import chosen, console, output_option, write_record
from fairlead.cli.selection import labels_hold, namespace_options, one_namespace, selector_option
from fairlead.cli.watching import watch_option, watched

if TYPE_CHECKING:
    from fairlead.live.webhook.census import WorkloadTiers


@click.command(
    "tiers",
    epilog="""
\b
Examples:
  fairlead tiers
  fairlead tiers -n shop -o json
  fairlead tiers --all --kubeconfig ~/.kube/config

\b
REQUIRED are replicas bound to on-demand nodes; a workload with fewer of them than its TARGET is marked.
""",
)
@namespace_options
@selector_option("workloads")
@watch_option
@click.option("--all", "everything", is_flag=True, help="Also workloads that ask for no minimum.")
@config_option
@cluster_options
@output_option("wide", "name")
def command(
    namespace: str,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    everything: bool,
    config: str | None,
    kubeconfig: str,
    context: str,
    output: str | None,
) -> int:
    """Show where the replicas of each workload run, and the share of them off on-demand nodes."""
    import asyncio

    from fairlead.live.webhook.census import census, tiers_of

    choice, form = configuration(config).tier.choice(), chosen(output)
    space, holds = one_namespace(namespace, all_namespaces), labels_hold(selector)

    def once() -> int:
        objects = asyncio.run(_objects(kubeconfig, context, space))
        shown = replace(
            objects,
            deployments=[each for each in objects.deployments if holds(each.metadata.labels)],
            stateful_sets=[each for each in objects.stateful_sets if holds(each.metadata.labels)],
        )
        tiers, tier_record = tiers_of(shown, choice)
        standings = [each for each in census(shown, tiers) if everything or each.target is not None]
        record = {"tiers": tier_record, **report(standings)}
        if form in ("table", "wide"):
            _table(record, standings if form == "wide" else None)
        elif form == "name":
            click.echo("\n".join(f"{each.kind.value.lower()}/{each.namespace}/{each.name}" for each in standings))
        else:
            write_record(record, form, one_line=watch)
        return EXIT_OK

    return watched(once, watch, form)


async def _objects(kubeconfig: str, context: str, namespace: str) -> Any:
    from fairlead.kube.config import load
    from fairlead.kube.wire.http import connect
    from fairlead.live.webhook.census_objects import read_objects

    client = connect(load(kubeconfig_path=kubeconfig, context=context))
    try:
        return await read_objects(client, namespace)
    finally:
        await client.close()


def report(standings: "list[WorkloadTiers]") -> dict[str, Any]:
    """The answer as plain values. The share is that of replicas on nodes, of which some are not on demand."""
    rows = [
        {
            "namespace": each.namespace,
            "kind": each.kind.value,
            "name": each.name,
            "replicas": each.replicas,
            "target": each.target,
            "required": each.required,
            "onDemand": each.at("on-demand"),
            "spot": each.at("spot"),
            "other": each.at("other"),
            "pending": each.at("pending"),
            "below": each.below,
        }
        for each in standings
    ]
    off = sum(each.at("spot") + each.at("other") for each in standings)
    placed = off + sum(each.at("on-demand") for each in standings)
    share = round(off / placed, 4) if placed else 0.0
    return {"workloads": rows, "placed": placed, "offOnDemand": off, "share": share}


def _table(record: dict[str, Any], standings: "list[WorkloadTiers] | None" = None) -> None:
    """`standings` tell the pods of each tier by name, for the wide form."""
    from rich.table import Table

    screen = console()
    table = Table(box=None, header_style="bold")
    for title in ("NAMESPACE", "WORKLOAD"):
        table.add_column(title)
    for title in ("REPLICAS", "TARGET", "REQUIRED", "ON-DEMAND", "SPOT", "OTHER", "PENDING"):
        table.add_column(title, justify="right")
    table.add_column("")
    if standings is not None:
        table.add_column("PODS")
    for number, row in enumerate(record["workloads"]):
        numbers = [row[each] for each in ("replicas", "target", "required", "onDemand", "spot", "other", "pending")]
        cells = ["-" if number is None else str(number) for number in numbers]
        pods = [] if standings is None else [_pods(standings[number])]
        table.add_row(row["namespace"], f"{row['kind']}/{row['name']}", *cells, "below" if row["below"] else "", *pods)
    screen.print(record["tiers"], markup=False)
    screen.print(table)
    screen.print(
        f"{record['offOnDemand']} of {record['placed']} replicas on nodes are off on-demand nodes"
        f" ({record['share']:.0%})",
        markup=False,
    )


def _pods(standing: "WorkloadTiers") -> str:
    """The pods of a workload, each with its tier."""
    return ", ".join(f"{each.name} {each.place}" for each in standing.members) or "-"
