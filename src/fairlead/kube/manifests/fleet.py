"""Karmada objects to divisions: a binding with its placement, or a workload with the policy that selects it."""

from collections.abc import Mapping, Sequence

from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.manifests.last_result import prior_of
from fairlead.kube.manifests.placement import MOST, Knobs, affinity_of, knobs_of, policy_of, table_of, unreadable
from fairlead.kube.moments import seconds
from fairlead.kube.objects.karmada import (
    Cluster,
    ClusterAffinity,
    PropagationPolicy,
    ResourceBinding,
    ResourceSelector,
)
from fairlead.kube.objects.workloads import Deployment, Job, ReplicaSet, StatefulSet
from fairlead.levels.fleet.match import suits
from fairlead.model.amounts import exact
from fairlead.model.clusters import Traits
from fairlead.model.division import DivideWorkload, DivisionAsk
from fairlead.model.errors import InputError
from fairlead.model.workload import Workload

_VERSIONS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}
_SHAPES: Mapping[str, type[Deployment | StatefulSet | ReplicaSet | Job]] = {
    "Deployment": Deployment,
    "StatefulSet": StatefulSet,
    "ReplicaSet": ReplicaSet,
    "Job": Job,
}


def binding_ask(binding: ResourceBinding, clusters: Sequence[Cluster], knobs: Knobs | None = None) -> DivisionAsk:
    """The division a binding asks for. `InputError` where it has no placement or one that cannot be used.

    `knobs` are those of its policy, where they are known; the binding's own annotation comes first.
    """
    spec = binding.spec
    who = f"{binding.metadata.namespace}/{binding.metadata.name}".lstrip("/")
    if spec.placement is None:
        raise InputError(f"{who}: spec.placement", "is missing; expected the placement of a policy")
    if not 0 <= spec.replicas <= MOST:
        raise InputError(f"{who}: spec.replicas", f"{spec.replicas}; expected 0 to 2^48")
    own = knobs_of(binding.metadata.annotations, who)
    knobs = own if knobs is None or own != Knobs() else knobs
    asked = spec.replica_requirements.resource_request if spec.replica_requirements else {}
    place = f"{who}: spec.replicaRequirements.resourceRequest"
    request = {name: exact(name, value, f"{place}.{name}") for name, value in asked.items()}
    evicting = frozenset(each.from_cluster for each in spec.graceful_eviction_tasks)
    uid = spec.resource.uid or f"{spec.resource.namespace}/{spec.resource.name}"
    return DivisionAsk(
        workload=DivideWorkload(name=who, replicas=spec.replicas, uid=uid, tie_uid=spec.resource.uid),
        clusters=table_of(clusters, spec.placement, knobs, request, who, evicting=evicting),
        policy=policy_of(spec.placement, knobs, who, fresh=wants_fresh(binding)),
        prior=prior_of(binding),
    )


def wants_fresh(binding: ResourceBinding) -> bool:
    """Whether a new start was triggered after the last division; one that never was divided needs none."""
    triggered = _moment(binding, "spec.rescheduleTriggeredAt", binding.spec.reschedule_triggered_at)
    last = _moment(binding, "status.lastScheduledTime", binding.status.last_scheduled_time)
    return triggered is not None and last is not None and triggered > last


def _moment(binding: ResourceBinding, field: str, text: str | None) -> float | None:
    try:
        return None if text is None else seconds(text)
    except InputError as error:
        who = f"{binding.metadata.namespace}/{binding.metadata.name}".lstrip("/")
        raise InputError(f"{who}: {field}", error.message) from None


def unreadable_clusters(found: Catalogue) -> list[InputError]:
    """What clusters report that cannot be read: they stay in the fleet, and their room counts as not known."""
    return [error for each in found.of(Cluster) if (error := unreadable(each)) is not None]


def division_ask(found: Catalogue, workload: Workload) -> DivisionAsk | None:
    """The division of a workload that a policy of the catalogue selects; None where none does.

    A binding of the workload, if there is one, brings its prior. What cannot be used is added to the catalogue's
    errors, and the workload counts as not divided.
    """
    policy = policy_for(found, workload)
    clusters = found.of(Cluster)
    if policy is None or not clusters:
        return None
    who = f"{policy.metadata.namespace}/{policy.metadata.name}".lstrip("/")
    try:
        knobs = knobs_of(policy.metadata.annotations, who)
        binding = binding_of(found, workload)
        uid = workload.uid or workload.title
        placement = policy.spec.placement
        evicting = binding.spec.graceful_eviction_tasks if binding else ()
        return DivisionAsk(
            workload=DivideWorkload(name=workload.title, replicas=workload.replicas, uid=uid, tie_uid=workload.uid),
            clusters=table_of(
                clusters,
                placement,
                knobs,
                dict(workload.shape.request),
                who,
                evicting=frozenset(each.from_cluster for each in evicting),
            ),
            policy=policy_of(placement, knobs, who, fresh=binding is not None and wants_fresh(binding)),
            prior=prior_of(binding) if binding else None,
        )
    except InputError as error:
        found.errors.append(error)
        return None


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
