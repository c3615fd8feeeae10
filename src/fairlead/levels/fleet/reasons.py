"""The reasons of the fleet level."""

from functools import partial

from fairlead.model.reasons import Cure, Reason

_reason = partial(Reason, level="fleet")

NO_CLUSTERS = _reason("NoClusters", "there is no cluster to divide {replicas:replica|replicas} over", Cure.EDIT)
NO_CLUSTER_FITS = _reason("NoClusterFits", "none of {considered} clusters passes the filters: {why}", Cure.EDIT)
ZERO_WEIGHTS = _reason(
    "ZeroWeights", "all {clusters} clusters have weight 0, so no cluster may get the {replicas} replicas", Cure.EDIT
)
INSUFFICIENT_ROOM = _reason(
    "InsufficientRoom", "the clusters have room for {room} of {replicas} replicas, {missing:is|are} missing", Cure.ROOM
)
MINIMUMS_TOO_HIGH = _reason(
    "MinimumsTooHigh", "the minimums of the clusters sum to {minimums}, more than the {replicas} replicas", Cure.EDIT
)
MAXIMUMS_TOO_LOW = _reason(
    "MaximumsTooLow",
    "the maximums of the clusters allow {room} of {replicas} replicas, {missing:is|are} left",
    Cure.EDIT,
)
MINIMUM_WITHOUT_ROOM = _reason(
    "MinimumWithoutRoom", "{cluster} must get at least {minimum:replica|replicas} and has room for {room}", Cure.ROOM
)
SPREAD_UNMET = _reason("SpreadUnmet", "no choice of clusters meets the spread constraints: {why}", Cure.EDIT)

DELETING = _reason("ClusterDeleting", "the cluster is being deleted", Cure.EDIT)
EVICTING = _reason("ClusterEvicting", "the workload is being evicted from the cluster", Cure.EDIT)
AFFINITY_MISMATCH = _reason("AffinityMismatch", "the cluster does not match the affinity of the policy", Cure.EDIT)
KIND_NOT_SERVED = _reason("KindNotServed", "the cluster does not serve the kind of the workload", Cure.EDIT)
UNREADABLE = _reason("ClusterUnreadable", "the cluster cannot be read, so nothing is known of it", Cure.EDIT)
FAR_FROM_GROUP = _reason("FarFromGroup", "the cluster holds no other workload of the same affinity group", Cure.EDIT)
NEAR_GROUP = _reason("NearGroup", "the cluster holds another workload of the same anti-affinity group", Cure.EDIT)
SET_WITHOUT_ROOM = _reason(
    "SetWithoutRoom", "the cluster has no room for all components of the workload together", Cure.ROOM
)
TAINT_NOT_TOLERATED = _reason("TaintNotTolerated", "the cluster has a taint the policy does not tolerate", Cure.EDIT)
NOT_CHOSEN = _reason("NotChosenBySpread", "the spread constraints are met better by other clusters", Cure.EDIT)

FILTERS: tuple[Reason, ...] = (
    DELETING, AFFINITY_MISMATCH, KIND_NOT_SERVED, FAR_FROM_GROUP, UNREADABLE, NEAR_GROUP, SET_WITHOUT_ROOM,
    TAINT_NOT_TOLERATED, EVICTING, NOT_CHOSEN,
)  # fmt: skip
"""Why one cluster is out; a reason column holds the place in this tuple plus one, 0 where the cluster passes."""
