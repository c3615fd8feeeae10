"""One simulated day at three sizes, in processor time of one core; the largest has 5,000 nodes and 200,000 arrivals."""

from time import process_time
from typing import Any

from bench.goals import Figure
from bench.measure import Report
from fairlead.sim.events import Timeline
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import run as simulate
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story

SIZES = ((500, 20_000), (1_500, 60_000), (5_000, 200_000))


def day(nodes: int, arrivals: int, duration: str) -> Timeline:
    """A day of batch work in three namespaces on a cluster that is half spot."""
    return story(
        scenario_of(
            {
                "name": "a day",
                "nodes": [
                    {"name": "od", "count": nodes // 2, "cpu": 16, "memory": "64Gi", "tier": "on-demand"},
                    {"name": "spot", "count": nodes - nodes // 2, "cpu": 16, "memory": "64Gi", "tier": "spot"},
                ],
                "namespaces": {"a": 3, "b": 2},
                "generate": [
                    {
                        "name": "batch",
                        "arrivals": arrivals,
                        "replicas": [1, 8],
                        "cpu": ["500m", "1", "2"],
                        "memory": ["1Gi", "4Gi", "6Gi"],
                        "duration": duration,
                        "namespaces": {"a": 1, "b": 1, "c": 2},
                    }
                ],
                "lives": [{"tier": "spot", "meanLife": "20d", "back": "10m"}],
            }
        )
    )


ROOM, CONTEST = "90m", "3h"
"""How long a job runs: with room for all, and so that half must wait."""


def run(report: Report) -> None:
    """Days with room for everybody, and days in which half must wait."""
    rows = []
    for nodes, arrivals in SIZES:
        for words, duration in (("room for all", ROOM), ("half must wait", CONTEST)):
            took, record = _simulated(nodes, arrivals, duration)
            rows.append(
                [
                    f"{nodes:,}",
                    f"{arrivals:,}",
                    words,
                    f"{took:.1f} s",
                    f"{took / arrivals * 1e6:.0f} µs",
                    f"{record['utilisation'] * 100:.0f} %",
                    f"{record['waiting']['mean']:.0f} s",
                    str(record["completed"]),
                ]
            )
    report.table(
        "A day of arrivals of 1 to 8 replicas; the target of the largest is 30 s",
        ["nodes", "arrivals", "", "took", "an arrival", "use", "mean wait", "completed"],
        rows,
    )


def _simulated(nodes: int, arrivals: int, duration: str) -> tuple[float, dict[str, Any]]:
    """Seconds of one core, and the record."""
    told = day(nodes, arrivals, duration)
    start = process_time()
    record = simulate(told, SimPolicy(name="communism")).record
    return process_time() - start, record


def room_for_all() -> Figure:
    """Seconds of a day in which nothing waits long."""
    return _days(ROOM)


def half_must_wait() -> Figure:
    """Seconds of a day in which the cluster is full."""
    return _days(CONTEST)


def _days(duration: str) -> Figure:
    return Figure(
        sizes=tuple(f"{nodes:,} nodes, {arrivals:,} arrivals" for nodes, arrivals in SIZES),
        values=tuple(_simulated(nodes, arrivals, duration)[0] for nodes, arrivals in SIZES),
    )
