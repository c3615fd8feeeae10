"""`fairlead tiers`: on-demand and spot replicas of every workload of a cluster."""

from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.configured import config_option, configuration
from fairlead.cli.output import chosen, console, json_text, output_option, yaml_text

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
@click.option("-n", "--namespace", default="", help="One namespace.  [default: all]")
@click.option("--all", "everything", is_flag=True, help="Also workloads that ask for no minimum.")
@config_option
@click.option("--kubeconfig", metavar="FILE", default="", help="Else KUBECONFIG, ~/.kube/config, or the pod's account.")
@click.option("--context", metavar="NAME", default="", help="A context of the kubeconfig.  [default: the current one]")
@output_option()
def command(
    namespace: str, everything: bool, config: str | None, kubeconfig: str, context: str, output: str | None
) -> None:
    """Show where the replicas of each workload run, and the share of them off on-demand nodes."""
    import asyncio

    from fairlead.live.webhook.census import census, tiers_of

    choice = configuration(config).tier.choice()
    objects = asyncio.run(_objects(kubeconfig, context, namespace))
    tiers, tier_record = tiers_of(objects, choice)
    standings = [each for each in census(objects, tiers) if everything or each.target is not None]
    record = {"tiers": tier_record, **report(standings)}
    form = chosen(output)
    if form == "table":
        _table(record)
    else:
        click.echo(json_text(record) if form == "json" else yaml_text(record))


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
            "required": each.held,
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


def _table(record: dict[str, Any]) -> None:
    from rich.table import Table

    screen = console()
    table = Table(box=None, header_style="bold")
    for title in ("NAMESPACE", "WORKLOAD"):
        table.add_column(title)
    for title in ("REPLICAS", "TARGET", "REQUIRED", "ON-DEMAND", "SPOT", "OTHER", "PENDING"):
        table.add_column(title, justify="right")
    table.add_column("")
    for row in record["workloads"]:
        numbers = [row[each] for each in ("replicas", "target", "required", "onDemand", "spot", "other", "pending")]
        cells = ["-" if number is None else str(number) for number in numbers]
        table.add_row(row["namespace"], f"{row['kind']}/{row['name']}", *cells, "below" if row["below"] else "")
    screen.print(record["tiers"], markup=False)
    screen.print(table)
    screen.print(
        f"{record['offOnDemand']} of {record['placed']} replicas on nodes are off on-demand nodes"
        f" ({record['share']:.0%})",
        markup=False,
    )
