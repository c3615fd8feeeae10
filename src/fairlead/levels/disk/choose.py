"""One choice: the node first, then the disk, among the disks that every filter lets through."""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.disk.filters import COUNTED
from fairlead.levels.disk.ledger import DiskLedger
from fairlead.levels.disk.score import Field
from fairlead.levels.disk.score_stats import Wide
from fairlead.model.balancing import BalancePolicy, DiskRule
from fairlead.model.columns import Codes, Int
from fairlead.model.disks import DiskTable


@dataclass(frozen=True, slots=True)
class Choice:
    """What one replica could choose from and what it chose; both stages can be scored again from it.

    `node_rows` and `disk_rows` are table rows, `node_field` and `disk_field` the values behind them in the same order.
    `node` and `disk` are table rows; the disk field covers the chosen node only, unless the scope is everywhere.
    """

    node_rows: Int
    node_field: Field
    disk_rows: Int
    disk_field: Field
    node: int
    disk: int


def choose(
    codes: Codes, classes: Codes | None, disks: DiskTable, ledger: DiskLedger, policy: BalancePolicy, size_bytes: int
) -> Choice | None:
    """The choice for one replica, or None if no disk has code 0.

    A node is a candidate if one of its disks is; its usable and total bytes are those of all its disks but the ones
    that no replica of this volume could use. Of several classes (`classes`, from soft anti-affinity) only disks of the
    lowest take part.
    """
    fits = codes == 0
    if not fits.any():
        return None
    counted = fits | (codes >= COUNTED)
    if classes is not None:
        # 0 − 1 is 255 in eight bits: what does not fit has a class beyond all others.
        fits = fits & (classes == (classes | (fits.view(np.uint8) - np.uint8(1))).min())
    usable, totals = _summable(ledger.usable, disks), _summable(disks.total_bytes, disks)
    node_rows = np.flatnonzero(_by_node(fits.astype(np.int32), disks))
    node_usable = _by_node(usable * counted, disks)[node_rows]
    node_totals = node_usable
    if policy.alpha != 1:
        node_totals = _by_node(totals * counted, disks)[node_rows]
    node_field = Field(node_usable, node_totals, policy.alpha, size_bytes)
    if policy.rule is DiskRule.MOST_FREE:
        disk = int(np.flatnonzero(fits)[np.argmax(ledger.free[fits])])
        node = int(disks.node_of[disk])
    else:
        node = int(node_rows[node_field.best(np.arange(len(node_rows)))])
        disk = -1
    own = disks.rows_of(node)
    own_rows = own.start + np.flatnonzero(fits[own.start : own.stop])
    disk_rows = np.flatnonzero(fits) if policy.everywhere else own_rows
    disk_field = Field(usable[disk_rows], totals[disk_rows], policy.alpha, size_bytes)
    if disk < 0:
        disk = int(disk_rows[disk_field.best(np.searchsorted(disk_rows, own_rows))])
    return Choice(node_rows, node_field, disk_rows, disk_field, node, disk)


def _by_node(column: Wide, disks: DiskTable) -> Wide:
    """The sum over each node's disks; differences of a running sum, which is quicker than a sum for each node."""
    sums = np.cumsum(column)[disks.ends]
    sums[1:] -= sums[:-1].copy()
    return sums


def _summable(column: Int, disks: DiskTable) -> Wide:
    return column.astype(object) if disks.wide else column
