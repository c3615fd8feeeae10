"""One simulated day at three sizes, in processor time of one core; the largest has 5,000 nodes and 200,000 arrivals."""

from time import process_time

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


def run(report: Report) -> None:
    """Days with room for everybody, and days in which half must wait."""
    policy = SimPolicy(name="communism")
    rows = []
    for nodes, arrivals in SIZES:
        for words, duration in (("room for all", "90m"), ("half must wait", "3h")):
            told = day(nodes, arrivals, duration)
            start = process_time()
            record = simulate(told, policy).record
            took = process_time() - start
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
