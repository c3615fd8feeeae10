"""`simulate`: a scenario under policies, side by side."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from fairlead.api.answer import Answer
from fairlead.api.plain import PathLike, file_bytes
from fairlead.api.scenario import Scenario, policies_of, story_of
from fairlead.api.snapshot import Config, settings_of
from fairlead.pictures.html import simulation as simulation_html
from fairlead.pictures.simulation import draw
from fairlead.sim.events import Timeline
from fairlead.sim.report import record
from fairlead.sim.run import Run, run


class SimulationAnswer(Answer):
    """What came of a scenario under each policy."""

    def __init__(self, story: Timeline, runs: Sequence[Run], notes: Sequence[str]) -> None:
        result = record(story, runs)
        super().__init__(
            result, lambda screen: draw(screen, story, runs), partial(simulation_html.picture, story, result)
        )
        self.notes = tuple(notes)
        """What was left out, in sentences."""

    @property
    def policies(self) -> dict[str, dict[str, Any]]:
        """The measures of each policy by its name, with their `series` over time."""
        found: list[dict[str, Any]] = self._value("policies", [])
        return {each["policy"]: each for each in found}

    @property
    def events(self) -> list[dict[str, Any]]:
        """What happened on the way: `at` seconds and a `label`."""
        return self._value("events", [])


def simulate(
    scenario: Scenario,
    *,
    policies: Scenario | Sequence[Scenario] = (),
    trace: PathLike = "",
    seed: int | None = None,
    until: str = "",
    config: Config = None,
) -> SimulationAnswer:
    """Let a scenario (a file or a mapping) happen to a cluster in memory under each policy.

    A policy is a name that is always there (`fairlead simulate --help`), a file or a mapping; `trace` is a CSV of more
    arrivals; `seed` and `until` take the place of the scenario's. The same scenario and seed give the same numbers.
    """
    notes: list[str] = []
    given = policies if isinstance(policies, Sequence) and not isinstance(policies, str) else [policies]
    story = story_of(
        scenario, settings_of(config), trace=trace, seed=seed, until=until, read=file_bytes, tell=notes.append
    )
    runs = [run(story, policy) for policy in policies_of(given, file_bytes)]
    if any(each.interrupted for each in runs):
        raise KeyboardInterrupt
    return SimulationAnswer(story, runs, notes)
