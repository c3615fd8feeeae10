"""Why a node cannot take a replica."""

from functools import partial

from fairlead.model.reasons import Cure, Reason

_reason = partial(Reason, level="node")

CLAIM_MISSING = _reason("ClaimMissing", "a volume claim of the replica does not exist, or is being deleted", Cure.EDIT)
CLAIM_UNBOUND = _reason(
    "ClaimUnbound", "a volume claim of the replica has no volume yet and does not wait for a node", Cure.EDIT
)
CLAIM_TAKEN = _reason("ClaimTaken", "another replica holds a volume claim that only one replica may use", Cure.EVICTION)
UNSCHEDULABLE = _reason("NodeUnschedulable", "the node is cordoned or not ready", Cure.EDIT)
NODE_NOT_SELECTED = _reason(
    "NodeNotSelected", "the node does not match the replica's node selector or required node affinity", Cure.EDIT
)
TAINT_NOT_TOLERATED = _reason("TaintNotTolerated", "the node has a taint that the replica does not tolerate", Cure.EDIT)
NO_ROOM = _reason("InsufficientRoom", "the node has no room for one more replica", Cure.ROOM)
CORES_TAKEN = _reason(
    "CoresTaken", "the cores that are not promised to others do not make one replica with bound cores", Cure.EVICTION
)
PORT_TAKEN = _reason("PortTaken", "a port that the replica needs on the node itself is taken", Cure.EVICTION)
DISK_TAKEN = _reason("DiskTaken", "a disk that the replica names is in use there by another replica", Cure.EVICTION)
TOO_NEAR = _reason(
    "TooNear", "a replica runs there that this one must stay apart from, or that refuses it", Cure.EVICTION
)
NOT_NEAR = _reason("NotNear", "no replica runs there that this one must be near to", Cure.ROOM)
TOO_UNEVEN = _reason("TooUneven", "one more replica there would exceed a topology spread's skew", Cure.ROOM)
VOLUME_ELSEWHERE = _reason("VolumeElsewhere", "a volume of the replica cannot be reached from the node", Cure.EDIT)
NO_VOLUME = _reason("NoVolumeThere", "no free volume there suits a claim, and none can be made there", Cure.EDIT)
NO_STORAGE_ROOM = _reason("NoStorageRoom", "the storage reports no room there for a claim's volume", Cure.ROOM)
TOO_MANY_VOLUMES = _reason(
    "TooManyVolumes", "the node would have more volumes of a driver attached than it can", Cure.EVICTION
)
FEATURE_MISSING = _reason("FeatureMissing", "the node does not declare a feature that the replica needs", Cure.EDIT)

FILTERS = (
    CLAIM_MISSING, CLAIM_UNBOUND, CLAIM_TAKEN, UNSCHEDULABLE, NODE_NOT_SELECTED, TAINT_NOT_TOLERATED, NO_ROOM,
    CORES_TAKEN, PORT_TAKEN, DISK_TAKEN, TOO_NEAR, NOT_NEAR, TOO_UNEVEN, VOLUME_ELSEWHERE, NO_VOLUME,
    NO_STORAGE_ROOM, TOO_MANY_VOLUMES, FEATURE_MISSING,
)  # fmt: skip
"""In the order in which they are asked; the first that fails is the reason."""
