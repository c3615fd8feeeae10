"""Why a disk does not take a storage replica. A reason's code number is its place in `REASONS` plus 1."""

from functools import partial

from fairlead.model.reasons import Cure, Reason

_reason = partial(Reason, level="disk")

NODE_NOT_READY = _reason("NodeNotReady", "the node is not ready or not schedulable", Cure.EDIT)
NODE_DISABLED = _reason("NodeSchedulingDisabled", "scheduling is switched off on the node", Cure.EDIT)
NODE_EVICTING = _reason("NodeEvicting", "the node is being emptied", Cure.EDIT)
ENGINE_MISSING = _reason("EngineMissing", "the node does not run the volume's engine", Cure.EDIT)
DISK_NOT_READY = _reason("DiskNotReady", "the disk is not ready or not schedulable", Cure.EDIT)
DISK_DISABLED = _reason("DiskSchedulingDisabled", "scheduling is switched off on the disk", Cure.EDIT)
DISK_EVICTING = _reason("DiskEvicting", "the disk is being emptied", Cure.EDIT)
NO_CAPACITY = _reason("NoCapacity", "the disk reports no capacity (maximum − reserved is 0)", Cure.EDIT)
NODE_TAGS = _reason("NodeTagsMismatch", "the node's tags do not fit the volume's node selector", Cure.EDIT)
DISK_TAGS = _reason("DiskTagsMismatch", "the disk's tags do not fit the volume's disk selector", Cure.EDIT)
DISK_TYPE = _reason("DiskTypeMismatch", "the volume's engine needs another type of disk", Cure.EDIT)
TOPOLOGY = _reason("OutsideTopology", "the node is outside the zones and regions that the volume asks for", Cure.EDIT)
OTHER_NODE = _reason("HardNodeAffinity", "the replica is bound to another node", Cure.EDIT)
NOT_LOCAL = _reason("NotLocal", "strict data locality asks for the node that the volume is attached to", Cure.EDIT)
ZONE_USED = _reason("ZoneAntiAffinity", "the zone already has a replica of this volume", Cure.ROOM)
NODE_USED = _reason("NodeAntiAffinity", "the node already has a replica of this volume", Cure.ROOM)
DISK_USED = _reason("DiskAntiAffinity", "the disk already has a replica of this volume", Cure.ROOM)
MINIMAL_FREE = _reason("MinimalAvailable", "writing it would leave less than the minimal free space", Cure.ROOM)
OVER_PROVISIONED = _reason("OverProvisioned", "the disk would be promised to more than its limit", Cure.ROOM)
INSUFFICIENT = _reason("InsufficientUsable", "the usable space of the disk is below the size of the replica", Cure.ROOM)

REASONS_OF_A_DISK: tuple[Reason, ...] = (
    NODE_NOT_READY, NODE_DISABLED, NODE_EVICTING, ENGINE_MISSING, DISK_NOT_READY, DISK_DISABLED, DISK_EVICTING,
    NO_CAPACITY, NODE_TAGS, DISK_TAGS, DISK_TYPE, TOPOLOGY, OTHER_NODE, NOT_LOCAL, ZONE_USED, NODE_USED,
    MINIMAL_FREE, DISK_USED, OVER_PROVISIONED, INSUFFICIENT,
)  # fmt: skip
"""In the order of the filters, so that `REASONS_OF_A_DISK[code − 1]` is the reason; the first eight are `Closed`."""

NUMBER: dict[Reason, int] = {reason: place + 1 for place, reason in enumerate(REASONS_OF_A_DISK)}

NO_DISKS = _reason("NoDisks", "there are no disks", Cure.ROOM)
NO_DISK = _reason("NoDisk", "no disk takes {unplaced} of {asked} storage replicas: {why}", Cure.ROOM)
AWAITING_REUSE = _reason(
    "AwaitingReuse", "a failed replica of {volume} may come back; a new one is made when the wait is over", Cure.NOTHING
)
TARGET_MISSED = _reason(
    "TargetMissed", "the imbalance is {imbalance} with {moves} moves made; the target was {target}", Cure.ROOM
)
NOT_EMPTIED = _reason("NotEmptied", "{left:storage replica|storage replicas} cannot leave: {why}", Cure.ROOM)
UNKNOWN_DISK = _reason(
    "UnknownDisk", "{count:storage replica names|storage replicas name} a disk that is not there: {names}", Cure.EDIT
)
