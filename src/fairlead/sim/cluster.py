"""The nodes while time goes by: columns changed in place, and what runs where.

A `Batch` is what one decision placed of one part of one job; its replicas end together, or are lost node by node.
"""

from dataclasses import dataclass, replace

import numpy as np

from fairlead.engine.tier_parts import TierPart, on_demand_nodes
from fairlead.levels.node.group import NodeGroup, place_group
from fairlead.model.columns import Bool, Int
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_rank
from fairlead.model.population import Population, resident
from fairlead.model.shape import Shape
from fairlead.model.tiers import Tiers
from fairlead.sim.policy import STRATEGIES, SimPolicy
from fairlead.sim.population import SimPopulation

NOBODY = Population()


@dataclass(slots=True)
class Batch:
    """Replicas of one part, started at one instant: `counts[i]` of them on node `rows[i]`."""

    number: int
    job: str
    part: TierPart
    rows: Int
    counts: Int
    on_demand: int
    """How many of them stand on on-demand nodes."""

    @property
    def size(self) -> int:
        """Replicas in all."""
        return int(self.counts.sum())


class SimCluster:
    """Places, ends and loses replicas; keeps the sums that the measures need."""

    def __init__(
        self, nodes: NodeState, population: Population, policy: SimPolicy, tiers: Tiers, *, neighbourly: bool
    ) -> None:
        self.state = replace(nodes, used=nodes.used.copy(), unschedulable=nodes.unschedulable.copy())
        self.rank = natural_rank(nodes.names)
        self.policy = policy
        self.on_demand: Bool = on_demand_nodes(nodes, tiers)
        self.batches: dict[int, Batch] = {}
        self.replicas = 0
        self.replicas_on_demand = 0
        self.whole: Int = nodes.allocatable[~nodes.unschedulable].sum(axis=0)
        self.used: Int = nodes.used[~nodes.unschedulable].sum(axis=0)
        self._choose = STRATEGIES[policy.strategy]
        self._people = SimPopulation(population) if neighbourly else None
        self._here: list[set[int]] = [set() for _ in nodes.names]
        self._number = 0

    def vector(self, shape: Shape) -> Int:
        """What one replica asks for, by resource of the nodes; resources that no node has are left out."""
        request = dict(shape.request)
        return np.array([request.get(name, 0) for name in self.state.resources], dtype=np.int64)

    def place(self, job: str, part: TierPart, need: int, there: list[Batch]) -> Batch | None:
        """Place up to `need` replicas; None where no node takes one. `there` are the job's batches."""
        present = np.zeros(len(self.rank), dtype=np.int64)
        for batch in there:
            present[batch.rows] += batch.counts
        base, step = self._choose(self.state, part, present, self.rank)
        people = self._people.view() if self._people else NOBODY
        group = NodeGroup(shape=part.shape, need=need, base=base, step=step)
        counts = place_group(self.state, people, group, rank=self.rank).counts
        return self.put(job, part, counts)

    def put(self, job: str, part: TierPart, counts: Int) -> Batch | None:
        """Place replicas on these very nodes (`counts` by row), which have room for them; None for none."""
        rows = np.flatnonzero(counts)
        if not len(rows):
            return None
        counts = counts[rows]
        self._number += 1
        batch = Batch(self._number, job, part, rows, counts, int(counts[self.on_demand[rows]].sum()))
        self.batches[batch.number] = batch
        for row in rows.tolist():
            self._here[row].add(batch.number)
        self._count(part.shape, rows, counts, 1)
        return batch

    def end(self, batch: Batch) -> None:
        """All replicas of the batch are gone."""
        del self.batches[batch.number]
        for row in batch.rows.tolist():
            self._here[row].discard(batch.number)
        self._count(batch.part.shape, batch.rows, batch.counts, -1)

    def shrink(self, batch: Batch, count: int) -> None:
        """`count` replicas of the batch go: from the nodes that have most of it, later names first."""
        left = batch.counts.copy()
        for _ in range(count):
            most = np.flatnonzero(left == left.max())
            left[most[np.argmax(self.rank[batch.rows[most]])]] -= 1
        self._reduce(batch, left)

    def evict(self, batch: Batch, row: int, count: int) -> int:
        """Up to `count` replicas of the batch leave the node; how many did."""
        there = batch.rows == row
        gone = min(count, int(batch.counts[there].sum()))
        self._reduce(batch, np.where(there, batch.counts - gone, batch.counts))
        return gone

    def lose(self, rows: Int) -> list[tuple[Batch, int]]:
        """The nodes go: every batch that had replicas there, with how many it lost, oldest batch first."""
        rows = rows[~self.state.unschedulable[rows]]
        lost = []
        for number in sorted(set().union(*(self._here[row] for row in rows.tolist()))):
            batch = self.batches[number]
            gone = np.isin(batch.rows, rows)
            lost.append((batch, int(batch.counts[gone].sum())))
            self._reduce(batch, np.where(gone, 0, batch.counts))
        self.state.unschedulable[rows] = True
        self.whole = self.whole - self.state.allocatable[rows].sum(axis=0)
        self.used = self.used - self.state.used[rows].sum(axis=0)
        return lost

    def restore(self, rows: Int) -> None:
        """The nodes are back, empty but for what was never ours."""
        rows = rows[self.state.unschedulable[rows]]
        self.state.unschedulable[rows] = False
        self.whole = self.whole + self.state.allocatable[rows].sum(axis=0)
        self.used = self.used + self.state.used[rows].sum(axis=0)

    def _reduce(self, batch: Batch, left: Int) -> None:
        self._count(batch.part.shape, batch.rows, batch.counts - left, -1)
        for row in batch.rows[left == 0].tolist():
            self._here[row].discard(batch.number)
        batch.rows, batch.counts = batch.rows[left > 0], left[left > 0]
        batch.on_demand = int(batch.counts[self.on_demand[batch.rows]].sum())
        if not len(batch.rows):
            del self.batches[batch.number]

    def _count(self, shape: Shape, rows: Int, counts: Int, sign: int) -> None:
        total = int(counts.sum()) * sign
        for name, amount in shape.request:
            column = self.state.column(name)
            if column is not None:
                self.state.used[rows, column] += sign * amount * counts
                self.used[column] += total * amount
        self.replicas += total
        self.replicas_on_demand += sign * int(counts[self.on_demand[rows]].sum())
        if self._people:
            (self._people.add if sign > 0 else self._people.remove)(resident(shape), rows, counts)
