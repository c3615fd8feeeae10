"""The filters: for each disk the first reason why it does not take a replica of a volume, 0 where it does."""

from collections.abc import Set
from dataclasses import field

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.ledger import DiskLedger, minimal_spare
from fairlead.model.balancing import BalancePolicy
from fairlead.model.columns import Bool, Codes
from fairlead.model.disks import DiskTable
from fairlead.model.reasons import Reason
from fairlead.model.storage import AntiAffinity, Locality, StorageVolume, Strictness

COUNTED = why.NUMBER[why.DISK_USED]
"""From this code on a disk only lacks room, or has a replica of this very volume: it does not take another one, but
its usable bytes are still usable bytes of its node."""
_UNUSED, _LEAVING, _USED = 0, 1, 2
_FEW = 16
"""Up to this many nodes are marked one by one, which is quicker than a look at every disk."""


@dataclass(slots=True)
class Uses:
    """Zones, nodes and disks that hold a replica of one volume: 2 where one stays, 1 where all of them are leaving."""

    zones: dict[str, int] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    disks: dict[int, int] = field(default_factory=dict)

    def add(self, disks: DiskTable, node: int, disk: int | None, *, leaving: bool = False) -> None:
        """One more replica of the volume, on that node and (if known) that disk."""
        level = _LEAVING if leaving else _USED
        self.nodes[node] = max(self.nodes.get(node, 0), level)
        if disks.zones[node]:
            self.zones[disks.zones[node]] = max(self.zones.get(disks.zones[node], 0), level)
        if disk is not None:
            self.disks[disk] = max(self.disks.get(disk, 0), level)


def uses_of(volume: StorageVolume, disks: DiskTable, again: Set[str] = frozenset()) -> Uses:
    """Where a volume's replicas are: those that work, and of the failed ones those named in `again`."""
    uses = Uses()
    for held in volume.held:
        node = disks.node_rows.get(held.node)
        if node is not None and (not held.failed or held.name in again):
            uses.add(disks, node, disks.row(held.node, held.disk), leaving=held.evicting)
    return uses


def refusals(volume: StorageVolume, disks: DiskTable, policy: BalancePolicy) -> Codes:
    """For each disk why it does not take one more replica of the volume as things are, 0 where it does."""
    rule = volume.anti_affinity or policy.anti_affinity
    codes, _ = apart(static_codes(volume, disks, policy), uses_of(volume, disks), disks, rule)
    return room(codes, volume.size_bytes, DiskLedger(disks, policy))


def static_codes(volume: StorageVolume, disks: DiskTable, policy: BalancePolicy) -> Codes:
    """The filters that no placement changes: readiness, tags, type, topology, locality, minimal free space."""
    codes = disks.closed.copy()
    _tags(codes, volume, disks, policy)
    if policy.alpha < 1:
        _mark(codes, disks.total_bytes <= 0, why.NO_CAPACITY)
    if volume.block is not None:
        _mark(codes, disks.block != volume.block, why.DISK_TYPE)
    if volume.topology:
        _mark(codes, _outside(volume, disks)[disks.node_of], why.TOPOLOGY)
    if volume.only_node:
        _mark(codes, _other_nodes(disks, volume.only_node), why.OTHER_NODE)
    if volume.locality is Locality.REQUIRE and volume.attached_to:
        _mark(codes, _other_nodes(disks, volume.attached_to), why.NOT_LOCAL)
    spare = minimal_spare(disks, policy.minimal_percent)
    if spare is not None:
        _mark(codes, spare < volume.written_bytes, why.MINIMAL_FREE)
    return codes


