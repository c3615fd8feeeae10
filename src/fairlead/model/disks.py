"""Disks as a table: one row a disk, rows in natural order of node and disk, so that the lowest row wins a tie."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import IntEnum
from types import MappingProxyType

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.amounts import INT64_MAX
from fairlead.model.columns import Bool, Codes, Int, flags, frozen, ints, lookup
from fairlead.model.order import natural_key

UNKNOWN = -1
"""In `maximum_bytes` and `available_bytes`: the source did not say."""


class Closed(IntEnum):
    """Why a disk takes no storage replica of any volume; the first that holds is kept."""

    OPEN = 0
    NODE_NOT_READY = 1
    NODE_DISABLED = 2
    NODE_EVICTING = 3
    ENGINE_MISSING = 4
    DISK_NOT_READY = 5
    DISK_DISABLED = 6
    DISK_EVICTING = 7
    NO_CAPACITY = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """One disk and what is known of its node, before it becomes a row.

    `usable_bytes` is what may still be promised to replicas, never below 0 (`short_bytes` is what the formula gives
    below it); `free_bytes` is available − reserved,
    the figure that the older rule ranks by; `total_bytes` is maximum − reserved, 0 where it is not known.
    """

    node: str
    name: str
    usable_bytes: int
    total_bytes: int = 0
    free_bytes: int = 0
    short_bytes: int = 0
    scheduled_bytes: int = 0
    reserved_bytes: int = 0
    available_bytes: int = UNKNOWN
    maximum_bytes: int = UNKNOWN
    zone: str = ""
    region: str = ""
    node_tags: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    block: bool = False
    closed: Closed = Closed.OPEN

    @property
    def place(self) -> str:
        """`node/disk`, which is unique."""
        return f"{self.node}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskTable:
    """Disks in columns. `node_of[row]` is the disk's row in the node columns; a node's disks are neighbours,
    beginning at `starts[node]`. Only nodes with at least one disk have a row."""

    nodes: tuple[str, ...]
    zones: tuple[str, ...]
    regions: tuple[str, ...]
    node_tags: tuple[frozenset[str], ...]
    starts: Int
    names: tuple[str, ...]
    tags: tuple[frozenset[str], ...]
    node_of: Int
    ends: Int
    """For each node the row of its last disk."""
    usable_bytes: Int
    total_bytes: Int
    free_bytes: Int
    short_bytes: Int
    scheduled_bytes: Int
    reserved_bytes: Int
    available_bytes: Int
    maximum_bytes: Int
    block: Bool
    closed: Codes
    node_rows: Mapping[str, int]
    """The row of each node by its name."""
    disk_zone_of: Int
    """For each disk a number of the zone of its node; −1 where that is in none."""
    zone_rows: Mapping[str, int]
    """The number of each zone by its name."""
    shared: frozenset[str]
    """Names that disks of several nodes have."""
    wide: bool
    """Whether a sum over all disks can pass 2**63, so that sums need Python integers."""
    derived: dict[tuple[str, int], Int] = field(init=False, repr=False, compare=False, default_factory=dict)
    """Columns that follow from this table and a setting, kept once they are worked out: a warm table has them."""

    def __len__(self) -> int:
        return len(self.names)

    def label(self, row: int) -> str:
        """The disk's name, or `node/disk` where another node has a disk of that name."""
        return self.place(row) if self.names[row] in self.shared else self.names[row]

    def place(self, row: int) -> str:
        """`node/disk`, which is unique."""
        return f"{self.nodes[int(self.node_of[row])]}/{self.names[row]}"

    def row(self, node: str, disk: str) -> int | None:
        """The row of a disk by the names of its node and itself, None where there is none."""
        home = self.node_rows.get(node)
        return None if home is None else next((row for row in self.rows_of(home) if self.names[row] == disk), None)

    def rows_of(self, node: int) -> range:
        """The rows of a node's disks."""
        last = int(self.starts[node + 1]) if node + 1 < len(self.nodes) else len(self.names)
        return range(int(self.starts[node]), last)


def disk_table(disks: Sequence[Disk]) -> DiskTable:
    """The disks as a table; their order does not matter. Places (`node/disk`) must be distinct."""
    keys = {disk.node: natural_key(disk.node) for disk in disks}
    rows = sorted(disks, key=lambda disk: (keys[disk.node], natural_key(disk.name)))
    firsts = [row for row, disk in enumerate(rows) if row == 0 or rows[row - 1].node != disk.node]
    heads = [rows[first] for first in firsts]
    counts = np.diff([*firsts, len(rows)])
    largest = max((max(disk.usable_bytes, disk.total_bytes) for disk in rows), default=0)
    zones = {zone: number for number, zone in enumerate(sorted({disk.zone for disk in heads} - {""}))}
    node_of = np.repeat(np.arange(len(heads)), counts)
    zone_of = ints([zones.get(disk.zone, -1) for disk in heads])
    return DiskTable(
        nodes=tuple(disk.node for disk in heads),
        zones=tuple(disk.zone for disk in heads),
        regions=tuple(disk.region for disk in heads),
        node_tags=tuple(disk.node_tags for disk in heads),
        starts=ints(firsts),
        names=tuple(disk.name for disk in rows),
        tags=tuple(disk.tags for disk in rows),
        node_of=ints(node_of),
        ends=ints(np.cumsum(counts) - 1),
        usable_bytes=ints([disk.usable_bytes for disk in rows]),
        total_bytes=ints([disk.total_bytes for disk in rows]),
        free_bytes=ints([disk.free_bytes for disk in rows]),
        short_bytes=ints([min(disk.short_bytes, INT64_MAX) for disk in rows]),
        scheduled_bytes=ints([disk.scheduled_bytes for disk in rows]),
        reserved_bytes=ints([disk.reserved_bytes for disk in rows]),
        available_bytes=ints([disk.available_bytes for disk in rows]),
        maximum_bytes=ints([disk.maximum_bytes for disk in rows]),
        block=flags([disk.block for disk in rows]),
        closed=frozen(np.array([disk.closed for disk in rows], dtype=np.uint8)),
        node_rows=MappingProxyType(lookup(disk.node for disk in heads)),
        disk_zone_of=ints(zone_of[node_of]),
        zone_rows=MappingProxyType(zones),
        shared=frozenset(name for name, count in Counter(disk.name for disk in rows).items() if count > 1),
        wide=largest * max(len(rows), 1) >= 2**62,
    )
