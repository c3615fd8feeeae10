"""The reasons that belong to the composition of levels."""

from fairlead.model.reasons import Cure, Reason

NO_NODE = Reason(
    code="NoNodeFits",
    level="node",
    sentence="{unplaced} of {asked} found no node: {why}",
    cure=Cure.ROOM,
)
GANG_DOES_NOT_FIT = Reason(
    code="GangDoesNotFit",
    level="node",
    sentence="only {placeable} of the {least} replicas that start together fit the nodes, so none is started: {why}",
    cure=Cure.ROOM,
)
QUOTA_EXCEEDED = Reason(
    code="QuotaExceeded",
    level="queue",
    sentence="the ResourceQuota {quota} leaves room for fewer than the {asked} asked for",
    cure=Cure.EDIT,
)
HELD_BACK = Reason(code="HeldBack", level="queue", sentence="nothing of it is started: {why}", cure=Cure.EDIT)
SITE_UNKNOWN = Reason(
    code="ClusterNotSeen",
    level="fleet",
    sentence="{replicas:replica goes|replicas go} to cluster {cluster}, whose nodes are not part of the snapshot",
    cure=Cure.NOTHING,
)
