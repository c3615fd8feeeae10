"""What happens from outside, the same for every policy. Times are milliseconds from the start."""

from collections.abc import Iterator, Mapping
from dataclasses import field

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.claims import SiteVolumes, WorkloadClaims
from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population
from fairlead.model.queuestate import QueueEntry
from fairlead.model.quotas import NamespaceQuota
from fairlead.model.tiers import Tiers
from fairlead.model.workload import Workload

NEVER = 2**62
"""The moment at which a node comes back that does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A workload is asked for. Each replica runs for `duration_ms`, for ever where it is None.

    `tier` is the wish in words: `on-demand` (required), `spot` (preferred), or empty; a minimum on demand is
    part of the workload.
    """

    at_ms: int
    workload: Workload
    duration_ms: int | None = None
    tier: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A workload (by title) is asked for with another number of replicas; 0 ends it."""

    at_ms: int
    title: str
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Nodes (rows) go away with what runs on them; they come back empty at `back_ms`, never where it is None.

    A node that several outages keep away is back when the last of them ends; one that was cordoned stays so.
    """

    at_ms: int
    rows: tuple[int, ...]
    back_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A scenario ready to run: the cluster at the start, and everything that happens to it, by time."""

    name: str
    seed: int
    until_ms: int
    cycle_ms: int
    nodes: NodeState
    population: Population = Population()
    fixed: int = 0
    """The first so many replicas of the population belong to their node."""
    fixed_used: Int | None = None
    """What these use of each node, which is not shared; None is nothing."""
    queues: tuple[QueueEntry, ...] = ()
    weights: dict[str, int] = field(default_factory=dict)
    arrivals: tuple[Arrival, ...] = ()
    scales: tuple[Scale, ...] = ()
    outages: tuple[Outage, ...] = ()
    tiers: Tiers = Tiers()
    quotas: tuple[NamespaceQuota, ...] = ()
    """What the jobs of a namespace may hold together."""
    claims: Mapping[str, WorkloadClaims] = field(default_factory=dict)
    """By workload key, what volume claims demand of the nodes."""
    attached: SiteVolumes = SiteVolumes()

    def labels(self) -> list[tuple[int, str]]:
        """What happens from outside, apart from arrivals, in a few words, by time."""
        found: list[tuple[int, str]] = []
        for at_ms, over, count in self._comings():
            one, several = ("1 node is back", "nodes are back") if over else ("1 node goes", "nodes go")
            found.append((at_ms, one if count == 1 else f"{count} {several}"))
        found += [(scale.at_ms, f"{scale.title} has {scale.replicas} replicas") for scale in self.scales]
        return sorted(each for each in found if each[0] < self.until_ms)

    @property
    def lost(self) -> int:
        """How many nodes go before the end, one that comes back and goes again as two."""
        return sum(count for at_ms, over, count in self._comings() if not over and at_ms < self.until_ms)

    def _comings(self) -> Iterator[tuple[int, bool, int]]:
        """When so many nodes go, or are back: (milliseconds, whether they are back, how many). One that is away
        already, or was cordoned, does not go."""
        away = dict.fromkeys(np.flatnonzero(self.nodes.unschedulable).tolist(), NEVER)
        ends = [(each.back_ms, True, row) for row, each in enumerate(self.outages) if each.back_ms is not None]
        for at_ms, over, row in sorted([*((each.at_ms, False, row) for row, each in enumerate(self.outages)), *ends]):
            outage = self.outages[row]
            if over:
                there = [node for node in outage.rows if away.get(node, NEVER) <= at_ms]
                for node in there:
                    del away[node]
            else:
                there = [node for node in outage.rows if node not in away]
                back_ms = NEVER if outage.back_ms is None else outage.back_ms
                away |= {node: max(away.get(node, 0), back_ms) for node in outage.rows}
            if there:
                yield at_ms, over, len(there)
