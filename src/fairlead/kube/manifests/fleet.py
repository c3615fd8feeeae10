"""Workloads of manifests to divisions: a workload with the Karmada policy that selects it."""

from collections.abc import Mapping

import msgspec

from fairlead.kube.codec.fleet import ask_of, binding_ask, knobs_for, placement_of, policy_key
from fairlead.kube.codec.groups import ALONE, GroupMembers, Neighbours, groups_by_labels, groups_of
from fairlead.kube.codec.members import PlacementClaims, unreadable
from fairlead.kube.codec.placement import affinity_of, knobs_of
from fairlead.kube.manifests.catalogue import Catalogue
from fairlead.kube.objects.karmada import (
    BoundResource,
    ClusterAffinity,
    KarmadaCluster,
    PropagationPolicy,
    ReplicaRequirements,
    ResourceBinding,
    ResourceSelector,
)
from fairlead.kube.objects.workloads import BatchJob, Deployment, ReplicaSet, StatefulSet
from fairlead.levels.fleet.match import suits
from fairlead.model.clusters import Traits
from fairlead.model.division import DivideWorkload, DivisionAsk, Sticky
from fairlead.model.errors import InputError
from fairlead.model.workload import Workload

_VERSIONS = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}
_SHAPES: Mapping[str, type[Deployment | StatefulSet | ReplicaSet | BatchJob]] = {
    "Deployment": Deployment,
    "StatefulSet": StatefulSet,
    "ReplicaSet": ReplicaSet,
    "Job": BatchJob,
}


def unreadable_clusters(found: Catalogue) -> list[InputError]:
    """What clusters report that cannot be read: they stay in the fleet, and their room counts as not known."""
    return [error for each in found.of(KarmadaCluster) if (error := unreadable(each)) is not None]


def ask_of_binding(found: Catalogue, binding: ResourceBinding) -> DivisionAsk:
    """The division a binding of the catalogue asks for, with the knobs of its policy and beside its groups."""
    key = policy_key(binding)
    policies = {(each.metadata.namespace, each.metadata.name): each for each in found.of(PropagationPolicy)}
    policy = policies.get(key) if key else None
    knobs = knobs_of(policy.metadata.annotations, f"policy {policy.metadata.name}") if policy else None
    return binding_ask(binding, found.of(KarmadaCluster), knobs, neighbours_in(found, binding))


def neighbours_in(found: Catalogue, binding: ResourceBinding) -> Neighbours:
    """Where the others of the binding's affinity groups are, by what the catalogue's bindings say."""
    if not any(groups_of(binding)):
        return ALONE
    members = GroupMembers()
    for each in found.of(ResourceBinding):
        members.put(each)
    return members.of(binding)


def division_ask(found: Catalogue, workload: Workload, sticky: Sticky = Sticky.MOST) -> DivisionAsk | None:
    """The division of a workload that a policy of the catalogue selects; None where none does.

    A binding of the workload, if there is one, brings its prior, and `sticky` says how it is kept where no knob does.
    What cannot be used is added to the catalogue's errors, and the workload counts as not divided.
    """
    policy = policy_for(found, workload)
    clusters = found.of(KarmadaCluster)
    if policy is None:
        return None
    who = f"{policy.metadata.namespace}/{policy.metadata.name}".lstrip("/")
    if not clusters:
        why = f"the policy {who} propagates it, and no Cluster is among the manifests"
        found.unreached.append(f"{workload.title}: {why}")
        return None
    uid = workload.uid or workload.title
    asked = DivideWorkload(name=workload.title, replicas=workload.replicas, uid=uid, tie_uid=workload.uid)
    try:
        binding = _bound(found, workload, policy, who)
        neighbours = neighbours_in(found, binding)
        if any(groups_of(binding)) and not binding.spec.clusters and neighbours == ALONE:
            # Those that are divided for the first time in one plan do not see each other.
            found.not_counted[f"{workload.kind} of a workload affinity group of which nothing is placed"] += 1
        knobs = knobs_for(binding, knobs_of(policy.metadata.annotations, who))
        claims = PlacementClaims(
            request=dict(workload.shape.request),
            evicting=frozenset(each.from_cluster for each in binding.spec.graceful_eviction_tasks),
            api=(binding.spec.resource.api_version, binding.spec.resource.kind),
            neighbours=neighbours,
        )
        return ask_of(asked, binding, clusters, claims, knobs, who, sticky)
    except InputError as error:
        found.errors.append(error)
        return None


def _bound(found: Catalogue, workload: Workload, policy: PropagationPolicy, who: str) -> ResourceBinding:
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
    wanted = placement_of(policy.spec.placement, who).workload_affinity
    groups = groups_by_labels(wanted, _labels(found, workload)) if wanted else None
    spec = msgspec.structs.replace(
        binding.spec,
        resource=resource,
        replicas=workload.replicas,
        replica_requirements=requirements,
        placement=policy.spec.placement,
        workload_affinity_groups=groups or binding.spec.workload_affinity_groups,
    )
    meta = msgspec.structs.replace(binding.metadata, namespace=workload.namespace)
    return msgspec.structs.replace(binding, metadata=meta, spec=spec)


def policy_for(found: Catalogue, workload: Workload) -> PropagationPolicy | None:
    """The policy that propagates a workload, as Karmada chooses it.

    One of the workload's namespace before one of the whole fleet; then the higher priority; then the closer
    selector (a name before labels before all); then the name.
    """
    policies = found.of(PropagationPolicy)
    labels = _labels(found, workload) if policies else {}
    best: tuple[tuple[bool, int, int, str], PropagationPolicy] | None = None
    for policy in policies:
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
        if (each.metadata.namespace, each.metadata.name) == (workload.namespace, workload.name):
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
