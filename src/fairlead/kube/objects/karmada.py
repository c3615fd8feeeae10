"""Karmada: policies (policy.karmada.io), bindings (work.karmada.io/v1alpha2) and clusters (cluster.karmada.io)."""

from msgspec import field

from fairlead.kube.objects.affinity import NodeSelector, TaintSpec, TolerationSpec
from fairlead.kube.objects.meta import (
    ApiShape,
    Condition,
    LabelSelectorSpec,
    ObjectMeta,
    Quantities,
    Quantity,
    Raw,
    RequirementSpec,
)


class FieldSelector(ApiShape, frozen=True):
    match_expressions: tuple[RequirementSpec, ...] = ()


class ClusterAffinity(ApiShape, frozen=True):
    """An empty affinity takes every cluster. `affinity_name` is used in ordered lists of affinities only."""

    affinity_name: str = ""
    label_selector: LabelSelectorSpec | None = None
    field_selector: FieldSelector | None = None
    cluster_names: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    overflow_affinities: tuple["ClusterAffinity", ...] = ()


class StaticWeight(ApiShape, frozen=True):
    target_cluster: ClusterAffinity = ClusterAffinity()
    weight: int = 0


class WeightPreference(ApiShape, frozen=True):
    static_weight_list: tuple[StaticWeight, ...] = ()
    dynamic_weight: str = ""


class ReplicaScheduling(ApiShape, frozen=True):
    """The defaults hold inside the block; where the whole block is absent, replicas are duplicated."""

    replica_scheduling_type: str = "Divided"
    replica_division_preference: str = "Weighted"
    weight_preference: WeightPreference | None = None


class SpreadConstraint(ApiShape, frozen=True):
    spread_by_field: str = ""
    spread_by_label: str = ""
    min_groups: int = 1
    max_groups: int = 0


class GroupTerm(ApiShape, frozen=True):
    group_by_label_key: str = ""


class WorkloadAffinity(ApiShape, frozen=True):
    """Which label makes groups; the groups themselves stand in the binding, named by Karmada's controllers."""

    affinity: GroupTerm | None = None
    anti_affinity: GroupTerm | None = None


class KarmadaPlacement(ApiShape, frozen=True):
    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[ClusterAffinity, ...] = ()
    cluster_tolerations: tuple[TolerationSpec, ...] = ()
    spread_constraints: tuple[SpreadConstraint, ...] = ()
    replica_scheduling: ReplicaScheduling | None = None
    workload_affinity: WorkloadAffinity | None = None


class ResourceSelector(ApiShape, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    label_selector: LabelSelectorSpec | None = None


class PropagationPolicySpec(ApiShape, frozen=True):
    """`placement` is as in the binding: kept as it came."""

    resource_selectors: tuple[ResourceSelector, ...] = ()
    placement: Raw = field(default_factory=dict)
    priority: int = 0


class PropagationPolicy(ApiShape, frozen=True):
    """Serves PropagationPolicy and ClusterPropagationPolicy."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PropagationPolicySpec = PropagationPolicySpec()


class TargetComponent(ApiShape, frozen=True):
    name: str = ""
    replicas: int = 0


class TargetCluster(ApiShape, frozen=True):
    """`components` are told of a workload with several pod templates that goes to one cluster."""

    name: str = ""
    replicas: int = 0
    components: tuple[TargetComponent, ...] = ()


class BoundResource(ApiShape, frozen=True):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class NodeClaim(ApiShape, frozen=True):
    hard_node_affinity: NodeSelector | None = None
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[TolerationSpec, ...] = ()


class ReplicaRequirements(ApiShape, frozen=True):
    node_claim: NodeClaim | None = None
    resource_request: Quantities = field(default_factory=dict)
    namespace: str = ""
    priority_class_name: str = ""


class GracefulEvictionTask(ApiShape, frozen=True):
    from_cluster: str = ""


class AffinityGroups(ApiShape, frozen=True):
    affinity_group: str = ""
    anti_affinity_group: str = ""


class SchedulePriority(ApiShape, frozen=True):
    priority: int = 0


class Component(ApiShape, frozen=True):
    """One pod template of a workload that has several."""

    name: str = ""
    replicas: int = 0
    replica_requirements: ReplicaRequirements | None = None


class Suspension(ApiShape, frozen=True):
    scheduling: bool = False


class ResourceBindingSpec(ApiShape, frozen=True):
    """`placement` is kept as it came, so that it can be recorded whole; `Placement` has the fields that are read."""

    resource: BoundResource = BoundResource()
    replicas: int = 0
    replica_requirements: ReplicaRequirements | None = None
    clusters: tuple[TargetCluster, ...] = ()
    placement: Raw | None = None
    graceful_eviction_tasks: tuple[GracefulEvictionTask, ...] = ()
    reschedule_triggered_at: str | None = None
    suspension: Suspension | None = None
    components: tuple[Component, ...] = ()
    workload_affinity_groups: AffinityGroups | None = None
    schedule_priority: SchedulePriority | None = None
    scheduler_name: str = ""


class ResourceBindingStatus(ApiShape, frozen=True):
    """`last_schedule_result` exists only where the CRD has that field."""

    scheduler_observed_generation: int = 0
    scheduler_observing_affinity_name: str = ""
    last_scheduled_time: str | None = None
    last_schedule_result: Raw | None = None
    conditions: tuple[Condition, ...] = ()


class ResourceBinding(ApiShape, frozen=True):
    """Serves ResourceBinding and ClusterResourceBinding."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceBindingSpec = ResourceBindingSpec()
    status: ResourceBindingStatus = ResourceBindingStatus()


class ModelRange(ApiShape, frozen=True):
    """What a node of the grade has free of a resource: at least `min`."""

    name: str = ""
    min: Quantity = 0


class ResourceModel(ApiShape, frozen=True):
    """A grade of nodes."""

    grade: int = 0
    ranges: tuple[ModelRange, ...] = ()


class ClusterSpec(ApiShape, frozen=True):
    provider: str = ""
    region: str = ""
    zone: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[TaintSpec, ...] = ()
    resource_models: tuple[ResourceModel, ...] = ()


class AllocatableModeling(ApiShape, frozen=True):
    """How many nodes of a grade there are."""

    grade: int = 0
    count: int = 0


class ResourceSummary(ApiShape, frozen=True):
    allocatable: Quantities = field(default_factory=dict)
    allocated: Quantities = field(default_factory=dict)
    allocating: Quantities = field(default_factory=dict)
    allocatable_modelings: tuple[AllocatableModeling, ...] = ()


class ApiResource(ApiShape, frozen=True):
    kind: str = ""


class ApiEnablement(ApiShape, frozen=True):
    group_version: str = ""
    resources: tuple[ApiResource, ...] = ()


class ClusterStatus(ApiShape, frozen=True):
    resource_summary: ResourceSummary | None = None
    api_enablements: tuple[ApiEnablement, ...] = ()
    conditions: tuple[Condition, ...] = ()


class KarmadaCluster(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()
