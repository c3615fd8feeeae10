"""A division: each cluster with its floor and its part of the residual."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.levels.fleet.divide import Division
    from fairlead.model.division import DivisionAsk
    from fairlead.problems.divide import DivideProblem


def picture(screen: "Console", problem: "DivideProblem | DivisionAsk", decision: "Division") -> None:
    """Bars: what a cluster is owed in full, and its part of the residual."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from fairlead.model.order import natural_sorted

    name = problem.workload.name
    placed = sum(decision.placements.values())
    drawn = {winner for draw in decision.trace.draws for winner in draw.winners}
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("cluster")
    for head in ("replicas", "floor"):
        table.add_column(head, justify="right")
    table.add_column("")
    most = max(decision.placements.values(), default=0)
    for cluster in natural_sorted(decision.placements):
        count = decision.placements[cluster]
        floor = decision.floors.get(cluster, count)
        length = round(40 * count / most) if most else 0
        extra = min(length, max(1, round(40 * (count - floor) / most))) if count > floor and most else 0
        bar = Text("█" * (length - extra), style="cyan") + Text("▒" * extra, style="yellow")
        removed = decision.removed.get(cluster)
        said = removed.code if removed else "drawn" if cluster in drawn else ""
        owed = str(decision.floors.get(cluster, ""))
        table.add_row(escape(cluster), str(count), owed, bar + Text(f" {said}", style="dim"))
    over = f"{placed} placed over {len(decision.chosen)} clusters by {decision.mode.value}"
    screen.print(f"[bold]{escape(name)}[/bold]: {over}")
    screen.print(table)
    if decision.finding:
        said = f"{decision.unplaced} unplaced: {decision.finding.sentence} ({decision.finding.code})"
        screen.print(said, style="red", markup=False)
