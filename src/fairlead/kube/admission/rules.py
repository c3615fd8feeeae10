"""The two tiers as node rules, and what a pod's own rules say about them."""

from dataclasses import dataclass

from fairlead.kube.admission.labels import LabelSet, of_requirement, of_selector, of_terms
from fairlead.kube.objects.affinity import NodeSelectorTerm, TolerationSpec
from fairlead.kube.objects.meta import RequirementSpec
from fairlead.kube.objects.pod import PodSpec
from fairlead.model.owners import TierPin

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
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
CAPACITY = "node.kubernetes.io/capacity"
ON_DEMAND = RequirementSpec(key=CAPACITY, operator="In", values=("on-demand",))
SPOT = RequirementSpec(key=CAPACITY, operator="In", values=("spot",))


@dataclass(frozen=True, slots=True, kw_only=True)
class TierRules:
    """How the nodes of this cluster are told apart, and what pods that prefer spot need besides."""

    on_demand: RequirementSpec = ON_DEMAND
    spot: RequirementSpec = SPOT
    weight: int = 100
    tolerations: tuple[TolerationSpec, ...] = ()


def pin_of(spec: PodSpec, rules: TierRules) -> TierPin:
    """What the user's own node selector and required affinity say about on-demand nodes.

    A pod that already names its node bypasses the scheduler, so no rule about nodes would be read.
    """
    if spec.node_name:
        return TierPin.NAMED
    wanted = of_requirement(rules.on_demand)
    sets = _allowed(spec, rules.on_demand.key)
    if not sets:
        return TierPin.NONE
    if all((allowed & wanted).empty for allowed in sets):
        return TierPin.ELSEWHERE
    return TierPin.ON_DEMAND if all(allowed.within(wanted) for allowed in sets) else TierPin.NONE


def requires_on_demand(spec: PodSpec, rules: TierRules) -> bool:
    """Whether every node that the pod's rules allow is on demand; so it is where they allow no node at all."""
    wanted = of_requirement(rules.on_demand)
    return all(allowed.within(wanted) for allowed in _allowed(spec, rules.on_demand.key))


def _allowed(spec: PodSpec, key: str) -> list[LabelSet]:
    """What the pod's rules allow for `key`, one set for each way to satisfy them; none where nothing can."""
    selector = of_selector(spec.node_selector, key)
    terms = _required_terms(spec)
    return [selector] if terms is None else [selector & each for each in of_terms(terms, key)]


def _required_terms(spec: PodSpec) -> tuple[NodeSelectorTerm, ...] | None:
    affinity = spec.affinity.node_affinity if spec.affinity else None
    return affinity.required.node_selector_terms if affinity and affinity.required else None
