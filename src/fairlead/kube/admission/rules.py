"""Labels and annotations of the tier level, and what a pod's own node rules say about the tiers."""

from collections.abc import Callable, Iterable, Mapping

from fairlead.kube.admission.labels import LabelSet, of_requirement, of_selector, of_terms
from fairlead.kube.objects.affinity import NodeSelectorTerm
from fairlead.kube.objects.pod import PodSpec
from fairlead.model.owners import Exempt, TierPin
from fairlead.model.selectors import Requirement
from fairlead.model.tiers import Tiers

MINIMUM = "distributed-scheduling/min-available"
"""Annotation of a workload: how many of its replicas belong on on-demand nodes."""
MARKER = "distributed-scheduling/desired-capacity"
"""Label of a pod: the tier it was given."""
PENDING = "pending"
"""Value of the marker while a pod waits behind the gate."""
GATE = "fairlead.io/tier"
"""Scheduling gate of pods that wait for their tier (gated mode)."""
SLOT = "distributed-scheduling/slot"
"""Annotation of a pod: the slot it was granted."""
OPT_OUT = "distributed-scheduling/tier"
"""Label of a workload or its pods: with the value `none` the tier level leaves them alone."""
SYSTEM_CLASSES = "system-"
"""How the names of the system's own priority classes begin; Kubernetes lets nobody else use that beginning."""
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
COST = "1"
"""The deletion cost that a pod with a slot is given."""


def exempt(priority_class: str, *labels: Mapping[str, str]) -> Exempt:
    """Whether a pod of this class, or its workload, is left alone by the tier level; `labels` are those of both."""
    if any(each.get(OPT_OUT) == "none" for each in labels):
        return Exempt.OPTED_OUT
    return Exempt.SYSTEM if priority_class.startswith(SYSTEM_CLASSES) else Exempt.NONE


def pin_of(spec: PodSpec, tiers: Tiers) -> TierPin:
    """What the user's own node selector and required affinity say about on-demand nodes.

    A pod that already names its node bypasses the scheduler, so no rule about nodes would be read.
    """
    if spec.node_name:
        return TierPin.NAMED
    excluded = _excluded(spec, tiers)
    if not excluded:
        return TierPin.NONE
    if all(excluded):
        return TierPin.ELSEWHERE
    return TierPin.ON_DEMAND if requires_on_demand(spec, tiers) else TierPin.NONE


def excludes_on_demand(spec: PodSpec, tiers: Tiers) -> bool:
    """Whether the pod's rules allow no on-demand node, wherever it runs now."""
    excluded = _excluded(spec, tiers)
    return bool(excluded) and all(excluded)


def _excluded(spec: PodSpec, tiers: Tiers) -> list[bool]:
    """For each way to satisfy the pod's rules, whether it leads to no on-demand node."""
    return [any(way) for way in _ways(spec, tiers.on_demand, lambda allowed, wanted: (allowed & wanted).empty)]


def requires_on_demand(spec: PodSpec, tiers: Tiers) -> bool:
    """Whether every node that the pod's rules allow is on demand; so it is where they allow no node at all.

    Nothing is on demand in a cluster without tiers.
    """
    if not tiers.present:
        return False
    needed = [all(way) for way in _ways(spec, tiers.on_demand, LabelSet.within)]
    shown = [any(way) for way in _ways(spec, tiers.marked, LabelSet.within)] or [False] * len(needed)
    return all(by_rule or by_mark for by_rule, by_mark in zip(needed, shown, strict=True))


def _ways(
    spec: PodSpec, conditions: Iterable[Requirement], says: Callable[[LabelSet, LabelSet], bool]
) -> list[tuple[bool, ...]]:
    """For each way to satisfy the pod's rules, what `says` makes of it and of each condition."""
    columns = [[says(allowed, of_requirement(each)) for allowed in _allowed(spec, each.key)] for each in conditions]
    return list(zip(*columns, strict=True))


def _allowed(spec: PodSpec, key: str) -> list[LabelSet]:
    """What the pod's rules allow for `key`, one set for each way to satisfy them; none where nothing can."""
    selector = of_selector(spec.node_selector, key)
    terms = _required_terms(spec)
    return [selector] if terms is None else [selector & each for each in of_terms(terms, key)]


def _required_terms(spec: PodSpec) -> tuple[NodeSelectorTerm, ...] | None:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return affinity.required.node_selector_terms if affinity and affinity.required else None
