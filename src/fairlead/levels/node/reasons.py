"""Why a node takes no more replicas, and why a placement is short."""

from fairlead.model.reasons import Cure, Reason

INSUFFICIENT_CAPACITY = Reason(
    code="InsufficientCapacity",
    level="node",
    sentence="{missing} of {wanted:replica does|replicas do} not fit: {where}",
    cure=Cure.ROOM,
)
ALREADY_FILLED = Reason(
    code="AlreadyFilled",
    level="node",
    sentence="{nodes} nodes already hold {each} replicas or more",
    cure=Cure.NOTHING,
)
INSUFFICIENT_CPU = Reason(
    code="InsufficientCpu", level="node", sentence="the node has not enough free cpu for one replica", cure=Cure.ROOM
)
INSUFFICIENT_CORES = Reason(
    code="InsufficientCores",
    level="node",
    sentence="the free cores of the node, whole and shared, do not make one replica",
    cure=Cure.ROOM,
)
INSUFFICIENT_MEMORY = Reason(
    code="InsufficientMemory",
    level="node",
    sentence="the node has not enough free memory for one replica",
    cure=Cure.ROOM,
)
INSUFFICIENT_STORAGE = Reason(
    code="InsufficientStorage",
    level="node",
    sentence="the node has not enough free storage for one replica",
    cure=Cure.ROOM,
)
INSUFFICIENT_VOLUMES = Reason(
    code="InsufficientVolumes",
    level="node",
    sentence="the free volumes of the node cannot hold the volumes of one replica",
    cure=Cure.ROOM,
)
INSUFFICIENT_PODS = Reason(
    code="InsufficientPods", level="node", sentence="the node runs as many pods as it may", cure=Cure.ROOM
)
INSUFFICIENT_RESOURCE = Reason(
    code="InsufficientResource",
    level="node",
    sentence="the node has not enough of an extended resource for one replica",
    cure=Cure.ROOM,
)
NO_CAPACITY = Reason(code="NoCapacity", level="node", sentence="the node is given with a capacity of 0", cure=Cure.ROOM)
NODE_LIMIT_REACHED = Reason(
    code="NodeLimitReached",
    level="node",
    sentence="the node already holds as many replicas as nodesLimit allows",
    cure=Cure.EDIT,
)

REASONS: tuple[Reason, ...] = (
    INSUFFICIENT_CAPACITY,
    ALREADY_FILLED,
    INSUFFICIENT_CPU,
    INSUFFICIENT_CORES,
    INSUFFICIENT_MEMORY,
    INSUFFICIENT_STORAGE,
    INSUFFICIENT_VOLUMES,
    INSUFFICIENT_PODS,
    INSUFFICIENT_RESOURCE,
    NO_CAPACITY,
    NODE_LIMIT_REACHED,
)
