"""Why a job waits, or why an object could not be used. Codes are part of the interface."""

from functools import partial

from fairlead.model.reasons import Cure, Reason

_reason = partial(Reason, level="queue")

UNKNOWN_QUEUE = _reason("UnknownQueue", "queue {queue} does not exist", Cure.EDIT)
UNKNOWN_GROUP = _reason("UnknownGroup", "PodGroup {group} does not exist", Cure.EDIT)
QUEUE_UNREADABLE = _reason("QueueUnreadable", "queue {queue} cannot be read: {why}", Cure.EDIT)
GROUP_AWAITED = _reason(
    "GroupAwaited",
    "{kind} {owner} announces a group of {count:pod|pods} (scheduling.volcano.sh/group-min-member), "
    "and the annotation scheduling.k8s.io/group-name does not name it yet",
    Cure.EDIT,
)
GROUP_UNREADABLE = _reason("GroupUnreadable", "PodGroup {group} cannot be read: {why}", Cure.EDIT)
SET_ASIDE = _reason("SetAside", "it could not be decided and waits for a change: {why}", Cure.EDIT)
QUEUE_CLOSED = _reason("QueueClosed", "queue {queue} is not open", Cure.EDIT)
QUEUE_NOT_LEAF = _reason("QueueNotLeaf", "queue {queue} has queues below it; jobs go to those", Cure.EDIT)
UNKNOWN_PARENT = _reason("UnknownParent", "queue {queue} names the parent {parent}, which does not exist", Cure.EDIT)
PARENT_CYCLE = _reason("ParentCycle", "queue {queue} is its own ancestor: {cycle}", Cure.EDIT)
PARENT_REFUSED = _reason("ParentRefused", "queue {queue} stands below {parent}, which cannot be used", Cure.EDIT)
WEIGHT_OUT_OF_RANGE = _reason(
    "WeightOutOfRange", "queue {queue} has the weight {weight}; expected 1 … {most}", Cure.EDIT
)
GUARANTEE_ABOVE_WHOLE = _reason(
    "GuaranteeAboveWhole",
    "queue {queue} is guaranteed {asked} {resource} of {whole}; the guarantee is not kept",
    Cure.EDIT,
)
GANG_ABOVE_REPLICAS = _reason(
    "GangAboveReplicas", "job {job} starts with at least {minimum} replicas and has {replicas}", Cure.EDIT
)

FIELD_NOT_OBEYED = _reason(
    "FieldNotObeyed", "it asks for {field}, which is not implemented; it is not placed against it", Cure.EDIT
)
QUEUE_CAPABILITY = _reason(
    "QueueCapability",
    "{count:replica needs|replicas need} {asked} {resource}; queue {queue} may hold {most} and has {left} left",
    Cure.EVICTION,
)
GANG_ABOVE_CAPABILITY = _reason(
    "GangAboveCapability",
    "{count:replica needs|replicas that start together need} {asked} {resource}; "
    "queue {queue} may never hold more than {most}",
    Cure.EDIT,
)
GANG_ABOVE_WHOLE = _reason(
    "GangAboveWhole",
    "{count:replica needs|replicas that start together need} {asked} {resource}; the whole is {whole}",
    Cure.ROOM,
)
GANG_SHORTFALL = _reason(
    "GangShortfall",
    "{count} replicas start together and need {asked} {resource}; {left} are left, room for {fits}",
    Cure.ROOM,
)
NAMESPACE_SHARE = _reason(
    "NamespaceShare",
    "{namespace} holds {held} {resource} in queue {queue} and its weight gives it {fair}; {left} are left",
    Cure.ROOM,
)
QUEUE_SHARE = _reason(
    "QueueShare",
    "queue {queue} holds {held} {resource} and deserves {fair}; {left} are left, {asked} are needed",
    Cure.ROOM,
)
ROOM_HELD = _reason(
    "RoomHeld",
    "queue {queue} holds {held} {resource} and deserves {fair}, but others hold the room; {left} are left",
    Cure.EVICTION,
)
ROOM_PROTECTED = _reason(
    "RoomProtected",
    "queue {queue} holds {held} {resource} and deserves {fair}; others hold the room and stay, for {rule}",
    Cure.EVICTION,
)
ROOM_RESERVED = _reason(
    "RoomReserved", "{left} {resource} are left and kept for {job}, which has waited longest", Cure.ROOM
)
NODES_FULL = _reason(
    "NodesFull", "there is room in sum, but nodes take {fits} of {count:replica|replicas}: {detail}", Cure.ROOM
)
EVICTED = _reason("Evicted", "{count:replica makes|replicas make} room for {beneficiary}, which comes first", Cure.ROOM)
NEXT_CYCLE = _reason("NextCycle", "room was made for it in this cycle; its turn comes in the next one", Cure.ROOM)
UNFINISHED = _reason(
    "SomeJobsWait", "{jobs:job waits|jobs wait}, {pending:replica|replicas} in all; most often: {code}", Cure.ROOM
)
