"""A simulation as a person reads it: one row a measure, one column a policy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from fairlead.engine.tier_parts import tier_names
from fairlead.pictures.counts import many
from fairlead.sim.durations import span_text

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.sim.events import Timeline
    from fairlead.sim.run import Run

MOST_NAMESPACES = 6
"""Of more namespaces than this the waits are not told one by one."""


def draw(screen: "Console", timeline: "Timeline", runs: "Sequence[Run]") -> None:
    """Print the comparison."""
    screen.print(
        f"{timeline.name or 'Simulation'}: {span_text(timeline.until_ms)}, {many(len(timeline.nodes.names), 'node')}, "
        f"{many(len(timeline.arrivals), 'arrival')}, {many(timeline.lost, 'node')} lost on the way, "
        f"seed {timeline.seed}",
        markup=False,
    )
    screen.print(timeline.tiers.sentence(tier_names(timeline.nodes, timeline.tiers)), markup=False)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for each in runs:
        table.add_column(escape(each.policy.name), justify="right")
    for title, *cells in rows_of([each.record for each in runs]):
        table.add_row(escape(title), *cells)
    screen.print(table)


def rows_of(policies: list[dict[str, Any]]) -> list[list[str]]:
    """The measures as text: a name, then a cell for each policy."""
    return [
        ["use of cpu", *(_percent(each["utilisation"]) for each in policies)],
        ["evenness of nodes", *(f"{each['evenness']:.3f}" for each in policies)],
        ["fairness of namespaces", *(f"{each['fairness']:.3f}" for each in policies)],
        ["waiting, mean", *(span_text(each["waiting"]["mean"] * 1000) for each in policies)],
        ["waiting, 95 of 100", *(span_text(each["waiting"]["p95"] * 1000) for each in policies)],
        ["waiting, longest", *(span_text(each["waiting"]["max"] * 1000) for each in policies)],
        *_by_namespace(policies),
        ["running of asked for", *(_percent(each["running"]) for each in policies)],
        ["on demand", *(_percent(each["onDemandShare"]) for each in policies)],
        ["evicted", *(str(each["evictions"]) for each in policies)],
        *(
            [["evicted for others", *(str(each["preemptions"]) for each in policies)]]
            if _any_preempted(policies)
            else []
        ),
        ["moved", *(str(each["moves"]) for each in policies)],
        ["completed", *(str(each["completed"]) for each in policies)],
        ["waiting at the end", *(str(each["unplaced"]) for each in policies)],
    ]


def _any_preempted(policies: list[dict[str, Any]]) -> bool:
    return any(each["preemptions"] for each in policies)


def _by_namespace(policies: list[dict[str, Any]]) -> list[list[str]]:
    """The mean wait of each namespace, where there are a few of them."""
    names = list(dict.fromkeys(name for each in policies for name in each["waitingByNamespace"]))
    if not 1 < len(names) <= MOST_NAMESPACES:
        return []
    nothing = {"mean": 0.0}
    return [
        [
            f"waiting, mean of {name}",
            *(span_text(each["waitingByNamespace"].get(name, nothing)["mean"] * 1000) for each in policies),
        ]
        for name in names
    ]


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
