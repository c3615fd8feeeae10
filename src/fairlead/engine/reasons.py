"""The reasons that belong to the composition of levels."""

from fairlead.model.reasons import Cure, Reason

NO_NODE = Reason("NoNodeFits", "{unplaced} of {asked} found no node: {why}", Cure.ROOM, level="node")
GANG_DOES_NOT_FIT = Reason(
    "GangDoesNotFit",
    "only {placeable} of the {least} replicas that start together fit the nodes, so none is started: {why}",
    Cure.ROOM,
    level="node",
)
QUOTA_EXCEEDED = Reason(
    "QuotaExceeded",
    "the ResourceQuota {quota} leaves room for fewer than the {asked} asked for",
    Cure.EDIT,
    level="queue",
)
HELD_BACK = Reason("HeldBack", "nothing of it is started: {why}", Cure.EDIT, level="queue")
SITE_UNKNOWN = Reason(
    "ClusterNotSeen",
    "{replicas:replica goes|replicas go} to cluster {cluster}, whose nodes are not part of the snapshot",
    Cure.NOTHING,
    level="fleet",
)
