"""What a binding is told: reason and message of its Scheduled condition, in the words of karmada-scheduler where it
has some (docs/decisions/0217), and a sentence of our own for events and pages.
"""

from collections import Counter
from collections.abc import Mapping

from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.divide import Division
from fairlead.levels.fleet.match import untolerated
from fairlead.model.division import NO_PRIOR, DivisionAsk
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import Cure, Finding
from fairlead.model.selectors import Taint

SUCCESS = "Success"
NO_CLUSTER_FIT = "NoClusterFit"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
QUOTA_EXCEEDED = "QuotaExceeded"
SUCCEEDED = "Binding has been scheduled successfully."
NAMES = 8
"""Clusters named in a sentence; of the others only the number is told."""

_NO_FIT = (reasons.NO_CLUSTERS, reasons.NO_CLUSTER_FITS, reasons.SPREAD_UNMET, reasons.ZERO_WEIGHTS)
_FILTERS = {
    reasons.AFFINITY_MISMATCH: "did not match the placement cluster affinity constraint",
    reasons.KIND_NOT_SERVED: "did not have the API resource",
    reasons.FAR_FROM_GROUP: "did not match the workload affinity group",
    reasons.NEAR_GROUP: "held a workload of the same anti-affinity group",
    reasons.SET_WITHOUT_ROOM: "did not have room for all components together",
    reasons.EVICTING: "is in the process of eviction",
}
_CURES = {
    Cure.ROOM: "more room on a cluster would help",
    Cure.EVICTION: "moving something else away would help",
    Cure.EDIT: "the policy, the workload or a cluster has to change",
    Cure.NOTHING: "nothing needs to change",
}


def reason_of(finding: Finding | None) -> str:
    """Karmada's word for a finding."""
    if finding is None:
        return SUCCESS
    return NO_CLUSTER_FIT if finding.reason in _NO_FIT else UNSCHEDULABLE


def spills(ask: DivisionAsk) -> bool:
    """Whether an affinity of the policy may spill over to further clusters."""
    return any(each.overflow for each in ask.policy.affinities)


def message_of(finding: Finding | None, ask: DivisionAsk, division: Division) -> str:
    """What the condition says."""
    if finding is None:
        return SUCCEEDED
    if finding.reason is reasons.INSUFFICIENT_ROOM and division.rule == "refused":
        if spills(ask):
            return "failed to assign replicas: Clusters available replicas are not enough to schedule."
        held = sum((ask.prior or NO_PRIOR).counts.get(name, 0) for name in division.chosen)
        room = int(finding.details["room"]) - held
        why = f"failed to scale up: Clusters available replicas {room} are not enough to schedule."
        return f"failed to assign replicas: {why}"
    return refused(division, finding)


def no_cluster_fits(ask: DivisionAsk, division: Division) -> str:
    """Which filter took how many clusters. One that is being deleted counts, but no filter is named for it."""
    refusals: Counter[str] = Counter()
    for name, reason in division.removed.items():
        if reason is reasons.TAINT_NOT_TOLERATED:
            taint = untolerated(ask.clusters.traits_of(ask.clusters.row[name]).taints, ask.policy.tolerations)
            refusals[f"had untolerated taint {{{_taint(taint)}}}"] += 1
        elif reason in _FILTERS:
            refusals[_FILTERS[reason]] += 1
    parts = ", ".join(sorted(f"{count} cluster(s) {what}" for what, count in refusals.items()))
    return f"0/{len(ask.clusters)} clusters are available" + (f": {parts}." if parts else ".")


def _taint(taint: Taint | None) -> str:
    """`key=value:effect`, without what is empty."""
    if taint is None:
        return ""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def placed(counts: Mapping[str, int], *, workload: bool, note: str = "") -> str:
    """How many each cluster got, and why."""
    if not counts:
        return "no replicas are asked for, so no cluster gets any"
    names = natural_sorted(counts)
    parts = [f"{name} {counts[name]}" if workload else name for name in names[:NAMES]]
    more = f" and {len(names) - NAMES} more" if len(names) > NAMES else ""
    what = f"{sum(counts.values())} replicas over " if workload else ""
    clusters = "1 cluster" if len(names) == 1 else f"{len(names)} clusters"
    return f"{what}{clusters}: {', '.join(parts)}{more}" + (f"; {note}" if note else "")


def refused(division: Division, finding: Finding) -> str:
    """Why a division was not made, or not wholly, and what would help."""
    left = "" if division.rule != "refused" else "; what runs stays as it is"
    return f"{finding.sentence} ({finding.code}){left}; {_CURES[finding.reason.cure]}"
