"""Nodes as the node level sees them: what is left on each, and how many replicas of one workload that makes."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairlead.dataclass import dataclass
from fairlead.model.amounts import INT64_MAX
from fairlead.model.columns import Int, distinct, frozen, ints
from fairlead.model.errors import InputError
from fairlead.model.order import natural_rank

Wide = NDArray[Any]
"""An integer column: int64, or object holding Python integers where int64 is too narrow."""

UNLIMITED = INT64_MAX
"""The capacity of a node on which nothing that the workload asks for is limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTable:
    """What a strategy reads, one row a node in any order.

    `capacity` is the number of replicas that still fit (`UNLIMITED` where nothing limits them), `count` those of the
    same workload already there. A node's utilisation is usage / scale, and one more replica adds rate / scale;
    both columns are int64, or Python integers where the decimals need more digits. `rank` is the natural order
    of the names, the last word in every tie.
    """

    names: tuple[str, ...]
    capacity: Int
    count: Int
    usage: Wide
    rate: Wide
    scale: int
    rank: Int

    def __len__(self) -> int:
        return len(self.names)


def node_table(
    names: Sequence[str],
    capacity: ArrayLike,
    *,
    count: ArrayLike | None = None,
    usage: ArrayLike | None = None,
    rate: ArrayLike | None = None,
    scale: int = 1,
) -> NodeTable:
    """The columns as a table: copied, checked, read-only. What is not given is 0."""
    rows = len(names)
    table = NodeTable(
        names=distinct(names, "$.nodes"),
        capacity=ints(capacity),
        count=ints(np.zeros(rows) if count is None else count),
        usage=_wide(np.zeros(rows, dtype=np.int64) if usage is None else usage),
        rate=_wide(np.zeros(rows, dtype=np.int64) if rate is None else rate),
        scale=scale,
        rank=frozen(natural_rank(names)),
    )
    for name in ("capacity", "count", "usage", "rate"):
        column = getattr(table, name)
        if len(column) != rows:
            raise InputError("$.nodes", f"{len(column)} values of {name} for {rows} nodes")
        if rows and column.min() < 0:
            row = int(np.argmin(column))
            raise InputError(f"$.nodes[{row}].{name}", "is negative; expected 0 or more")
    return table


def _wide(values: ArrayLike) -> Wide:
    """A read-only copy."""
    if isinstance(values, np.ndarray) and values.dtype == np.int64:
        return ints(values)
    column = np.array(values, dtype=object)
    if not column.size or max(column.max(), -column.min()) <= INT64_MAX:
        column = column.astype(np.int64)
    return frozen(column)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeVolume:
    """One volume of a node, in bytes. It is unused, and may be taken whole, if all of it is free."""

    free_bytes: int
    total_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What is left on one node. `capacity` limits it further; a node that tells nothing else has just that.

    `free` and `total` hold divisible resources in their units (cpu in thousandths); a resource the node does not
    name in `free` does not limit anything. `cores` are the free pieces of each core, None where the node does not
    tell its cores apart. `numa` maps a core to its NUMA node, `numa_memory_bytes` is the free memory of each.
    """

    name: str
    count: int = 0
    capacity: int | None = None
    free: Mapping[str, int] = field(default_factory=dict)
    total: Mapping[str, int] = field(default_factory=dict)
    cores: Mapping[str, int] | None = None
    volumes: Mapping[str, NodeVolume] = field(default_factory=dict)
    numa: Mapping[str, str] = field(default_factory=dict)
    numa_memory_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def bare(self) -> bool:
        """Whether the node is known by its capacity alone."""
        return self.capacity is not None and self.cores is None and not self.free and not self.volumes
