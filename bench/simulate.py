"""One simulated day, in processor time of one core: 5,000 nodes and 200,000 arrivals."""

from time import process_time

from bench.measure import Report
from fairlead.sim.events import Timeline
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import run as simulate
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story

NODES, ARRIVALS = 5_000, 200_000


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


def run(report: Report) -> None:
    """A day with room for everybody, and one in which half must wait."""
    rows = []
    policy = SimPolicy(name="communism")
    for words, duration in (("room for all", "90m"), ("half must wait", "3h")):
        told = day(NODES, ARRIVALS, duration)
        start = process_time()
        record = simulate(told, policy).record
        took = process_time() - start
        rows.append(
            [
                words,
                f"{took:.0f} s",
                f"{took / ARRIVALS * 1e6:.0f} µs",
                f"{record['utilisation'] * 100:.0f} %",
                f"{record['waiting']['mean']:.0f} s",
                str(record["completed"]),
            ]
        )
    report.table(
        f"A day: {NODES:,} nodes, {ARRIVALS:,} arrivals of 1 to 8 replicas; the target is 300 s",
        ["", "took", "an arrival", "use", "mean wait", "completed"],
        rows,
    )
