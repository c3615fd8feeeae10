"""Rules around pods: namespaces, quotas, disruption budgets, priorities; and plain stored text."""

from typing import Any

from msgspec import field

from fairlead.kube.objects.meta import ApiShape, LabelSelectorSpec, ObjectMeta, Quantities


class Namespace(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class ResourceQuotaSpec(ApiShape, frozen=True):
    hard: Quantities = field(default_factory=dict)
    scopes: tuple[str, ...] = ()
    scope_selector: dict[str, Any] | None = None


class ResourceQuota(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceQuotaSpec = ResourceQuotaSpec()


class LimitRangeItem(ApiShape, frozen=True):
    type: str = ""
    max: Quantities = field(default_factory=dict)
    min: Quantities = field(default_factory=dict)
    default: Quantities = field(default_factory=dict)
    default_request: Quantities = field(default_factory=dict)
    max_limit_request_ratio: Quantities = field(default_factory=dict)


class LimitRangeSpec(ApiShape, frozen=True):
    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LimitRangeSpec = LimitRangeSpec()


class PodDisruptionBudgetSpec(ApiShape, frozen=True):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelectorSpec | None = None


class PodDisruptionBudgetStatus(ApiShape, frozen=True):
    observed_generation: int = 0
    disruptions_allowed: int = 0


class PodDisruptionBudget(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class ConfigMap(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = field(default_factory=dict)


class Secret(ApiShape, frozen=True):
    """`data` is base64 text, as stored."""

    metadata: ObjectMeta = ObjectMeta()
    type: str = ""
    data: dict[str, str] = field(default_factory=dict)
