"""Gangs and queues: Volcano's Queue and PodGroup (scheduling.volcano.sh/v1beta1), Kubernetes' own PodGroup."""

from typing import Any

from msgspec import field

from fairlead.kube.objects.meta import ApiShape, Condition, ObjectMeta, Quantities


class Guarantee(ApiShape, frozen=True):
    resource: Quantities = field(default_factory=dict)


class QueueSpec(ApiShape, frozen=True):
    """`weight` and `reclaimable` absent mean 1 and true, filled in by Volcano's webhook where it runs."""

    weight: int | None = None
    capability: Quantities = field(default_factory=dict)
    guarantee: Guarantee = Guarantee()
    deserved: Quantities = field(default_factory=dict)
    reclaimable: bool | None = None
    parent: str = ""
    priority: int = 0
    dequeue_strategy: str = ""
    affinity: dict[str, Any] = field(default_factory=dict)
    extend_clusters: tuple[dict[str, Any], ...] = ()


class QueueStatus(ApiShape, frozen=True):
    state: str = ""
    allocated: Quantities = field(default_factory=dict)
    pending: int = 0
    running: int = 0
    inqueue: int = 0
    unknown: int = 0
    completed: int = 0


class VolcanoQueue(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class NetworkTopology(ApiShape, frozen=True):
    """Absent means hard."""

    mode: str = "hard"


class SubGroupPolicy(ApiShape, frozen=True):
    name: str = ""
    network_topology: NetworkTopology | None = None


class PodGroupSpec(ApiShape, frozen=True):
    min_member: int | None = None
    min_task_member: dict[str, int] = field(default_factory=dict)
    min_resources: Quantities = field(default_factory=dict)
    queue: str = ""
    priority_class_name: str = ""
    network_topology: NetworkTopology | None = None
    sub_group_policy: tuple[SubGroupPolicy, ...] = ()


class PodGroupCondition(Condition, frozen=True):
    """Volcano writes the id of the scheduling session beside each condition."""

    transition_id: str = field(default="", name="transitionID")


class PodGroupStatus(ApiShape, frozen=True):
    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: tuple[PodGroupCondition, ...] = ()


class PodGroup(ApiShape, frozen=True):
    """Volcano's gang. It has no status subresource: the status is written on the object."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class GangPolicy(ApiShape, frozen=True):
    min_count: int = 1


class SchedulingPolicy(ApiShape, frozen=True):
    gang: GangPolicy | None = None


class NativePodGroupSpec(ApiShape, frozen=True):
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    priority_class_name: str = ""
    priority: int | None = None


class NativePodGroupStatus(ApiShape, frozen=True):
    conditions: tuple[Condition, ...] = ()


class NativePodGroup(ApiShape, frozen=True):
    """The gang of scheduling.k8s.io/v1alpha2, off by default in Kubernetes 1.36."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NativePodGroupSpec = NativePodGroupSpec()
    status: NativePodGroupStatus = NativePodGroupStatus()
