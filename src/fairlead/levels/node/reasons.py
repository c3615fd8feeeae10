"""Why a node takes no more replicas, and why a placement is short."""

from functools import partial

from fairlead.model.reasons import Cure, Reason

_reason = partial(Reason, level="node")

INSUFFICIENT_CAPACITY = _reason(
    "InsufficientCapacity", "{missing} of {wanted:replica does|replicas do} not fit: {where}", Cure.ROOM
)
ALREADY_FILLED = _reason(
    "AlreadyFilled", "{nodes:node already holds|nodes already hold} {each:replica|replicas} or more", Cure.NOTHING
)
INSUFFICIENT_CPU = _reason("InsufficientCpu", "the node has not enough free cpu for one replica", Cure.ROOM)
INSUFFICIENT_CORES = _reason(
    "InsufficientCores", "the free cores of the node, whole and shared, do not make one replica", Cure.ROOM
)
INSUFFICIENT_MEMORY = _reason("InsufficientMemory", "the node has not enough free memory for one replica", Cure.ROOM)
INSUFFICIENT_STORAGE = _reason("InsufficientStorage", "the node has not enough free storage for one replica", Cure.ROOM)
INSUFFICIENT_VOLUMES = _reason(
    "InsufficientVolumes", "the free volumes of the node cannot hold the volumes of one replica", Cure.ROOM
)
INSUFFICIENT_PODS = _reason("InsufficientPods", "the node runs as many pods as it may", Cure.ROOM)
INSUFFICIENT_RESOURCE = _reason(
    "InsufficientResource", "the node has not enough of an extended resource for one replica", Cure.ROOM
)
NO_CAPACITY = _reason("NoCapacity", "the node is given with a capacity of 0", Cure.ROOM)
NODE_LIMIT_REACHED = _reason(
    "NodeLimitReached", "the node already holds as many replicas as nodesLimit allows", Cure.EDIT
)
