"""`fairlead balance`: storage replicas on nodes and disks."""

from typing import TYPE_CHECKING

import click

from fairlead.cli.output import output_option
from fairlead.cli.verb import file_option, run

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.levels.disk.balance import Balance
    from fairlead.problems.balance import Problem


@click.command("balance")
@file_option()
@output_option()
def command(source: str, output: str | None) -> int:
    """Put storage replicas on nodes and disks so that what stays usable is even."""
    from fairlead.problems import balance

    return run(balance, source, output, table)


def table(screen: "Console", problem: "Problem", decision: "Balance") -> None:
    """The placements."""
    for each in decision.placed:
        screen.print(f"{each.node}/{each.disk}")
