"""A simulation as a person reads it: one row a measure, one column a policy."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from fairlead.sim.moments import span_text
from fairlead.sim.page import rows_of

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.sim.events import Story
    from fairlead.sim.run import Run


def draw(screen: "Console", told: "Story", runs: "Sequence[Run]") -> None:
    """Print the comparison."""
    outages = sum(len(outage.rows) for outage in told.outages if outage.at_ms < told.until_ms)
    screen.print(
        f"{told.name or 'Simulation'}: {span_text(told.until_ms)}, {len(told.nodes.names)} nodes, "
        f"{len(told.arrivals)} arrivals, {outages} nodes lost on the way, seed {told.seed}",
        markup=False,
    )
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for each in runs:
        table.add_column(each.policy.name, justify="right")
    for title, *cells in rows_of([each.record for each in runs]):
        table.add_row(title, *cells)
    screen.print(table)
