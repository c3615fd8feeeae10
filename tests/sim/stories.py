"""Short scenarios for the tests."""

from typing import Any

from fairlead.sim.events import Timeline
from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import Run, run
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story

NODES = [{"name": "n", "count": 4, "cpu": 4, "memory": "16Gi"}]


def told(**fields: Any) -> Timeline:
    """A story of one hour on four nodes of four cores, changed as given."""
    return story(scenario_of({"name": "test", "until": "1h", "cycle": "10s", "nodes": NODES, **fields}))


def done(policy: SimPolicy | None = None, **fields: Any) -> Run:
    """What came of it."""
    return run(told(**fields), policy or SimPolicy(name="communism"))


def workload(name: str, replicas: int, **fields: Any) -> dict[str, Any]:
    """Replicas of one core and a gigabyte."""
    return {"name": name, "replicas": replicas, "cpu": 1, "memory": "1Gi", **fields}
