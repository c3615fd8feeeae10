"""A Karmada binding with its placement to the division that it asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairlead.kube.codec.decided import stands
from fairlead.kube.codec.groups import ALONE, Neighbours
from fairlead.kube.codec.last_result import prior_of
from fairlead.kube.codec.members import PlacementClaims, table_of
from fairlead.kube.codec.placement import MOST, Knobs, knobs_of, policy_of
from fairlead.kube.decode import convert
from fairlead.kube.errors import AnswerError
from fairlead.kube.objects.karmada import (
    KarmadaCluster,
    KarmadaPlacement,
    ReplicaRequirements,
    ResourceBinding,
    TargetComponent,
)
from fairlead.kube.objects.meta import Raw
from fairlead.kube.timestamps import seconds
from fairlead.levels.fleet.room import Part
from fairlead.model.amounts import exact
from fairlead.model.division import DivideWorkload, DivisionAsk, Reschedule, Sticky
from fairlead.model.errors import InputError

POLICY_NAMESPACE = "propagationpolicy.karmada.io/namespace"
POLICY_NAME = "propagationpolicy.karmada.io/name"
FLEET_POLICY_NAME = "clusterpropagationpolicy.karmada.io/name"


def policy_key(binding: ResourceBinding) -> tuple[str, str] | None:
    """Namespace ('' for one of the whole fleet) and name of the policy that Karmada made the binding for."""
    said = binding.metadata.annotations
    if name := said.get(POLICY_NAME):
        return said.get(POLICY_NAMESPACE, binding.metadata.namespace), name
    return ("", said[FLEET_POLICY_NAME]) if said.get(FLEET_POLICY_NAME) else None


def knobs_for(binding: ResourceBinding, of_policy: Knobs | None = None) -> Knobs:
    """The knobs of a binding: its own annotation comes before that of its policy."""
    own = knobs_of(binding.metadata.annotations, name_of(binding))
    return own if of_policy is None or own != Knobs() else of_policy


def name_of(binding: ResourceBinding) -> str:
    """How a binding is called in messages."""
    return f"{binding.metadata.namespace}/{binding.metadata.name}".lstrip("/")


def placement_of(raw: Raw | None, who: str) -> KarmadaPlacement:
    """The fields of a placement that are read; `InputError` where there is none or it cannot be read."""
    if raw is None:
        raise InputError(f"{who}: spec.placement", "is missing; expected the placement of a policy")
    try:
        return convert(raw, KarmadaPlacement, "not a placement")
    except AnswerError as error:
        raise InputError(f"{who}: spec.placement", str(error)) from None


def binding_ask(
    binding: ResourceBinding,
    clusters: Sequence[KarmadaCluster],
    knobs: Knobs | None = None,
    neighbours: Neighbours = ALONE,
    estimates: Mapping[str, int] | None = None,
    sticky: Sticky = Sticky.MOST,
) -> DivisionAsk:
    """The division a binding asks for. `InputError` where it has no placement or one that cannot be used.

    `knobs` are those of its policy, where they are known; the binding's own annotation comes first, and `sticky` is for
    those that say nothing of it. Where nothing asks for a new division, the ask says so (`Reschedule.KEEP`).
    """
    spec = binding.spec
    who = name_of(binding)
    if not 0 <= spec.replicas <= MOST:
        raise InputError(f"{who}: spec.replicas", f"{spec.replicas}; expected 0 to 2^48")
    claims = PlacementClaims(
        request=_request(spec.replica_requirements, f"{who}: spec.replicaRequirements"),
        parts=_parts(binding),
        evicting=frozenset(each.from_cluster for each in spec.graceful_eviction_tasks),
        api=(spec.resource.api_version, spec.resource.kind),
        neighbours=neighbours,
        estimates=estimates or {},
    )
    uid = spec.resource.uid or f"{spec.resource.namespace}/{spec.resource.name}"
    workload = DivideWorkload(name=who, replicas=spec.replicas, uid=uid, tie_uid=spec.resource.uid)
    return ask_of(workload, binding, clusters, claims, knobs_for(binding, knobs), who, sticky)


def _request(given: ReplicaRequirements | None, who: str) -> dict[str, int]:
    asked = given.resource_request if given else {}
    return {name: exact(name, value, f"{who}.resourceRequest.{name}") for name, value in asked.items()}


def is_set(binding: ResourceBinding) -> bool:
    """Whether the workload is a set of components, which goes whole to a cluster.

    One component beside replicas is that of an ordinary workload.
    """
    return len(binding.spec.components) > (1 if binding.spec.replicas else 0)


def _parts(binding: ResourceBinding) -> tuple[Part, ...]:
    """The components of a set that have replicas; none for other workloads."""
    who = f"{name_of(binding)}: spec.components"
    if not is_set(binding):
        return ()
    if binding.spec.replicas:
        raise InputError(who, "stand beside spec.replicas; a set of components goes whole to a cluster")
    parts = []
    for place, each in enumerate(binding.spec.components):
        if not 0 <= each.replicas <= MOST:
            raise InputError(f"{who}[{place}].replicas", f"{each.replicas}; expected 0 to 2^48")
        asked = _request(each.replica_requirements, f"{who}[{place}].replicaRequirements")
        parts.append(Part(replicas=each.replicas, request=asked))
    return tuple(each for each in parts if each.replicas)


def components_of(binding: ResourceBinding) -> tuple[TargetComponent, ...]:
    """What a target says of the parts of a workload with several pod templates that goes to exactly one cluster.

    As karmada-scheduler records it; nothing for any other binding.
    """
    components = binding.spec.components
    if len(components) < 2:
        return ()
    spread = placement_of(binding.spec.placement, name_of(binding)).spread_constraints
    if not any((each.spread_by_field, each.min_groups, each.max_groups) == ("cluster", 1, 1) for each in spread):
        return ()
    return tuple(TargetComponent(name=each.name, replicas=each.replicas) for each in components)


def ask_of(
    workload: DivideWorkload,
    binding: ResourceBinding,
    clusters: Sequence[KarmadaCluster],
    claims: PlacementClaims,
    knobs: Knobs,
    who: str,
    sticky: Sticky = Sticky.MOST,
) -> DivisionAsk:
    """The division of a workload whose binding, as it is or will be, has a placement."""
    placement = placement_of(binding.spec.placement, who)
    fresh = wants_fresh(binding)
    observed = binding.status.scheduler_observing_affinity_name
    ask = DivisionAsk(
        workload=workload,
        clusters=table_of(clusters, placement, knobs, who, claims),
        policy=policy_of(placement, knobs, who, fresh=fresh, observed=observed, sticky=sticky),
        prior=prior_of(binding),
    )
    if fresh or not stands(binding, ask, knobs):
        return ask
    return replace(ask, policy=replace(ask.policy, reschedule=Reschedule.KEEP))


def wants_fresh(binding: ResourceBinding) -> bool:
    """Whether a new start was triggered after the last division; one that never was divided needs none."""
    triggered = _moment(binding, "spec.rescheduleTriggeredAt", binding.spec.reschedule_triggered_at)
    last = _moment(binding, "status.lastScheduledTime", binding.status.last_scheduled_time)
    return triggered is not None and last is not None and triggered > last


def _moment(binding: ResourceBinding, field: str, text: str | None) -> float | None:
    try:
        return None if text is None else seconds(text)
    except InputError as error:
        raise InputError(f"{name_of(binding)}: {field}", error.message) from None
