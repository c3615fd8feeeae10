"""`fairlead storage`: Longhorn's storage replicas, as a process or as one look."""

import asyncio
from typing import TYPE_CHECKING

import click

from fairlead.cli.configured import config_option, configuration
from fairlead.cli.live import cluster_options, log_options, pages_option
from fairlead.cli.main import EXIT_OK, EXIT_UNPLACED
from fairlead.cli.output import chosen, console, output_option, write_record
from fairlead.pictures.balance import draw_moves

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.live.storage.component import StorageOptions
    from fairlead.live.storage.report import Report
    from fairlead.settings import StorageSettings

MOST = 40
"""Replicas, volumes or errors told one by one."""


@click.command(
    "storage",
    epilog="""
\b
Examples:
  fairlead storage --once -o table             what is unscheduled and why, moves worth making; then exit
  fairlead storage --config fairlead.yaml      advise: Events on volumes, /report, metrics
  fairlead storage --act                       and give Replicas that wait a disk

\b
/healthz, /readyz and /metrics are served on the health address, /report (JSON) on the address of --pages.
""",
)
@config_option
@cluster_options
@click.option("--longhorn-namespace", metavar="NAME", help="Overrides the configuration's storage.longhornNamespace.")
@click.option("--health", metavar="HOST:PORT", help="Overrides the configuration's storage.health.")
@pages_option("/report", 8083)
@click.option("--act", is_flag=True, help="Fill node and disk of Replicas that are still unscheduled.")
@click.option("--shadow", is_flag=True, help="Decide and report, write nothing, not even a lease.")
@click.option("--once", is_flag=True, help="Print the report of this moment and exit; nothing is written.")
@click.option("--no-leader-election", is_flag=True, help="Lead at once; for a single instance.")
@click.option("--no-events", is_flag=True, help="Write no Events.")
@output_option()
@log_options
def command(
    config: str | None,
    kubeconfig: str,
    context: str,
    longhorn_namespace: str | None,
    health: str | None,
    pages: str,
    act: bool,
    shadow: bool,
    once: bool,
    no_leader_election: bool,
    no_events: bool,
    output: str | None,
) -> int:
    """Watch Longhorn's nodes, volumes, replicas and settings, and say what would help.

    Without --act nothing is written but Events. With it, Replicas without a node get a node and a disk. Two instances
    may run: one leads by a Lease, the other follows and takes over. SIGTERM finishes the writes under way.
    """

    settings = configuration(config).storage
    options = _options(settings, longhorn_namespace, act=act, shadow=shadow)
    if once:
        from fairlead.live.storage.main import once as look

        report = asyncio.run(look(options, kubeconfig=kubeconfig, context=context))
        _print(report, chosen(output))
        return EXIT_UNPLACED if report.lacking else EXIT_OK
    import uvloop

    from fairlead.live.runtime.process import Process
    from fairlead.live.storage.main import NAME, run

    process = Process(
        listen=health or settings.health,
        lease_namespace=settings.namespace,
        # A shadow takes no lease: it would be missing where the real work is done.
        lease_name="" if no_leader_election or options.shadow else NAME,
    )
    uvloop.run(run(process, options, kubeconfig=kubeconfig, context=context, events=not no_events, pages=pages))
    return EXIT_OK


def _options(settings: "StorageSettings", namespace: str | None, *, act: bool, shadow: bool) -> "StorageOptions":
    from fractions import Fraction

    from fairlead.live.storage.component import StorageOptions
    from fairlead.live.storage.decide import StorageRules

    return StorageOptions(
        namespace=namespace or settings.longhorn_namespace,
        rules=StorageRules(
            alpha=Fraction(repr(settings.alpha)),
            by_maximum=settings.usable_as == "maximum",
            target=Fraction(repr(settings.target)),
            moves=settings.max_moves,
            move_bytes=settings.move_bytes(),
        ),
        act=act or settings.act,
        shadow=shadow or settings.shadow,
        advise_seconds=settings.advise_seconds,
    )


def _print(report: "Report", form: str) -> None:
    if form == "table":
        _draw(console(), report)
    else:
        write_record(report.record(), form)


def _draw(screen: "Console", report: "Report") -> None:
    record = report.record()
    for kind in record["notServed"]:
        screen.print(f"{kind} are not served here", style="yellow", markup=False)
    screen.print(f"{record['volumes']} volumes on {record['disks']} disks of {record['nodes']} nodes", markup=False)
    if record["inFlight"]:
        screen.print(f"{len(record['inFlight'])} placements are not in the status of their disk yet; they are charged")
    _lines(screen, [f"{each['path']}: {each['message']}" for each in record["errors"]], "could not be used", "yellow")
    placeable = [
        f"{each.get('replica') or 'a replica of ' + each['volume']} → {each['node']}/{each['disk']}"
        for each in record["placeable"]
    ]
    _lines(screen, placeable, "without a disk, and there is one", "")
    short = [f"{each['volume']}: {each.get('note') or each['message']}" for each in record["unscheduled"]]
    _lines(screen, short, "lack a disk", "red")
    draw_moves(screen, report.advice)


def _lines(screen: "Console", lines: list[str], what: str, style: str) -> None:
    if lines:
        screen.print(f"{len(lines)} {what}", style=style)
    for line in lines[:MOST]:
        screen.print(f"  {line}", markup=False)
    if len(lines) > MOST:
        screen.print(f"  … and {len(lines) - MOST} more", style="dim")
