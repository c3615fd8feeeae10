"""Nodes and disks as a problem writes them, read into a disk table; each figure is checked once, with its place."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from fairlead.model.amounts import Quantity, amount
from fairlead.model.columns import distinct
from fairlead.model.disks import UNKNOWN, Closed, Disk, DiskTable, disk_table
from fairlead.model.errors import InputError

Name = Annotated[str, msgspec.Meta(min_length=1)]


class StorageInput(msgspec.Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """The manner of every object of a problem."""


class DiskPart(StorageInput, kw_only=True, frozen=True):
    """A disk: `usable` directly, or what it is worked out from."""

    name: Name
    usable: Quantity | None = None
    available: Quantity | None = None
    reserved: Quantity = 0
    scheduled: Quantity | None = None
    maximum: Quantity | None = None
    total: Quantity | None = None
    ready: bool = True
    allow_scheduling: bool = True
    eviction_requested: bool = False
    tags: tuple[str, ...] = ()
    type: Literal["filesystem", "block"] = "filesystem"


class NodePart(StorageInput, kw_only=True, frozen=True):
    """A node and its disks."""

    name: Name
    disks: tuple[DiskPart, ...] = ()
    zone: str = ""
    region: str = ""
    ready: bool = True
    allow_scheduling: bool = True
    eviction_requested: bool = False
    engine_deployed: bool = True
    tags: tuple[str, ...] = ()


def table(nodes: Sequence[NodePart], *, by_maximum: bool, ratios: bool) -> DiskTable:
    """The disks of all nodes. `by_maximum`: usable is maximum − reserved − scheduled, not available − …; `ratios`:
    every disk must tell its total."""
    disks = []
    distinct([node.name for node in nodes], "$.nodes")
    for node_row, node in enumerate(nodes):
        path = f"$.nodes[{node_row}].disks"
        distinct([part.name for part in node.disks], path)
        for row, part in enumerate(node.disks):
            place = f"{path}[{row}]"
            disks.append(_disk(node, part, place, by_maximum=by_maximum))
            if ratios and part.total is None and part.maximum is None:
                raise InputError(
                    f"{place}.total",
                    "is missing; an alpha below 1 compares usable/total, so expected `total` or `maximum`",
                )
    return disk_table(disks)


def _disk(node: NodePart, part: DiskPart, path: str, *, by_maximum: bool) -> Disk:
    def read(field: str, default: int) -> int:
        value = getattr(part, field)
        return default if value is None else amount("storage", value, f"{path}.{field}")

    reserved, scheduled = read("reserved", 0), read("scheduled", 0)
    maximum, available = read("maximum", UNKNOWN), read("available", UNKNOWN)
    if part.usable is not None:
        for field in ("available", "scheduled"):
            if getattr(part, field) is not None:
                raise InputError(f"{path}.usable", f"is given together with `{field}`; expected one of the two")
        usable = free = read("usable", 0)
    else:
        base = maximum if by_maximum or available == UNKNOWN else available
        if base == UNKNOWN:
            missing, ways = ("maximum", "`usable` or") if by_maximum else ("usable", "`usable`, or `available`, or")
            raise InputError(f"{path}.{missing}", f"is missing; expected {ways} `maximum`")
        usable = base - reserved - scheduled
        free = (maximum if available == UNKNOWN else available) - reserved
    return Disk(
        node=node.name,
        name=part.name,
        usable_bytes=max(usable, 0),
        short_bytes=max(-usable, 0),
        total_bytes=read("total", max(maximum - reserved, 0) if maximum != UNKNOWN else 0),
        free_bytes=free,
        scheduled_bytes=scheduled,
        reserved_bytes=reserved,
        available_bytes=available,
        maximum_bytes=maximum,
        zone=node.zone,
        region=node.region,
        node_tags=frozenset(node.tags),
        tags=frozenset(part.tags),
        block=part.type == "block",
        closed=_closed(node, part, maximum),
    )


def _closed(node: NodePart, part: DiskPart, maximum: int) -> Closed:
    checks = (
        (not node.ready, Closed.NODE_NOT_READY),
        (not node.allow_scheduling, Closed.NODE_DISABLED),
        (node.eviction_requested, Closed.NODE_EVICTING),
        (not node.engine_deployed, Closed.ENGINE_MISSING),
        (not part.ready, Closed.DISK_NOT_READY),
        (not part.allow_scheduling, Closed.DISK_DISABLED),
        (part.eviction_requested, Closed.DISK_EVICTING),
        (maximum == 0, Closed.NO_CAPACITY),
    )
    return next((closed for holds, closed in checks if holds), Closed.OPEN)
