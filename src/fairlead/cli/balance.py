"""`fairlead balance`: storage replicas on nodes and disks."""

from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import many, output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.levels.disk.balance import Balance
    from fairlead.levels.disk.rebalance import Rebalance

MOST_ROWS = 60
"""Disks drawn one by one; of larger clusters those that change come first."""


@click.command(
    "balance",
    epilog="""
\b
Examples:
  fairlead balance -f problem.json -o json
  fairlead balance -f problems.jsonl -o json     one problem a line, one answer a line
  echo '{"size":"8Gi","nodes":[{"name":"a","disks":[{"name":"d","usable":"40Gi"}]}]}' | fairlead balance -f -
  kubectl -n longhorn-system get nodes.longhorn.io,volumes.longhorn.io,replicas.longhorn.io,settings.longhorn.io \\
    -o yaml | fairlead balance -f - --explain
  fairlead balance -f longhorn.yaml --target 0.2 --max-moves 5 --max-bytes 2Ti
  fairlead balance -f longhorn.yaml --evacuate node3 --evacuate node4/disk-1
""",
)
@file_option("A problem in JSON or YAML, or manifests of Longhorn")
@click.option("--alpha", default=None, metavar="NUMBER", help="1: absolute space (default), 0: ratio, or a mix.")
@click.option("--scope", type=click.Choice(["node", "all"]), default=None, help="Disks that the disk stage scores.")
@click.option(
    "--usable-as",
    type=click.Choice(["available", "maximum"]),
    default=None,
    help="What reserved and scheduled are taken from: space free now (default), or the size of the disk.",
)
@click.option("--target", default=None, metavar="NUMBER", help="Advise moves until the imbalance is down to this.")
@click.option("--max-moves", type=click.IntRange(min=0), default=None, help="The most moves to advise.")
@click.option("--max-bytes", default=None, metavar="QUANTITY", help="The most bytes that moves may copy.")
@click.option("--evacuate", multiple=True, metavar="NODE[/DISK]", help="Advise moves that empty a node or a disk.")
@keep_going_option()
@output_option()
@explain_option()
def command(sources: tuple[str, ...], keep_going: bool, output: str | None, explain: bool, **options: Any) -> int:
    """Put storage replicas on nodes and disks so that what stays usable is even.

    The options from --alpha to --evacuate are for manifests; a problem says all that itself. Nothing is written.
    """
    from fairlead.engine.explain_disk import lines
    from fairlead.problems import balance

    explanation = lines if explain else None
    asked = given(sources)
    if not asked.are_manifests:
        if any(options.values()) or options["max_moves"] == 0:
            raise InputError(asked.name, "is a problem, which says all that itself; the options are for manifests")
        return run(balance, asked.texts, output, picture, explanation)
    from fairlead.cli import balance_manifests as manifests

    found = catalogue_of(asked)
    problem = manifests.asked_for(
        found,
        asked.name,
        alpha=options["alpha"],
        everywhere=options["scope"] == "all",
        by_maximum=options["usable_as"] == "maximum",
        target=options["target"],
        moves=options["max_moves"],
        most=options["max_bytes"],
        evacuate=options["evacuate"],
    )
    return max(report(manifests, [problem], output, picture, explanation), exit_code(found, keep_going))


def picture(screen: "Console", problem: Any, decision: "Balance | Rebalance") -> None:
    """Every disk before and after: what stays usable, what this decision takes, what was taken before."""
    from rich.table import Table

    from fairlead.levels.disk.rebalance import Rebalance

    if isinstance(decision, Rebalance):
        draw_moves(screen, decision)
    else:
        _placements(screen, decision)
    disks = decision.disks
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("node", "disk"):
        table.add_column(head)
    for head in ("before", "after"):
        table.add_column(head, justify="right")
    table.add_column("usable")
    before, after = decision.usable_before_bytes, decision.usable_after_bytes
    changed = before != after
    rows = sorted(range(len(disks)), key=lambda row: (not changed[row], row))[:MOST_ROWS]
    most = max(int(before.max(initial=0)), int(after.max(initial=0)), 1)
    for row in sorted(rows):
        amounts = _short(int(before[row])), _short(int(after[row]))
        bar = _bar(int(before[row]), int(after[row]), most)
        table.add_row(disks.nodes[int(disks.node_of[row])], disks.names[row], *amounts, bar)
    screen.print(table)
    if len(disks) > MOST_ROWS:
        screen.print(f"… and {len(disks) - MOST_ROWS} more disks", style="dim")
    if decision.finding:
        screen.print(f"{decision.finding.code}: {decision.finding.sentence}", style="red", markup=False)


def _placements(screen: "Console", decision: "Balance") -> None:
    asked = sum(outcome.volume.replicas for outcome in decision.outcomes)
    screen.print(f"[bold]{len(decision.placed)}[/bold] of {many(asked, 'storage replica')} placed")
    for each in decision.placed[:MOST_ROWS]:
        name = each.replica or each.reuses or each.volume or "replica"
        again = " (serves again)" if each.reuses else ""
        screen.print(f"  {name} → {each.node}/{each.disk}{again}", markup=False)


def draw_moves(screen: "Console", decision: "Rebalance") -> None:
    disks = decision.disks
    nodes = " → ".join(f"{float(each[0]):.3f}" for each in (decision.before, decision.after))
    inside = " → ".join(f"{float(each[1]):.3f}" for each in (decision.before, decision.after))
    count = "[bold]1[/bold] move" if len(decision.moves) == 1 else f"[bold]{len(decision.moves)}[/bold] moves"
    screen.print(f"{count}; imbalance of nodes {nodes}, of disks in a node {inside}")
    for move in decision.moves:
        way = f"{disks.place(move.source)} → {disks.place(move.target)}"
        score = f"{float(move.before):.3f} → {float(move.after):.3f}"
        screen.print(f"  {move.replica or move.volume} {_short(move.size_bytes)}  {way}  {score}", markup=False)


def _bar(before: int, after: int, most: int, width: int = 40) -> Any:
    """Usable after (full), taken by this decision (half), given back by it (light)."""
    from rich.text import Text

    kept = round(width * min(before, after) / most)
    taken = round(width * max(before - after, 0) / most)
    given = round(width * max(after - before, 0) / most)
    return Text("█" * kept, style="cyan") + Text("▒" * taken, style="yellow") + Text("░" * given, style="green")


def _short(size_bytes: int) -> str:
    """Bytes for a reader: three digits or so."""
    size = float(size_bytes)
    for unit in ("", "Ki", "Mi", "Gi", "Ti"):
        if size < 1024:
            return f"{size:.4g}{unit}"
        size /= 1024
    return f"{size:.4g}Pi"
