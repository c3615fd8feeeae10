"""Storage replicas: disks before and after, and moves."""

from typing import TYPE_CHECKING, Any

from fairlead.pictures.counts import many

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.levels.disk.balance import Balance
    from fairlead.levels.disk.rebalance import Rebalance

MOST_ROWS = 60
"""Disks drawn one by one; of larger clusters those that change come first."""
WIDTH = 40


def picture(screen: "Console", problem: Any, decision: "Balance | Rebalance") -> None:
    """Every disk before and after: what stays usable, what this decision takes, what was taken before."""
    from rich.markup import escape
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
        amounts = size_text(int(before[row])), size_text(int(after[row]))
        bar = _bar(int(before[row]), int(after[row]), most)
        table.add_row(escape(disks.nodes[int(disks.node_of[row])]), escape(disks.names[row]), *amounts, bar)
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
        screen.print(f"  {move.replica or move.volume} {size_text(move.size_bytes)}  {way}  {score}", markup=False)


def _bar(before: int, after: int, most: int) -> Any:
    """Usable after (full), taken by this decision (half), given back by it (light)."""
    from rich.text import Text

    amounts = min(before, after), max(before - after, 0), max(after - before, 0)
    kept, taken, given = (round(WIDTH * amount / most) for amount in amounts)
    return Text("█" * kept, style="cyan") + Text("▒" * taken, style="yellow") + Text("░" * given, style="green")


def size_text(size_bytes: int) -> str:
    """Bytes for a reader: three digits or so."""
    size = float(size_bytes)
    for unit in ("", "Ki", "Mi", "Gi", "Ti"):
        if size < 1024:
            return f"{size:.4g}{unit}"
        size /= 1024
    return f"{size:.4g}Pi"
