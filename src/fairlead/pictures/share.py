"""A sharing: queues and namespaces as bars, then the jobs that wait."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fairlead.pictures.counts import many

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from fairlead.levels.queue.result import Amounts, Sharing

WIDTH = 40
"""Characters of a bar that stands for the whole."""
MOST_JOBS = 40
"""Waiting jobs listed one by one."""


def picture(screen: "Console", problem: Any, decision: "Sharing", *, wide: bool = False) -> None:
    """For each queue and its namespaces a bar a resource: used, deserved and asked for, as parts of the whole.

    `wide` lists every job that waits.
    """
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for head in ("queue", "namespace", "weight"):
        table.add_column(head)
    table.add_column("")
    for head in ("used", "deserved", "asked"):
        table.add_column(head, justify="right")
    widest = _widest(decision)
    for queue in decision.queues:
        _row(table, (queue.name, "", ""), queue.deserved, queue.allocated, queue.requested, widest)
        if queue.finding is not None:
            table.add_row("", "", "", f"[red]{escape(queue.finding.sentence)}[/red]")
        for row in decision.namespaces:
            if row.queue == queue.name:
                names = ("", row.namespace, str(row.weight))
                _row(table, names, row.fair, row.allocated, row.requested, widest)
    waiting = sum(1 for job in decision.jobs if job.pending)
    jobs, pending = many(len(decision.jobs), "job"), many(decision.unplaced, "replica")
    screen.print(f"[bold]{jobs}[/bold]: {waiting} wait, {pending} pending")
    screen.print(table)
    screen.print("█ used  ▒ used beyond what is deserved  ░ deserved and not used  · asked for", style="dim")
    _jobs(screen, decision, len(decision.jobs) if wide else MOST_JOBS)


def _widest(decision: "Sharing") -> dict[str, int]:
    """For each resource what a full bar stands for."""
    return {
        name: max([1, *(max(row.requested[name], row.allocated[name]) for row in decision.queues)])
        for name in decision.resources
    }


def _row(
    table: "Table",
    names: Sequence[str],
    deserved: "Amounts",
    used: "Amounts",
    asked: "Amounts",
    widest: dict[str, int],
) -> None:
    """One line a resource; names only on the first."""
    from rich.markup import escape

    from fairlead.model.amounts import quantity

    for number, name in enumerate(deserved):
        label = names if number == 0 else ("", "", "")
        amounts = [f"{quantity(name, each[name])} {name}" for each in (used, deserved, asked)]
        table.add_row(*map(escape, label), bar(used[name], deserved[name], asked[name], widest[name]), *amounts)


def bar(used: int, deserved: int, asked: int, whole: int) -> "Text":
    """A bar of at most WIDTH characters."""
    from rich.text import Text

    def length(amount: int) -> int:
        return min(WIDTH, -(-amount * WIDTH // whole))

    fair, beyond = length(min(used, deserved)), length(used) - length(min(used, deserved))
    missing = max(0, length(min(deserved, asked)) - fair - beyond)
    wish = max(0, length(asked) - fair - beyond - missing)
    return (
        Text("█" * fair, style="cyan")
        + Text("▒" * beyond, style="yellow")
        + Text("░" * missing, style="red")
        + Text("·" * wish, style="dim")
    )


def _jobs(screen: "Console", decision: "Sharing", most: int) -> None:
    """The jobs that wait, with the stage that stops them, and who is evicted."""
    from fairlead.engine.explain_queue import replicas

    waiting = [job for job in decision.jobs if job.pending]
    for job in waiting[:most]:
        reason = f"{job.finding.sentence} ({job.finding.code})" if job.finding is not None else ""
        screen.print(f"{job.name}: {job.admitted} admitted, {job.pending} wait; {reason}", markup=False)
    if len(waiting) > most:
        screen.print(f"… and {len(waiting) - most} more jobs that wait", style="dim")
    for victim in decision.victims:
        gone = f"{replicas(victim.count)} of {victim.job}"
        screen.print(f"{victim.action}: {gone} must go for {victim.beneficiary}", markup=False)
    if decision.reserved is not None:
        screen.print(f"room is kept for {decision.reserved}", markup=False)
