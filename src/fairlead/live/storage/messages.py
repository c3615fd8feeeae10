"""What a volume is told: why a replica has no disk and what would help, where one went, which move is worth making."""

import numpy as np

from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.balance import VolumeOutcome
from fairlead.levels.disk.rebalance import Move
from fairlead.model.amounts import bytes_text
from fairlead.model.disks import DiskTable
from fairlead.model.reasons import Reason

UNSCHEDULED = "ReplicaUnscheduled"
SCHEDULED = "ReplicaScheduled"
PLACEABLE = "ReplicaPlaceable"
MOVE = "MoveAdvised"
NAMES = 3
"""Disks named for each reason."""

_HELP: dict[Reason, str] = {
    why.NODE_NOT_READY: "the node has to become ready",
    why.NODE_DISABLED: "scheduling could be allowed on the node",
    why.NODE_EVICTING: "another node, or an end of emptying this one",
    why.ENGINE_MISSING: "the engine has to run on the node",
    why.DISK_NOT_READY: "the disk has to become ready",
    why.DISK_DISABLED: "scheduling could be allowed on the disk",
    why.DISK_EVICTING: "another disk, or an end of emptying this one",
    why.NO_CAPACITY: "the disk has to report its capacity",
    why.NODE_TAGS: "tags on a node, or another node selector of the volume",
    why.DISK_TAGS: "tags on a disk, or another disk selector of the volume",
    why.DISK_TYPE: "a disk of the type that the volume's engine uses",
    why.TOPOLOGY: "a node in the zones and regions that the volume asks for",
    why.OTHER_NODE: "room on the node that the replica is bound to",
    why.NOT_LOCAL: "room on the node that the volume is attached to",
    why.ZONE_USED: "a node in another zone, or soft anti-affinity of zones",
    why.NODE_USED: "one more node, or soft anti-affinity of nodes",
    why.DISK_USED: "one more disk, or soft anti-affinity of disks",
    why.MINIMAL_FREE: "free space on the disk, or a lower storage-minimal-available-percentage",
    why.OVER_PROVISIONED: "one more disk, or a higher storage-over-provisioning-percentage",
    why.INSUFFICIENT: "one more disk, or replicas that move away or go",
}


def refused(outcome: VolumeOutcome, disks: DiskTable) -> tuple[str, str]:
    """Why replicas of a volume have no disk: the theme, which stays while the reasons do, and the whole sentence.

    Such as `1 of 3 storage replicas has no disk; of 4 disks 3 NodeAntiAffinity (n1/d, n2/d, n3/d),
    1 InsufficientUsable (n4/d); n4/d comes nearest and lacks 20Gi; what would help: one more node, or …`.
    """
    finding, volume = outcome.finding, outcome.volume
    assert finding is not None
    codes = outcome.codes
    if finding.reason is not why.NO_DISK:
        return finding.code, f"{_count(outcome)}: {finding.sentence} ({finding.code})"
    numbers = [number for number in np.unique(codes).tolist() if number]
    counts = {number: int(np.count_nonzero(codes == number)) for number in numbers}
    order = sorted(numbers, key=lambda number: (-counts[number], number))
    parts = ", ".join(_part(number, outcome, disks) for number in order)
    helps = "; or ".join(dict.fromkeys(_HELP[why.REASONS_OF_A_DISK[number - 1]] for number in order[:NAMES]))
    near = _nearest(outcome, disks)
    theme = f"{outcome.unplaced} of {volume.replicas} {parts}"
    return theme, f"{_count(outcome)}; of {len(codes)} disks {parts}{near}; what would help: {helps}"


def _count(outcome: VolumeOutcome) -> str:
    verb = "has" if outcome.unplaced == 1 else "have"
    return f"{outcome.unplaced} of {outcome.volume.replicas} storage replicas {verb} no disk"


def _part(number: int, outcome: VolumeOutcome, disks: DiskTable) -> str:
    rows = np.flatnonzero(outcome.codes == number)
    names = ", ".join(disks.place(int(row)) for row in rows[:NAMES])
    more = ", …" if len(rows) > NAMES else ""
    return f"{len(rows)} {why.REASONS_OF_A_DISK[number - 1].code} ({names}{more})"


def _nearest(outcome: VolumeOutcome, disks: DiskTable) -> str:
    """The disk that lacks the least, of those that only lack usable space."""
    rows = np.flatnonzero(outcome.codes == why.NUMBER[why.INSUFFICIENT])
    if not len(rows):
        return ""
    row = int(rows[np.argmax(disks.usable_bytes[rows])])
    lacks = outcome.volume.size_bytes - int(disks.usable_bytes[row])
    # Placements of this very moment can leave less than the table says; then nothing exact is known.
    return f"; {disks.place(row)} comes nearest and lacks {bytes_text(lacks)}" if lacks > 0 else ""


def scheduled(replica: str, node: str, disk: str) -> str:
    """A replica has got its disk."""
    return f"{replica} goes to {node}/{disk}"


def placeable(places: list[str]) -> str:
    """Replicas could be placed, but this instance only advises."""
    more = f" and {len(places) - NAMES} more" if len(places) > NAMES else ""
    return f"a disk is there for {', '.join(places[:NAMES])}{more}; nothing is written without --act"


def move(each: Move, disks: DiskTable) -> str:
    """A move worth making."""
    where = {"nodes": "the nodes", "disks": "the disks of the node", "empty": "the disks that are left"}[each.stage]
    way = f"from {disks.place(each.source)} to {disks.place(each.target)}"
    score = f"{float(each.before):.3f} → {float(each.after):.3f}"
    return f"moving {each.replica} ({bytes_text(each.size_bytes)}) {way} would even out {where}: imbalance {score}"
