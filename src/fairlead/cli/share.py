"""`fairlead share`: a cluster between queues, namespaces and jobs."""

from typing import TYPE_CHECKING

import click

from fairlead.cli.output import output_option
from fairlead.cli.verb import file_option, run

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.levels.queue.result import Sharing
    from fairlead.problems.share import Problem


@click.command("share")
@file_option()
@output_option()
def command(source: str, output: str | None) -> int:
    """Share a cluster between queues, then namespaces, then jobs: whose turn it is, and how far everybody gets."""
    from fairlead.problems import share

    return run(share, source, output, picture)


def picture(screen: "Console", problem: "Problem", decision: "Sharing") -> None:
    """Bars."""
    screen.print(str(decision))
