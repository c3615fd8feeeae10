"""Rules around pods: namespaces, quotas, disruption budgets, priorities; and plain stored text."""

from msgspec import field

from fairlead.kube.objects.meta import Condition, LabelSelector, ObjectMeta, Quantities, Shape


class NamespaceStatus(Shape, frozen=True):
    phase: str = ""


class Namespace(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    status: NamespaceStatus = NamespaceStatus()


class ResourceQuotaSpec(Shape, frozen=True):
    hard: Quantities = field(default_factory=dict)
    scopes: tuple[str, ...] = ()


class ResourceQuotaStatus(Shape, frozen=True):
    hard: Quantities = field(default_factory=dict)
    used: Quantities = field(default_factory=dict)


class ResourceQuota(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()
    status: ResourceQuotaStatus = ResourceQuotaStatus()


class PodDisruptionBudgetSpec(Shape, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None
    unhealthy_pod_eviction_policy: str = ""


class PodDisruptionBudgetStatus(Shape, frozen=True):
    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0
    disrupted_pods: dict[str, str] = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class ConfigMap(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = field(default_factory=dict)


class Secret(Shape, frozen=True):
    """`data` is base64 text, as stored."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] = field(default_factory=dict)
