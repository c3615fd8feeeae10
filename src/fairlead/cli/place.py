"""`fairlead place`: replicas onto nodes, with cores and volumes."""

from typing import TYPE_CHECKING

import click

from fairlead.cli.given import catalogue_of, exit_code, given
from fairlead.cli.output import many, output_option
from fairlead.cli.verb import explain_option, file_option, keep_going_option, report, run
from fairlead.model.amounts import amount
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from fairlead.levels.node.place import NodePlacement
    from fairlead.levels.node.realloc import Resize
    from fairlead.problems.place import PlaceProblem

MOST_ROWS = 60
"""Nodes drawn one by one."""
WIDTH = 40


@click.command(
    "place",
    epilog="""
\b
Examples:
  fairlead place -f problem.json -o json
  fairlead place -f problems.jsonl -o json       one problem a line, one answer a line
  fairlead place -f nodes.yaml --pods pods.yaml --count 20 --cpu 500m --memory 1Gi
  kubectl get nodes,pods,deployments -A -o yaml | fairlead place -f - --workload shop/web --explain
  echo '{"strategy":"fill","count":2,"nodes":[{"name":"a","count":1},{"name":"b"}]}' | fairlead place -f -
""",
)
@file_option("A problem in JSON or YAML, or manifests of nodes, pods and workloads")
@click.option("--pods", multiple=True, metavar="FILE", help="More manifests: the pods that run on the nodes.")
@click.option("--workload", default="", metavar="NAME", help="The workload to place, where manifests hold several.")
@click.option(
    "--cpu", default=None, metavar="QUANTITY", help="What a replica asks for, instead of a workload's request."
)
@click.option("--memory", default=None, metavar="QUANTITY", help="The same for memory.")
@click.option("--count", type=int, default=None, help="New replicas.  [default: what the workload lacks]")
@click.option(
    "--strategy",
    default=None,
    help="auto (communism is its other name), fill, average, global, global-greedy or drained.",
)
@click.option("--nodes-limit", type=int, default=0, help="Highest total a node, or number of nodes (fill, average).")
@click.option("--partial", is_flag=True, help="Place what fits, instead of all or nothing.")
@keep_going_option()
@output_option()
@explain_option()
def command(
    sources: tuple[str, ...],
    pods: tuple[str, ...],
    workload: str,
    cpu: str | None,
    memory: str | None,
    count: int | None,
    strategy: str | None,
    nodes_limit: int,
    partial: bool,
    keep_going: bool,
    output: str | None,
    explain: bool,
) -> int:
    """Place replicas on nodes by capacity or by resources, with the cores and volumes of each replica.

    The options from --pods to --partial are for manifests; a problem says all that itself.
    """
    from fairlead.cli.place_manifests import problem_of
    from fairlead.engine.explain_node import lines
    from fairlead.problems import place

    explanation = lines if explain else None
    asked = given((*sources, *pods))
    if not asked.are_manifests:
        if (workload, cpu, memory, count, strategy, nodes_limit, partial) != ("", None, None, None, None, 0, False):
            raise InputError(
                asked.name, "is a problem, which says how many and how itself; the options are for manifests"
            )
        return run(place, asked.texts, output, picture, explanation)
    found = catalogue_of(asked)
    problem = problem_of(
        found,
        workload=workload,
        request=_request(cpu, memory),
        strategy=strategy,
        count=count,
        limit=nodes_limit,
        partial=partial,
    )
    return max(report(place, [problem], output, picture, explanation), exit_code(found, keep_going))


def _request(cpu: str | None, memory: str | None) -> dict[str, int] | None:
    """The request that the options give, None where they give none."""
    given = {"cpu": cpu, "memory": memory}
    asked = {name: amount(name, text, f"--{name}") for name, text in given.items() if text is not None}
    return asked or None


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
        screen.print(f"{said}{decision.finding.sentence} ({decision.finding.code})", style="red")


def _bars(screen: "Console", decision: "NodePlacement") -> None:
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
            nodes.names[row],
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
        screen.print(f"{decision.finding.sentence} ({decision.finding.code})", style="red")
        return
    assert decision.pin is not None
    cores = ", ".join(f"{core}: {pieces}" for core, pieces in decision.pin.cores.items())
    screen.print(f"[bold]{decision.node}[/bold] " + (f"cores {cores}" if cores else "keeps the replica"))
    for text, on in decision.pin.mounts.items():
        screen.print(f"  {text} on {', '.join(on)}")
