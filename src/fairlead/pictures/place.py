"""A placement: nodes with what was there and what is new."""

from typing import TYPE_CHECKING

from fairlead.pictures.counts import many

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from fairlead.levels.node.place import NodePlacement
    from fairlead.levels.node.realloc import Resize
    from fairlead.problems.place import PlaceProblem

MOST_ROWS = 60
"""Nodes drawn one by one."""
WIDTH = 40


def picture(screen: "Console", problem: "PlaceProblem", decision: "NodePlacement | Resize") -> None:
    """Bars: replicas that were there, and new ones."""
    from fairlead.levels.node.realloc import Resize

    if isinstance(decision, Resize):
        _resized(screen, decision)
        return
    placed = sum(decision.placements.values())
    nodes = len(decision.placements)
    wanted = many(decision.wanted, "replica")
    screen.print(f"[bold]{placed}[/bold] of {wanted} placed on {many(nodes, 'node')} by {decision.strategy}")
    _bars(screen, decision)
    if decision.finding:
        said = f"{decision.unplaced} unplaced: " if decision.unplaced else ""
        screen.print(f"{said}{decision.finding.sentence} ({decision.finding.code})", style="red", markup=False)


def _bars(screen: "Console", decision: "NodePlacement") -> None:
    from rich.markup import escape
    from rich.table import Table

    from fairlead.model.nodes import UNLIMITED

    nodes, added = decision.nodes, decision.added.tolist()
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("node")
    for head in ("old", "new", "capacity"):
        table.add_column(head, justify="right")
    table.add_column("")
    order = sorted(range(len(nodes)), key=lambda row: (added[row] == 0, int(nodes.rank[row])))
    shown = sorted(order[:MOST_ROWS], key=lambda row: int(nodes.rank[row]))
    most = max((int(nodes.count[row]) + added[row] for row in shown), default=0)
    for row in shown:
        capacity = int(nodes.capacity[row])
        table.add_row(
            escape(nodes.names[row]),
            str(int(nodes.count[row])),
            str(added[row]),
            "∞" if capacity == UNLIMITED else str(capacity),
            _bar(int(nodes.count[row]), added[row], most),
        )
    screen.print(table)
    if len(nodes) > len(shown):
        rest = sum(added) - sum(added[row] for row in shown)
        screen.print(f"… and {rest} new replicas on {len(nodes) - len(shown)} other nodes", style="dim")


def _bar(old: int, new: int, most: int) -> "Text":
    """Old and new side by side, to one scale; what is there is never drawn as nothing."""
    from rich.text import Text

    scale = max(most / WIDTH, 1)
    length = round((old + new) / scale)
    fresh = max(round(new / scale), 1 if new else 0)
    return Text("▒" * max(length - fresh, 1 if old else 0), style="dim") + Text("█" * fresh, style="cyan")


def _resized(screen: "Console", decision: "Resize") -> None:
    if decision.pin is None and decision.finding is not None:
        screen.print(f"{decision.finding.sentence} ({decision.finding.code})", style="red", markup=False)
        return
    assert decision.pin is not None
    cores = ", ".join(f"{core}: {pieces}" for core, pieces in decision.pin.cores.items())
    screen.print(f"{decision.node} " + (f"cores {cores}" if cores else "keeps the replica"), markup=False)
    for text, on in decision.pin.mounts.items():
        screen.print(f"  {text} on {', '.join(on)}", markup=False)
