"""A simulation for a notebook: the measures of each policy, and what they come from over time."""

from collections.abc import Mapping
from typing import Any

from fairlead.pictures.html.parts import Html, chart, joined, table
from fairlead.pictures.simulation import rows_of
from fairlead.sim.durations import span_text
from fairlead.sim.events import Timeline


def picture(story: Timeline, record: Mapping[str, Any]) -> Html:
    """A table and a chart for each series worth a look; of resources those that are used."""
    policies = {each["policy"]: each for each in record["policies"]}
    heads = (f"{story.name or 'Simulation'}, {span_text(story.until_ms)}", *policies)
    times = {name: each["series"]["time"] for name, each in policies.items()}
    resources = dict.fromkeys(name for each in policies.values() for name in each["series"]["resources"])
    charts = {
        **{f"use of {name}": _resource(policies, name) for name in resources if name != "pods"},
        "replicas that wait": {name: each["series"]["waiting"] for name, each in policies.items()},
    }
    return joined(
        (
            table("", heads, rows_of(record["policies"])),
            *(chart(title, times, lines) for title, lines in charts.items() if any(map(any, lines.values()))),
        )
    )


def _resource(policies: Mapping[str, Any], resource: str) -> dict[str, list[float]]:
    return {
        name: each["series"]["resources"].get(resource, [0.0] * len(each["series"]["time"]))
        for name, each in policies.items()
    }
