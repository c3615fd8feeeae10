"""Why a node cannot take a replica."""

from fairlead.model.reasons import Cure, Reason


def _reason(code: str, sentence: str, cure: Cure) -> Reason:
    return Reason(code=code, level="node", sentence=sentence, cure=cure)


UNSCHEDULABLE = _reason("NodeUnschedulable", "the node is cordoned or not ready", Cure.EDIT)
NODE_NOT_SELECTED = _reason(
    "NodeNotSelected", "the node does not match the replica's node selector or required node affinity", Cure.EDIT
)
TAINT_NOT_TOLERATED = _reason("TaintNotTolerated", "the node has a taint that the replica does not tolerate", Cure.EDIT)
NO_ROOM = _reason("InsufficientRoom", "the node has no room for one more replica", Cure.ROOM)
PORT_TAKEN = _reason("PortTaken", "a port that the replica needs on the node itself is taken", Cure.EVICTION)
TOO_NEAR = _reason(
    "TooNear", "a replica runs there that this one must stay apart from, or that refuses it", Cure.EVICTION
)
NOT_NEAR = _reason("NotNear", "no replica runs there that this one must be near to", Cure.ROOM)
TOO_UNEVEN = _reason("TooUneven", "one more replica there would exceed a topology spread's skew", Cure.ROOM)

FILTERS = (
    UNSCHEDULABLE,
    NODE_NOT_SELECTED,
    TAINT_NOT_TOLERATED,
    NO_ROOM,
    PORT_TAKEN,
    TOO_NEAR,
    NOT_NEAR,
    TOO_UNEVEN,
)
"""In the order in which they are asked; the first that fails is the reason."""
