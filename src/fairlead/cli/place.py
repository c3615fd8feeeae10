"""`fairlead place`: replicas onto nodes, with cores and volumes."""

from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.output import output_option
from fairlead.cli.verb import file_option, run

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@file_option()
@output_option()
def command(source: str, output: str | None) -> int:
    """Place replicas on nodes, with cores and volumes (node)."""
    from fairlead.problems import place

    return run(place, source, output, _table)


def _table(screen: "Console", problem: Any, decision: Any) -> None:
    screen.print(decision.placements)
