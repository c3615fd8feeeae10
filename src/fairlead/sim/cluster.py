"""The nodes while time goes by, on the working copy that a plan uses too, and what runs where.

A `Batch` is what one decision placed of one part of one job; its replicas end together, or are lost node by node.
"""

from collections.abc import Iterable

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.shape_columns import RowCounts, There
from fairlead.engine.tier_parts import TierPart, on_demand_nodes
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes
from fairlead.model.columns import Int
from fairlead.model.shape import Shape
from fairlead.sim.claims import SimClaims
from fairlead.sim.events import NEVER, Timeline


def add(total: list[int], amounts: Iterable[tuple[int, int]], times: int = 1) -> None:
    """Add amounts by place, so many times: sums change with every replica, and numbers are faster than columns."""
    for place, amount in amounts:
        total[place] += amount * times


@dataclass(slots=True)
class Batch:
    """Replicas of one part, started at one instant: `counts[i]` of them on node `rows[i]`."""

    number: int
    job: str
    part: TierPart
    rows: Int
    counts: Int
    size: int
    """Replicas in all."""
    on_demand: int
    """How many of them stand on on-demand nodes."""


class SimCluster:
    """Places, ends and loses replicas; keeps the sums that the measures need."""

    def __init__(self, story: Timeline, *, neighbourly: bool) -> None:
        nodes, tiers = story.nodes, story.tiers
        self.nodes = WorkingNodes(nodes, story.population, neighbourly=neighbourly)
        self.claims = SimClaims(story.claims, WorkingVolumes(story.attached, nodes))
        self.state = self.nodes.current
        self._on_demand: list[bool] = on_demand_nodes(nodes, tiers).tolist()
        self.batches: dict[int, Batch] = {}
        self.replicas = 0
        self.replicas_on_demand = 0
        self.whole: Int = nodes.allocatable[~nodes.unschedulable].sum(axis=0)
        self._away = np.where(nodes.unschedulable, NEVER, 0)
        """Until when each node is away, in milliseconds."""
        self._fixed = np.zeros_like(nodes.used) if story.fixed_used is None else story.fixed_used
        self.shared: Int = self._offered(np.flatnonzero(~nodes.unschedulable))
        """What queues share: the whole without what belongs to its node."""
        self.used: list[int] = nodes.used[~nodes.unschedulable].sum(axis=0).tolist()
        self._here: list[set[int]] = [set() for _ in nodes.names]
        self._number = 0

    def present(self, batches: Iterable[Batch]) -> There:
        """Replicas of these batches of a job by row of a node."""
        present: dict[int, int] = {}
        for batch in batches:
            for row, count in zip(batch.rows.tolist(), batch.counts.tolist(), strict=True):
                present[row] = present.get(row, 0) + count
        return present

    def begin(self, job: str, part: TierPart, spread: RowCounts) -> Batch:
        """Replicas run there; the nodes have counted them already."""
        rows, counts = spread
        numbers = rows.tolist()
        self._number += 1
        size, on_demand = self._counted(numbers, counts.tolist())
        batch = Batch(self._number, job, part, rows, counts, size, on_demand)
        self.batches[batch.number] = batch
        for row in numbers:
            self._here[row].add(batch.number)
        self._sum(part.shape, size, on_demand)
        return batch

    def _counted(self, rows: list[int], counts: list[int]) -> tuple[int, int]:
        """Replicas in all, and those on on-demand nodes. A batch has few rows, so lists are faster than columns."""
        own = self._on_demand
        return sum(counts), sum([count for row, count in zip(rows, counts, strict=True) if own[row]])

    def end(self, batch: Batch) -> None:
        """All replicas of the batch are gone."""
        del self.batches[batch.number]
        self.claims.gone(batch.number)
        for row in batch.rows.tolist():
            self._here[row].discard(batch.number)
        self.nodes.shift(batch.part.shape, (batch.rows, batch.counts), -1)
        self._sum(batch.part.shape, -batch.size, -batch.on_demand)

    def shrink(self, batch: Batch, count: int) -> None:
        """`count` replicas of the batch go: from the nodes that have most of it, later names first."""
        left = batch.counts.copy()
        for _ in range(count):
            most = np.flatnonzero(left == left.max())
            left[most[np.argmax(self.nodes.rank[batch.rows[most]])]] -= 1
        self._reduce(batch, left)

    def evict(self, batch: Batch, row: int, count: int) -> int:
        """Up to `count` replicas of the batch leave the node, which has counted that already; how many did."""
        there = batch.rows == row
        gone = min(count, int(batch.counts[there].sum()))
        self._count(batch, np.where(there, batch.counts - gone, batch.counts))
        return gone

    def lose(self, rows: Int, back_ms: int | None) -> list[tuple[Batch, int]]:
        """The nodes go: every batch that had replicas there, with how many it lost, oldest batch first."""
        self._away[rows] = np.maximum(self._away[rows], NEVER if back_ms is None else back_ms)
        rows = rows[~self.state.unschedulable[rows]]
        lost = []
        for number in sorted(set().union(*(self._here[row] for row in rows.tolist()))):
            batch = self.batches[number]
            gone = np.isin(batch.rows, rows)
            lost.append((batch, int(batch.counts[gone].sum())))
            self._reduce(batch, np.where(gone, 0, batch.counts))
        self.nodes.close(rows, True)
        self.whole = self.whole - self.state.allocatable[rows].sum(axis=0)
        self.shared = self.shared - self._offered(rows)
        add(self.used, enumerate(self.state.used[rows].sum(axis=0).tolist()), -1)
        return lost

    def restore(self, rows: Int, now: int) -> None:
        """The nodes are back, empty but for what was never ours; not those that are away for longer."""
        rows = rows[self.state.unschedulable[rows] & (self._away[rows] <= now)]
        self.nodes.close(rows, False)
        self.whole = self.whole + self.state.allocatable[rows].sum(axis=0)
        self.shared = self.shared + self._offered(rows)
        add(self.used, enumerate(self.state.used[rows].sum(axis=0).tolist()))

    def _offered(self, rows: Int) -> Int:
        offered: Int = np.maximum(self.state.allocatable[rows] - self._fixed[rows], 0).sum(axis=0)
        return offered

    def _reduce(self, batch: Batch, left: Int) -> None:
        gone = batch.counts - left
        self.nodes.shift(batch.part.shape, (batch.rows[gone > 0], gone[gone > 0]), -1)
        self._count(batch, left)

    def _count(self, batch: Batch, left: Int) -> None:
        """So much is left of the batch on each of its nodes."""
        size, on_demand = self._counted(batch.rows.tolist(), left.tolist())
        self._sum(batch.part.shape, size - batch.size, on_demand - batch.on_demand)
        for row in batch.rows[left == 0].tolist():
            self._here[row].discard(batch.number)
        batch.rows, batch.counts = batch.rows[left > 0], left[left > 0]
        batch.size, batch.on_demand = size, on_demand
        if not len(batch.rows):
            del self.batches[batch.number]
            self.claims.gone(batch.number)

    def _sum(self, shape: Shape, count: int, on_demand: int) -> None:
        add(self.used, self.nodes.asked(shape), count)
        self.replicas += count
        self.replicas_on_demand += on_demand
