"""Reasons that belong to the composition of levels, and the catalogue of all reasons there are."""

from fairlead.levels.disk import reasons as disk
from fairlead.levels.fleet import reasons as fleet
from fairlead.levels.node import reasons as node
from fairlead.levels.node.constraints import reasons as constraints
from fairlead.levels.queue import reasons as queue
from fairlead.levels.tier import reasons as tier
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

ENGINE = (NO_NODE, GANG_DOES_NOT_FIT, SITE_UNKNOWN, QUOTA_EXCEEDED, HELD_BACK)


def every_reason() -> tuple[Reason, ...]:
    """All reasons of all levels, for documentation and checks."""
    return (
        *fleet.REASONS,
        *tier.REASONS,
        *queue.REASONS,
        *node.REASONS,
        *constraints.FILTERS,
        *disk.REASONS,
        *ENGINE,
    )