def apart(static: Codes, uses: Uses, disks: DiskTable, rule: AntiAffinity) -> tuple[Codes, Codes | None]:
    """`static` with hard anti-affinity added, and for each disk its class under the soft one (lower is preferred).

    A target whose replicas are all leaving is not refused by a hard rule, only taken last.
    """
    if not uses.nodes:
        return static, None
    codes = static.copy()
    zone = _levels(disks, uses, rule.zone, "zone")
    node = _levels(disks, uses, rule.node, "node")
    disk = _levels(disks, uses, rule.disk, "disk")
    for levels, strictness, reason in (
        (zone, rule.zone, why.ZONE_USED),
        (node, rule.node, why.NODE_USED),
        (disk, rule.disk, why.DISK_USED),
    ):
        if strictness is Strictness.HARD:
            _mark(codes, levels == _USED, reason)
    return codes, node * 9 + zone * 3 + disk


def room(codes: Codes, size_bytes: int, ledger: DiskLedger) -> Codes:
    """`codes` with the two filters that placements change: the over-provisioning limit and the usable space."""
    codes = codes.copy()
    if ledger.limited:
        _mark(codes, ledger.promised < size_bytes, why.OVER_PROVISIONED)
    _mark(codes, ledger.usable < size_bytes, why.INSUFFICIENT)
    return codes


def _tags(codes: Codes, volume: StorageVolume, disks: DiskTable, policy: BalancePolicy) -> None:
    if volume.node_tags or not policy.empty_node_selector:
        mask = [not _matches(tags, volume.node_tags, policy.empty_node_selector) for tags in disks.node_tags]
        _mark(codes, np.array(mask, dtype=bool)[disks.node_of], why.NODE_TAGS)
    if volume.disk_tags or not policy.empty_disk_selector:
        mask = [not _matches(tags, volume.disk_tags, policy.empty_disk_selector) for tags in disks.tags]
        _mark(codes, np.array(mask, dtype=bool), why.DISK_TAGS)


def _matches(tags: frozenset[str], selector: frozenset[str], empty_takes_all: bool) -> bool:
    """Every tag asked for is there; no tag asked for: untagged targets, and tagged ones too if that is allowed."""
    return selector <= tags if selector else (empty_takes_all or not tags)


def _outside(volume: StorageVolume, disks: DiskTable) -> Bool:
    """For each node whether no domain of the volume takes it; a node without the label matches no domain that asks."""
    return np.array(
        [
            not any(domain.zone in ("", zone) and domain.region in ("", region) for domain in volume.topology)
            for zone, region in zip(disks.zones, disks.regions, strict=True)
        ],
        dtype=bool,
    )


def _other_nodes(disks: DiskTable, name: str) -> Bool:
    return np.array([node != name for node in disks.nodes], dtype=bool)[disks.node_of]


def _levels(disks: DiskTable, uses: Uses, strictness: Strictness, what: str) -> Codes:
    """For each disk 0, 1 or 2: its zone, node or the disk itself is unused, being left, or used by the volume."""
    if strictness is Strictness.OFF or (what == "zone" and not uses.zones):
        return np.zeros(len(disks), dtype=np.uint8)
    if what == "disk":
        levels = np.zeros(len(disks), dtype=np.uint8)
        levels[list(uses.disks)] = list(uses.disks.values())
        return levels
    if what == "zone":
        by_zone = np.zeros(len(disks.zone_rows) + 1, dtype=np.uint8)  # the last is for nodes without a zone
        for zone, level in uses.zones.items():
            by_zone[disks.zone_rows[zone]] = level
        return by_zone[disks.disk_zone_of]
    if len(uses.nodes) <= _FEW:
        levels = np.zeros(len(disks), dtype=np.uint8)
        for node, level in uses.nodes.items():
            levels[disks.starts[node] : disks.ends[node] + 1] = level
        return levels
    by_node = np.zeros(len(disks.nodes), dtype=np.uint8)
    by_node[list(uses.nodes)] = list(uses.nodes.values())
    return by_node[disks.node_of]


def _mark(codes: Codes, mask: Bool, reason: Reason) -> None:
    """The reason where the mask holds and none was found before; codes there are 0, so adding is setting, and quick."""
    if mask.any():
        codes += ((codes == 0) & mask).view(np.uint8) * np.uint8(why.NUMBER[reason])
