"""Karmada objects to divisions: a binding with its placement, or a workload with the policy that selects it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec

from fairlead.kube.decode import convert
from fairlead.kube.errors import AnswerError
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.decided import stands
from fairlead.kube.manifests.groups import ALONE, Neighbours
from fairlead.kube.manifests.last_result import prior_of
from fairlead.kube.manifests.placement import (
    MOST,
    Knobs,
    PlacementClaims,
    affinity_of,
    knobs_of,
    policy_of,
    table_of,
    unreadable,
)
from fairlead.kube.objects.karmada import (
    BoundResource,
    ClusterAffinity,
    KarmadaCluster,
    KarmadaPlacement,
    PropagationPolicy,
    ReplicaRequirements,
    ResourceBinding,
    ResourceSelector,
)
from fairlead.kube.objects.meta import Raw
from fairlead.kube.objects.workloads import BatchJob, Deployment, ReplicaSet, StatefulSet
from fairlead.kube.timestamps import seconds
from fairlead.levels.fleet.match import suits
from fairlead.levels.fleet.room import PODS
from fairlead.model.amounts import exact
from fairlead.model.clusters import Traits
from fairlead.model.division import DivideWorkload, DivisionAsk, Reschedule
from fairlead.model.errors import InputError
from fairlead.model.workload import Workload

_VERSIONS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}
_SHAPES: Mapping[str, type[Deployment | StatefulSet | ReplicaSet | BatchJob]] = {
    "Deployment": Deployment,
    "StatefulSet": StatefulSet,
    "ReplicaSet": ReplicaSet,
    "Job": BatchJob,
}


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
) -> DivisionAsk:
    """The division a binding asks for. `InputError` where it has no placement or one that cannot be used.

    `knobs` are those of its policy, where they are known; the binding's own annotation comes first. Where nothing
    asks for a new division, the ask says so (`Reschedule.KEEP`).
    """
    spec = binding.spec
    who = name_of(binding)
    if not 0 <= spec.replicas <= MOST:
        raise InputError(f"{who}: spec.replicas", f"{spec.replicas}; expected 0 to 2^48")
    claims = PlacementClaims(
        request=_request(spec.replica_requirements, f"{who}: spec.replicaRequirements"),
        whole=_whole_set(binding),
        evicting=frozenset(each.from_cluster for each in spec.graceful_eviction_tasks),
        api=(spec.resource.api_version, spec.resource.kind),
        neighbours=neighbours,
    )
    uid = spec.resource.uid or f"{spec.resource.namespace}/{spec.resource.name}"
    workload = DivideWorkload(name=who, replicas=spec.replicas, uid=uid, tie_uid=spec.resource.uid)
    return _asked(workload, binding, clusters, claims, knobs_for(binding, knobs), who)


def _request(given: ReplicaRequirements | None, who: str) -> dict[str, int]:
    asked = given.resource_request if given else {}
    return {name: exact(name, value, f"{who}.resourceRequest.{name}") for name, value in asked.items()}


def _whole_set(binding: ResourceBinding) -> dict[str, int]:
    """What all components of a workload with several pod templates ask for together; empty for others."""
    components = binding.spec.components
    who = f"{name_of(binding)}: spec.components"
    if len(components) < 2:
        return {}
    if binding.spec.replicas:
        raise InputError(who, "stand beside spec.replicas; a set of components goes whole to a cluster")
    whole: dict[str, int] = {PODS: 0}
    for place, each in enumerate(components):
        if not 0 <= each.replicas <= MOST:
            raise InputError(f"{who}[{place}].replicas", f"{each.replicas}; expected 0 to 2^48")
        asked = {PODS: 1, **_request(each.replica_requirements, f"{who}[{place}].replicaRequirements")}
        for name, amount in asked.items():
            whole[name] = whole.get(name, 0) + amount * each.replicas
    return whole


def _asked(
    workload: DivideWorkload,
    binding: ResourceBinding,
    clusters: Sequence[KarmadaCluster],
    claims: PlacementClaims,
    knobs: Knobs,
    who: str,
) -> DivisionAsk:
    placement = placement_of(binding.spec.placement, who)
    fresh = wants_fresh(binding)
    observed = binding.status.scheduler_observing_affinity_name
    ask = DivisionAsk(
        workload=workload,
        clusters=table_of(clusters, placement, knobs, who, claims),
        policy=policy_of(placement, knobs, who, fresh=fresh, observed=observed),
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


def unreadable_clusters(found: Catalogue) -> list[InputError]:
    """What clusters report that cannot be read: they stay in the fleet, and their room counts as not known."""
    return [error for each in found.of(KarmadaCluster) if (error := unreadable(each)) is not None]


def division_ask(found: Catalogue, workload: Workload) -> DivisionAsk | None:
    """The division of a workload that a policy of the catalogue selects; None where none does.

    A binding of the workload, if there is one, brings its prior. What cannot be used is added to the catalogue's
    errors, and the workload counts as not divided.
    """
    policy = policy_for(found, workload)
    clusters = found.of(KarmadaCluster)
    if policy is None or not clusters:
        return None
    who = f"{policy.metadata.namespace}/{policy.metadata.name}".lstrip("/")
    uid = workload.uid or workload.title
    asked = DivideWorkload(name=workload.title, replicas=workload.replicas, uid=uid, tie_uid=workload.uid)
    try:
        knobs = knobs_of(policy.metadata.annotations, who)
        binding = _bound(found, workload, policy)
        claims = PlacementClaims(
            request=dict(workload.shape.request),
            evicting=frozenset(each.from_cluster for each in binding.spec.graceful_eviction_tasks),
            api=(binding.spec.resource.api_version, binding.spec.resource.kind),
        )
        return _asked(asked, binding, clusters, claims, knobs, who)
    except InputError as error:
        found.errors.append(error)
        return None


def _bound(found: Catalogue, workload: Workload, policy: PropagationPolicy) -> ResourceBinding:
    """The binding as the policy and the workload will make it: that of today, or one that is new."""
    binding = binding_of(found, workload) or ResourceBinding()
    resource = binding.spec.resource
    if not resource.kind:
        resource = BoundResource(
            api_version=_VERSIONS.get(workload.kind, ""),
            kind=workload.kind if workload.kind in _VERSIONS else "",
            namespace=workload.namespace,
            name=workload.name,
        )
    requirements = binding.spec.replica_requirements or ReplicaRequirements()
    spec = msgspec.structs.replace(
        binding.spec,
        resource=resource,
        replicas=workload.replicas,
        replica_requirements=requirements,
        placement=policy.spec.placement,
    )
    return msgspec.structs.replace(binding, spec=spec)


def policy_for(found: Catalogue, workload: Workload) -> PropagationPolicy | None:
    """The policy that propagates a workload, as Karmada chooses it.

    One of the workload's namespace before one of the whole fleet; then the higher priority; then the closer
    selector (a name before labels before all); then the name.
    """
    labels = _labels(found, workload)
    best: tuple[tuple[bool, int, int, str], PropagationPolicy] | None = None
    for policy in found.of(PropagationPolicy):
        namespace = policy.metadata.namespace
        if namespace and namespace != workload.namespace:
            continue
        close = max((_closeness(each, workload, labels) for each in policy.spec.resource_selectors), default=0)
        if close:
            rank = (not namespace, -policy.spec.priority, -close, policy.metadata.name)
            if best is None or rank < best[0]:
                best = rank, policy
    return best[1] if best else None


def _closeness(selector: ResourceSelector, workload: Workload, labels: Mapping[str, str]) -> int:
    """3 for a name, 2 for labels, 1 for all of a kind, 0 for no match."""
    if (selector.api_version, selector.kind) != (_VERSIONS.get(workload.kind), workload.kind):
        return 0
    if selector.namespace and selector.namespace != workload.namespace:
        return 0
    if selector.name:
        return 3 if selector.name == workload.name else 0
    if selector.label_selector is None:
        return 1
    wanted = affinity_of(ClusterAffinity(label_selector=selector.label_selector), workload.title)
    return 2 if suits(wanted, workload.name, Traits(labels=labels)) else 0


def _labels(found: Catalogue, workload: Workload) -> Mapping[str, str]:
    shape = _SHAPES.get(workload.kind)
    for each in found.of(shape) if shape else ():
        if (each.metadata.namespace or "default", each.metadata.name) == (workload.namespace, workload.name):
            return each.metadata.labels
    return {}


def binding_of(found: Catalogue, workload: Workload) -> ResourceBinding | None:
    """The binding that stands for a workload."""
    wanted = (workload.kind, workload.namespace, workload.name)
    for each in found.of(ResourceBinding):
        resource = each.spec.resource
        if (resource.kind, resource.namespace or each.metadata.namespace, resource.name) == wanted:
            return each
    return None
