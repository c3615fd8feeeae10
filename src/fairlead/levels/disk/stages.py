"""Two views of a layout whose evenness a move can improve: the nodes of the cluster, or the disks of one node."""

from fractions import Fraction

import numpy as np

from fairlead.levels.disk.layout import Layout
from fairlead.levels.disk.score import Field, imbalance
from fairlead.levels.disk.score_stats import Wide
from fairlead.model.columns import Bool, Int

Evenness = tuple[Fraction, Fraction]
"""(score, variance over squared mean), compared in this order; lower is more even."""


class LayoutStage:
    """Bins that take part in one score: `bin_of[row]` is the bin of an open disk, −1 for disks outside."""

    def __init__(self, layout: Layout, bin_of: Int, bins: int) -> None:
        self.layout, self.bin_of, self.bins = layout, bin_of, bins
        self.inside = np.flatnonzero(bin_of >= 0)
        self.totals = self._sums(layout.disks.total_bytes)

    def evenness(self) -> Evenness:
        """How even the bins are now."""
        return imbalance(self.usable(), self.totals, self.layout.policy.alpha)

    def usable(self) -> Wide:
        """The usable bytes of every bin."""
        return self._sums(self.layout.ledger.usable)

    def best_target(self, replica: int, usable: Wide) -> tuple[Evenness, int] | None:
        """The disk in another bin that leaves the bins most even if the replica moves there; None if none takes it."""
        layout = self.layout
        here = int(self.bin_of[layout.at[replica]])
        allowed = self._allowed(replica)
        if not allowed.any():
            return None
        size, alpha = layout.size(replica), layout.policy.alpha
        if here >= 0:
            usable = usable.copy()
            usable[here] += layout.ledger.gained(layout.at[replica], size)
        field = Field(usable, self.totals, alpha, size)
        best = field.best(np.unique(self.bin_of[allowed]))
        return field.key(best)[:2], self._disk(replica, allowed, best)

    def targets(self, replica: int) -> list[int]:
        """The best disk of every other bin that takes the replica."""
        allowed = self._allowed(replica)
        return [self._disk(replica, allowed, each) for each in np.unique(self.bin_of[allowed]).tolist()]

    def _allowed(self, replica: int) -> Bool:
        """The disks in other bins that take the replica."""
        here = int(self.bin_of[self.layout.at[replica]])
        allowed: Bool = self.layout.targets(replica) & (self.bin_of >= 0) & (self.bin_of != here)
        return allowed

    def _disk(self, replica: int, allowed: Bool, chosen: int) -> int:
        layout = self.layout
        rows = np.flatnonzero(allowed & (self.bin_of == chosen))
        usable, totals = layout.summable(layout.ledger.usable)[rows], layout.summable(layout.disks.total_bytes)[rows]
        field = Field(usable, totals, layout.policy.alpha, layout.size(replica))
        return int(rows[field.best(np.arange(len(rows)))])

    def _sums(self, column: Int) -> Wide:
        sums = np.zeros(self.bins, dtype=object if self.layout.disks.wide else np.int64)
        np.add.at(sums, self.bin_of[self.inside], column[self.inside])
        return sums


def across_nodes(layout: Layout) -> LayoutStage:
    """The nodes that have an open disk, each with the usable bytes of its open disks."""
    nodes = np.unique(layout.disks.node_of[layout.open])
    bin_of = np.searchsorted(nodes, layout.disks.node_of)
    return LayoutStage(layout, np.where(layout.open, bin_of, -1), len(nodes))


def inside_node(layout: Layout, node: int) -> LayoutStage:
    """The open disks of one node."""
    rows = np.flatnonzero(layout.open & (layout.disks.node_of == node))
    bin_of = np.full(len(layout.disks), -1, dtype=np.int64)
    bin_of[rows] = np.arange(len(rows))
    return LayoutStage(layout, bin_of, len(rows))
