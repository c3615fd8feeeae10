"""What a binding is told: the reason of its Scheduled condition and a sentence."""

from collections.abc import Mapping

from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.divide import Division
from fairlead.model.order import natural_sorted
from fairlead.model.reasons import Cure, Finding

SUCCESS = "Success"
NO_CLUSTER_FIT = "NoClusterFit"
UNSCHEDULABLE = "Unschedulable"
SCHEDULER_ERROR = "SchedulerError"
NAMES = 8
"""Clusters named in a sentence; of the others only the number is told."""

_NO_FIT = (reasons.NO_CLUSTERS, reasons.NO_CLUSTER_FITS, reasons.SPREAD_UNMET, reasons.ZERO_WEIGHTS)
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


def placed(counts: Mapping[str, int], *, workload: bool, note: str = "") -> str:
    """Who got how many, and why."""
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
