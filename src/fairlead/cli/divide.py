"""`fairlead divide`: replicas over clusters."""

from typing import TYPE_CHECKING

import click

from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.levels.fleet.divide import Division
    from fairlead.model.division import DivisionAsk
    from fairlead.problems.divide import DivideProblem


@click.command(
    "divide",
    epilog="""
\b
Examples:
  fairlead divide -f problem.json -o json
  fairlead divide -f bindings.jsonl -o json      one problem a line, one answer a line
  echo '{"workload":{"name":"web","replicas":7},"clusters":[{"name":"a"},{"name":"b"}]}' | fairlead divide -f -
  fairlead divide -f problem.yaml --explain
  fairlead divide -f examples/shop               manifests: Karmada's clusters, policies and bindings
""",
)
@file_option("A problem in JSON or YAML, or manifests of Karmada")
@keep_going_option()
@output_option()
@explain_option()
def command(sources: tuple[str, ...], keep_going: bool, output: str | None, explain: bool) -> int:
    """Divide the replicas of a workload over clusters: by weight, by room, on few, or all in each."""
    from fairlead.cli import divide_manifests as manifests
    from fairlead.engine.explain_fleet import lines
    from fairlead.problems import divide

    explanation = lines if explain else None
    asked = given(sources)
    if not asked.are_manifests:
        return run(divide, asked.texts, output, picture, explanation)
    found = catalogue_of(asked)
    code = report(manifests, manifests.asked_for(found, asked.name), output, picture, explanation)
    return max(code, exit_code(found, keep_going))


def picture(screen: "Console", problem: "DivideProblem | DivisionAsk", decision: "Division") -> None:
    """Bars: what a cluster is owed in full, and its part of the residual."""
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
        table.add_row(cluster, str(count), str(decision.floors.get(cluster, "")), bar + Text(f" {said}", style="dim"))
    screen.print(f"[bold]{name}[/bold]: {placed} placed over {len(decision.chosen)} clusters by {decision.mode.value}")
    screen.print(table)
    if decision.finding:
        screen.print(
            f"{decision.unplaced} unplaced: {decision.finding.sentence} ({decision.finding.code})", style="red"
        )
