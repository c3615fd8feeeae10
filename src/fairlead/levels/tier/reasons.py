"""The reasons of the tier level: why a replica went where it went, why it was left alone, and what to warn about."""

from functools import partial

from fairlead.model.reasons import Cure, Reason

_reason = partial(Reason, level="tier")

# On demand
SLOT_GRANTED = _reason("SlotGranted", "takes slot {slot} of {target} on on-demand nodes")
SINGLE_REPLICA = _reason("SingleReplica", "{owner} has one replica, which must stay on an on-demand node")
ORDINAL_REQUIRED = _reason("OrdinalRequired", "replica {index} is among the first {target} of {owner}, counted from 0")
ALREADY_DECIDED = _reason("AlreadyDecided", "carries a slot and the rule for on-demand nodes from an earlier call")

# Spot
SLOTS_FULL = _reason("SlotsFull", "{held} of {target} slots on on-demand nodes are held, so it prefers spot nodes")
ORDINAL_BEYOND = _reason("OrdinalBeyond", "replica {index} is not among the first {target} of {owner}, counted from 0")

# Not now
SLOTS_UNRESOLVED = _reason(
    "SlotsUnresolved",
    "{reserved} of {target} slots were granted to replicas that have not appeared; ask again",
    Cure.ROOM,
)

# Left alone
NOT_CREATED = _reason("NotCreated", "only replicas being created are split, not {operation}")
NO_CONTROLLER = _reason("NoController", "no controller owns it")
MIRROR = _reason("Mirror", "it mirrors a replica that a node runs by itself")
OWNER_KIND = _reason("OwnerKind", "replicas of a {kind} are not split")
NO_DEPLOYMENT = _reason("NoDeployment", "ReplicaSet {owner} belongs to no Deployment")
OWNER_NOT_FOUND = _reason("OwnerNotFound", "{kind} {owner} cannot be found", Cure.EDIT)
NO_TIERS = _reason(
    "NoTiers", "no node carries a label that tells on-demand from spot, so {owner} is not split", Cure.EDIT
)
SYSTEM_PRIORITY = _reason("SystemPriority", "{owner} has a priority class of the system, which is never split")
OPTED_OUT = _reason("OptedOut", "{owner} carries the label that opts out of tiers", Cure.EDIT)
NO_MINIMUM = _reason("NoMinimum", "{owner} has several replicas and asks for no minimum on on-demand nodes")
INVALID_MINIMUM = _reason(
    "InvalidMinimum",
    "min-available of {owner} is {text!r}; expected a whole number such as 2, or a percentage from 0% to 100%",
    Cure.EDIT,
)
SCALED_TO_ZERO = _reason("ScaledToZero", "{owner} is scaled to zero")
NO_ORDINAL = _reason("NoOrdinal", "the name {name!r} is not that of a replica of StatefulSet {owner}", Cure.EDIT)
USER_PINNED = _reason("UserPinned", "its own node rules {pin}; they are kept as they are", Cure.EDIT)

# Said beside a decision
QUORUM = _reason(
    "Quorum",
    "min-available of StatefulSet {owner} means {minimum} of {replicas} replicas; between half and all are expected",
    Cure.EDIT,
)
DELETION_COST_KEPT = _reason(
    "DeletionCostKept",
    "its own deletion cost {cost} is kept, so replicas on on-demand nodes may not be the last to go",
    Cure.EDIT,
)
