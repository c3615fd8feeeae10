"""A simulation as plain JSON values."""

from collections.abc import Sequence
from typing import Any

from fairlead.sim.events import Timeline
from fairlead.sim.measure import Series
from fairlead.sim.run import Run


def record(timeline: Timeline, runs: Sequence[Run]) -> dict[str, Any]:
    """The scenario in a few numbers, and each policy with its measures and samples."""
    return {
        "scenario": timeline.name,
        "seed": timeline.seed,
        "seconds": timeline.until_ms / 1000,
        "nodes": len(timeline.nodes.names),
        "arrivals": len(timeline.arrivals),
        "outages": timeline.lost,
        "interrupted": any(each.interrupted for each in runs),
        "events": [{"at": at_ms / 1000, "label": label} for at_ms, label in timeline.labels()],
        "policies": [{**each.record, "series": _series(each)} for each in runs],
    }


def _series(each: Run) -> dict[str, Any]:
    series = each.series
    return {
        "time": series.time_s,
        "use": series.use,
        "evenness": series.evenness,
        "fairness": series.fairness,
        "waiting": series.waiting,
        "nodes": series.nodes,
        "resources": series.resources,
        **({"shares": _shares(series)} if series.shares else {}),
    }


def _shares(series: Series) -> list[dict[str, Any]]:
    """Parts of the whole, by resource, of each queue and namespace that was followed."""
    return [
        {"kind": kind, "name": name, "used": own.used, "deserved": own.deserved}
        for (kind, name), own in series.shares.items()
    ]
