"""`fairlead simulate`: a scenario under one or more policies, side by side."""

from functools import partial
from typing import TYPE_CHECKING

import click

from fairlead.cli.completing import policies_option
from fairlead.cli.configured import config_option, plan_settings
from fairlead.cli.main import EXIT_INTERRUPTED, EXIT_OK
from fairlead.cli.output import chosen, console, output_option, write_file, write_record
from fairlead.cli.progress import progress
from fairlead.cli.verb import read
from fairlead.model.progress import OnProgress

if TYPE_CHECKING:
    from fairlead.sim.events import Timeline
    from fairlead.sim.policy import SimPolicy
    from fairlead.sim.run import Run


@click.command(
    "simulate",
    epilog="""
\b
Examples:
  fairlead simulate examples/spot-wave/scenario.yaml
  fairlead simulate examples/gpu-queue/scenario.yaml --policy auto --policy examples/gpu-queue/fifo.yaml
  fairlead simulate scenario.yaml --trace day.csv --policy global-greedy --policy bin-pack --html report.html
  fairlead simulate scenario.yaml --seed 7 --until 2h -o json

\b
Policies that are always there: auto (also called communism), global-greedy, most-free, spread, bin-pack,
first-fit.
""",
)
@click.argument("scenario", metavar="SCENARIO")
@policies_option("A policy (repeatable).  [auto]")
@click.option("--trace", default="", metavar="FILE", help="Arrivals in CSV, besides those of the scenario.")
@click.option("--seed", type=int, default=None, help="Another seed than the scenario's.")
@click.option("--until", default="", metavar="TIME", help="Another end than the scenario's, such as 90m.")
@config_option
@click.option("--html", default="", metavar="FILE", help="Write a report with charts, in one file.")
@output_option()
def command(
    scenario: str,
    policies: tuple[str, ...],
    trace: str,
    seed: int | None,
    until: str,
    config: str | None,
    html: str,
    output: str | None,
) -> int:
    """Let a scenario happen to a cluster in memory, and measure what comes of it under each policy.

    Placing asks the same functions as `fairlead plan`. The same scenario and seed give the same numbers everywhere.
    Ctrl-C prints what there is so far.
    """
    from fairlead.sim.film import Film
    from fairlead.sim.run import run

    timeline = story_of(scenario, trace, seed, until, config)
    chosen_policies = policies_of(policies)
    runs: list[Run] = []
    films = {policy.name: Film(timeline) for policy in chosen_policies} if html else {}
    for policy in chosen_policies:
        with progress() as drawn:
            on_progress = partial(follow, drawn, policy.name, timeline.until_ms)
            runs.append(run(timeline, policy, on_progress, film=films.get(policy.name)))
        if runs[-1].interrupted:
            break
    _print(timeline, runs, chosen(output))
    if html:
        from fairlead.web.saved import simulation_file

        write_file(html, simulation_file(timeline, runs, films))
    if runs[-1].interrupted:
        click.echo("fairlead: interrupted; the numbers end where the simulation was", err=True)
        return EXIT_INTERRUPTED
    return EXIT_OK


def follow(drawn: OnProgress, name: str, until_ms: int, now: int) -> None:
    """Draw how far a run is."""
    drawn(name, now, until_ms)


def story_of(source: str, trace: str, seed: int | None, until: str, config: str | None = None) -> "Timeline":
    """The scenario of a file, ready to run; what it leaves out is told on standard error."""
    from fairlead.api.scenario import story_of

    def tell(words: str) -> None:
        click.echo(f"fairlead: {words}", err=True)

    return story_of(source, plan_settings(config), trace=trace, seed=seed, until=until, read=read, tell=tell)


def policies_of(names: tuple[str, ...]) -> "list[SimPolicy]":
    """The policies by name or file, each once."""
    from fairlead.api.scenario import policies_of

    return policies_of(names, read)


def _print(timeline: "Timeline", runs: "list[Run]", form: str) -> None:
    from fairlead.sim.report import record

    if form == "table":
        from fairlead.pictures.simulation import draw

        draw(console(), timeline, runs)
    else:
        result = record(timeline, runs)
        write_record(result, form)
