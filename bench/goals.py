"""What is wanted of Fairlead's speed, one goal a line of the table that `python -m bench` writes.

A goal names the function that measures it, `module:function` under bench/, imported when it is asked for. The function
takes nothing and returns a `Figure`: the same work at growing sizes, so that growth is seen and not only time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One work at growing sizes; the last size is the one that the goal is about."""

    sizes: tuple[str, ...]
    values: tuple[float, ...]
    note: str = ""
    """What else was measured in the same run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """`bound` is the most that is wanted of the last value, or the least where `more` is better."""

    work: str
    unit: str
    bound: float
    where: str
    more: bool = False
    live: bool = False
    """Needs the binaries of the control plane."""
    peers: str = ""
    """What others take for the same, or took, and before."""

    def measure(self) -> Figure:
        """Run it."""
        module, _, name = self.where.partition(":")
        return cast(Callable[[], Figure], getattr(import_module(f"bench.{module}"), name))()

    def met(self, figure: Figure) -> bool:
        """Whether the last size is as wanted."""
        last = figure.values[-1]
        return last >= self.bound if self.more else last <= self.bound


GOALS = {
    "global": Goal(
        work="`global`: 100,000 nodes, 1,000,000 replicas",
        unit="ms",
        bound=40,
        where="node:last_lap",
        peers="eru (Go) 690 ms",
    ),
    "webster": Goal(
        work="one Karmada binding by Webster: 100 clusters, 1,000 replicas",
        unit="ms",
        bound=0.15,
        where="fleet:one_binding",
        peers="Karmada (Go) 0.29 ms",
    ),
    "volumes": Goal(
        work="one node of 32 volumes, requests of 4 sizes",
        unit="ms",
        bound=5,
        where="node:mixed_volumes",
    ),
    "volumes-proved": Goal(
        work="the same, proved best of 20",
        unit="of 20",
        bound=18,
        more=True,
        where="node:proved_volumes",
    ),
    "manifests": Goal(
        work="`plan`: 5,000 nodes, 100,000 pods, 44 MB of JSON",
        unit="s",
        bound=2,
        where="plan:from_file_to_text",
    ),
    "day": Goal(
        work="`simulate`: a day of 200,000 arrivals on 5,000 nodes, room for all",
        unit="s",
        bound=30,
        where="simulate:room_for_all",
    ),
    "contested-day": Goal(
        work="the same, half must wait",
        unit="s",
        bound=30,
        where="simulate:half_must_wait",
    ),
    "contested-turn": Goal(
        work="a contested turn: 10,000 waiting jobs, 5,000 nodes",
        unit="s",
        bound=0.5,
        where="turns:contested",
    ),
    "first-bind": Goal(
        work="from the start of the scheduler to its first bind: 5,000 nodes, 100,000 pods, processor time",
        unit="s",
        bound=4,
        where="startup:to_first_bind",
    ),
    "ceiling": Goal(
        work="5,000 pods of 50 controllers on 1,000 nodes, start to last bind, over a Go loop of the same writes",
        unit="×",
        bound=0.85,
        more=True,
        live=True,
        where="scheduler:of_the_ceiling",
    ),
    "large-ceiling": Goal(
        work="the same, 10,000 pods on 5,000 nodes",
        unit="×",
        bound=0.9,
        more=True,
        live=True,
        where="scheduler:of_the_large_ceiling",
    ),
    "bare-pods": Goal(
        work="5,000 bare pods on 1,000 nodes, processor time over that of pods with owners",
        unit="×",
        bound=1.1,
        live=True,
        where="scheduler:bare_beside_owned",
    ),
    "reviews": Goal(
        work="a review of a counted pod, bursts of Deployments, mean over that of one list and one write",
        unit="×",
        bound=1.3,
        live=True,
        where="admissions:of_a_list_and_a_write",
    ),
    "fleet-changed": Goal(
        work="1,000 bindings changed at once, over a bare loop of the same writes",
        unit="×",
        bound=0.7,
        more=True,
        live=True,
        where="fleet_live:of_a_bare_loop",
        peers="karmada-scheduler: 500 bindings in 73–79 s, recorded",
    ),
    "storage-placed": Goal(
        work="5,000 storage replicas that wait, from the start of the process, over a bare loop of the same writes",
        unit="×",
        bound=0.7,
        more=True,
        live=True,
        where="storage_live:of_a_bare_loop",
    ),
}
"""By the name that the command line takes."""
