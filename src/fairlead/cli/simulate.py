"""`fairlead simulate`: a scenario under one or more policies, side by side."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairlead.cli.configured import config_option, plan_settings
from fairlead.cli.main import EXIT_INTERRUPTED, EXIT_OK
from fairlead.cli.output import chosen, console, json_text, output_option, write_file, yaml_text
from fairlead.cli.progress import progress
from fairlead.cli.verb import read
from fairlead.model.errors import InputError
from fairlead.model.progress import OnProgress

if TYPE_CHECKING:
    from fairlead.engine.plan_settings import PlanSettings
    from fairlead.model.snapshot import Site
    from fairlead.sim.events import Arrival, Timeline
    from fairlead.sim.policy import SimPolicy
    from fairlead.sim.run import Run


@click.command(
    "simulate",
    epilog="""
\b
Examples:
  fairlead simulate examples/spot-wave/scenario.yaml
  fairlead simulate examples/gpu-queue/scenario.yaml --policy communism --policy examples/gpu-queue/fifo.yaml
  fairlead simulate scenario.yaml --trace day.csv --policy global-greedy --policy bin-pack --html report.html
  fairlead simulate scenario.yaml --seed 7 --until 2h -o json

\b
Policies that are always there: communism, global-greedy, most-free, spread, bin-pack, first-fit.
""",
)
@click.argument("scenario", metavar="SCENARIO")
@click.option("--policy", "policies", multiple=True, metavar="NAME|FILE", help="A policy (repeatable).  [communism]")
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
    """The scenario of a file, ready to run."""
    from fairlead.sim.durations import milliseconds
    from fairlead.sim.scenario import scenario_of
    from fairlead.sim.timeline import story

    value, place = _document(source)
    until_ms = milliseconds(until, "--until") if until else None
    beside = Path(source).parent if source != "-" else Path()
    try:
        written = scenario_of(value)
    except InputError as error:
        raise error.within(place) from None
    arrivals = [
        *(_trace(str(beside / written.trace)) if written.trace else []),
        *(_trace(trace) if trace else []),
    ]
    settings = plan_settings(config)
    site = _site(tuple(str(beside / each) for each in written.manifests), settings) if written.manifests else None
    try:
        return story(written, site=site, trace=arrivals, seed=seed, until_ms=until_ms, choice=settings.tiers)
    except InputError as error:
        raise (error.within(place) if error.path.startswith("$") else error) from None


def _document(source: str) -> tuple[Any, str]:
    """The one document of a file, and its place for errors."""
    from fairlead.text.documents import documents

    found = list(documents(read(source), source))
    for each in found:
        if isinstance(each, InputError):
            raise each
    if len(found) != 1:
        raise InputError(source, f"{len(found)} documents; expected one")
    document = found[0]
    assert not isinstance(document, InputError)  # raised above
    return document.value, document.place


def _trace(source: str) -> "list[Arrival]":
    from fairlead.sim.trace import read_trace

    arrivals, errors = read_trace(read(source), source)
    for error in errors:
        click.echo(f"fairlead: {error}", err=True)
    if errors:
        raise InputError(source, f"{len(errors)} lines of the trace cannot be used; nothing was simulated")
    return arrivals


def _site(sources: tuple[str, ...], settings: "PlanSettings") -> "Site":
    from fairlead.cli.plan import read as read_manifests

    _, view = read_manifests(sources, strict=True, settings=settings)
    if len(view.sites) != 1 or view.divided:
        names = ", ".join(site.name for site in view.sites)
        raise InputError(
            "$.manifests",
            f"a fleet (clusters {names}; {len(view.divided)} divided workloads) is not simulated; "
            "expected one cluster, with the replicas that fairlead plan gives it",
        )
    if view.sites[0].volumes:
        click.echo(
            f"fairlead: {len(view.sites[0].volumes)} Longhorn volumes are left out: disks are not simulated", err=True
        )
    return view.sites[0]


def policies_of(names: tuple[str, ...]) -> "list[SimPolicy]":
    """The policies by name or file, each once."""
    from fairlead.sim.policy import STRATEGIES, named, policy_of

    result: list[SimPolicy] = []
    for name in names or ("communism",):
        policy = named(name)
        if policy is None and not Path(name).exists():
            raise InputError("--policy", f"{name!r} is neither a file nor one of {', '.join(STRATEGIES)}")
        if policy is None:
            value, place = _document(name)
            try:
                policy = policy_of(value, Path(name).stem)
            except InputError as error:
                raise error.within(place) from None
        if any(policy.name == other.name for other in result):
            raise InputError("--policy", f"{policy.name!r} is there twice; expected distinct names")
        result.append(policy)
    return result


def _print(timeline: "Timeline", runs: "list[Run]", form: str) -> None:
    from fairlead.sim.report import record

    if form == "table":
        from fairlead.cli.simulation import draw

        draw(console(), timeline, runs)
    else:
        result = record(timeline, runs)
        click.echo(json_text(result) if form == "json" else yaml_text(result))
