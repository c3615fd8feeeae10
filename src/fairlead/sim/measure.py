"""What a run is judged by: sums over time, and samples at equal distances for the charts."""

from collections.abc import Iterable
from dataclasses import field
from typing import Any

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.evenness import fairness
from fairlead.kernel.imbalance import jain
from fairlead.model.columns import Int, ints
from fairlead.model.order import natural_key
from fairlead.model.queuestate import PODS
from fairlead.sim.cluster import SimCluster
from fairlead.sim.turns import SimTurns

SAMPLES = 240
MOST_SHARES = 24
MILLION = 10**6


@dataclass(slots=True)
class Series:
    """Samples in step with one another; `time_s` is seconds from the start, shares are from 0 to 1."""

    time_s: list[float] = field(default_factory=list)
    use: list[float] = field(default_factory=list)
    evenness: list[float] = field(default_factory=list)
    fairness: list[float] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    resources: dict[str, list[float]] = field(default_factory=dict)
    """Of each resource the part that is used; pods are no resource here."""
    shares: dict[tuple[str, str], "Shares"] = field(default_factory=dict)
    """By ("queue", name) or ("namespace", name); only the first `MOST_SHARES` are followed."""


@dataclass(slots=True)
class Shares:
    """By resource, the parts of the whole that a queue or namespace has and deserves."""

    used: dict[str, list[float]]
    deserved: dict[str, list[float]]


