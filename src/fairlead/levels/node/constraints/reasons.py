"""Why a node cannot take a replica."""

from fairlead.model.reasons import Cure, Reason

UNSCHEDULABLE = Reason(code="NodeUnschedulable", level="node", sentence="the node is cordoned", cure=Cure.EDIT)
NODE_NOT_SELECTED = Reason(
    code="NodeNotSelected",
    level="node",
    sentence="the node does not match the replica's node selector or required node affinity",
    cure=Cure.EDIT,
)
TAINT_NOT_TOLERATED = Reason(
    code="TaintNotTolerated",
    level="node",
    sentence="the node has a taint that the replica does not tolerate",
    cure=Cure.EDIT,
)
NO_ROOM = Reason(
    code="InsufficientRoom", level="node", sentence="the node has no room for one more replica", cure=Cure.ROOM
)

FILTERS = (UNSCHEDULABLE, NODE_NOT_SELECTED, TAINT_NOT_TOLERATED, NO_ROOM)
"""In the order in which they are asked; the first that fails is the reason."""