class SimMeasures:
    """Follows one run. `advance` is told the time before anything changes, so that every sum is exact."""

    def __init__(self, until_ms: int, *, shared: bool = False) -> None:
        """`shared`: what queues and namespaces have and deserve is sampled too, which costs a sharing each time."""
        self.series = Series()
        self.evictions = 0
        self.preemptions = 0
        self.moves = 0
        self.completed = 0
        self.placed = 0
        self.now = 0
        self._shared = shared
        self._every = max(until_ms // SAMPLES, 1)
        self._next = 0
        self._used = 0
        self._whole = 0
        self._replicas = 0
        self._on_demand = 0
        self._lacking = 0
        self._waits: dict[str, dict[int, int]] = {}

    def advance(self, now: int, cluster: SimCluster, turns: SimTurns, waiting: dict[str, int]) -> None:
        """The state has been what it is until `now`; `waiting` are replicas by namespace."""
        while self._next < now:
            self._sample(self._next, cluster, turns, waiting)
            self._next += self._every
        span = now - self.now
        if span:
            column = cluster.state.column("cpu")
            if column is not None:
                self._used += span * int(cluster.used[column])
                self._whole += span * int(cluster.whole[column])
            self._replicas += span * cluster.replicas
            self._on_demand += span * cluster.replicas_on_demand
            self._lacking += span * sum(waiting.values())
            self.now = now

    def waited(self, namespace: str, waits: Iterable[tuple[int, int]]) -> None:
        """Replicas that started (or still wait at the end), with how long they waited."""
        own = self._waits.setdefault(namespace, {})
        for wait, count in waits:
            own[wait] = own.get(wait, 0) + count

    def record(self) -> dict[str, Any]:
        """The measures as plain values; times in seconds, shares from 0 to 1."""
        series = self.series
        # Where no job waits nothing is unfair.
        contended = [fair for fair, wait in zip(series.fairness, series.waiting, strict=True) if wait]
        return {
            "evenness": _mean(series.evenness),
            "fairness": _mean(contended) if contended else 1.0,
            "waiting": self._waiting(),
            "waitingByNamespace": {name: _waits(self._waits[name]) for name in sorted(self._waits, key=natural_key)},
            "running": _ratio(self._replicas, self._replicas + self._lacking),
            "placed": self.placed,
            "completed": self.completed,
            "evictions": self.evictions,
            "preemptions": self.preemptions,
            "moves": self.moves,
            "onDemandShare": _ratio(self._on_demand, self._replicas),
            "utilisation": _ratio(self._used, self._whole),
        }

    def _waiting(self) -> dict[str, float]:
        everybody: dict[int, int] = {}
        for own in self._waits.values():
            for wait, count in own.items():
                everybody[wait] = everybody.get(wait, 0) + count
        return _waits(everybody)

    def _sample(self, at: int, cluster: SimCluster, turns: SimTurns, waiting: dict[str, int]) -> None:
        use = _node_use(cluster)
        column = cluster.state.column("cpu")
        whole = int(cluster.whole[column]) if column is not None else 0
        self.series.time_s.append(at / 1000)
        self.series.use.append(round(int(cluster.used[column]) / whole, 4) if column is not None and whole else 0.0)
        self.series.evenness.append(round(jain(use), 4))
        self.series.fairness.append(round(_fairness(cluster, turns, waiting), 4))
        self.series.waiting.append(sum(waiting.values()))
        self.series.nodes.append(int((~cluster.state.unschedulable).sum()))
        self._sample_resources(cluster)
        if self._shared:
            self._sample_shares(cluster, turns)

    def _sample_resources(self, cluster: SimCluster) -> None:
        for column, name in enumerate(cluster.state.resources):
            if name != PODS and cluster.state.allocatable[:, column].any():
                self.series.resources.setdefault(name, []).append(_part(cluster, column, cluster.used[column]))

    def _sample_shares(self, cluster: SimCluster, turns: SimTurns) -> None:
        """What each queue and namespace has and deserves; one that comes later has had and deserved nothing before."""
        names, shares = self.series.resources, self.series.shares
        before = len(self.series.time_s) - 1
        standing = {(each.kind, each.name): each for each in turns.standing(cluster.shared)}
        for key in standing:
            if key not in shares and len(shares) < MOST_SHARES:
                shares[key] = Shares({name: [0.0] * before for name in names}, {name: [0.0] * before for name in names})
        for key, own in shares.items():
            now = standing.get(key)
            for name in names:
                column = cluster.state.resources.index(name)
                own.used[name].append(_part(cluster, column, now.used.get(name, 0) if now else 0))
                own.deserved[name].append(_part(cluster, column, now.deserved.get(name, 0) if now else 0))


def _part(cluster: SimCluster, column: int, amount: int) -> float:
    whole = int(cluster.whole[column])
    return round(int(amount) / whole, 4) if whole else 0.0


def _waits(counts: dict[int, int]) -> dict[str, float]:
    """Mean, 95th percentile and longest of waits in milliseconds, in seconds."""
    total = sum(counts.values())
    if not total:
        return {"mean": 0.0, "p95": 0.0, "max": 0.0}
    ordered = sorted(counts.items())
    mean = sum(wait * count for wait, count in ordered) / total
    seen = np.cumsum([count for _, count in ordered])
    edge = int(np.searchsorted(seen, -(-total * 95 // 100)))
    return {"mean": round(mean / 1000, 3), "p95": ordered[edge][0] / 1000, "max": ordered[-1][0] / 1000}


def _node_use(cluster: SimCluster) -> Int:
    """Per node that is up the fullest of cpu and memory, in millionths."""
    state = cluster.state
    up = ~state.unschedulable
    use = np.zeros(int(up.sum()), dtype=np.int64)
    for name in ("cpu", "memory"):
        column = state.column(name)
        if column is not None:
            offered = np.maximum(state.allocatable[up, column], 1)
            use = np.maximum(use, state.used[up, column] * MILLION // offered)
    return use


def _fairness(cluster: SimCluster, turns: SimTurns, waiting: dict[str, int]) -> float:
    held: dict[str, Int] = {}
    for (_, namespace), amounts in turns.held.items():
        held[namespace] = held.get(namespace, 0) + ints(amounts)
    wanting = {name for name, count in waiting.items() if count}
    return fairness(held, cluster.whole, turns.resources, turns.weights, wanting)


def _mean(values: list[float]) -> float:
    return round(sum(values) / len(values), 4) if values else 1.0


def _ratio(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
