"""Where a pod may, should and should not run."""

from msgspec import field

from fairlead.kube.objects.meta import ApiShape, LabelSelectorSpec, RequirementSpec

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class NodeSelectorTerm(ApiShape, frozen=True):
    """All of its expressions must hold. A term without any expression selects no node."""

    match_expressions: tuple[RequirementSpec, ...] = ()
    match_fields: tuple[RequirementSpec, ...] = ()


class NodeSelector(ApiShape, frozen=True):
    """One of its terms must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNodeTerm(ApiShape, frozen=True):
    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(ApiShape, frozen=True):
    required: NodeSelector | None = field(name=REQUIRED, default=None)
    preferred: tuple[PreferredNodeTerm, ...] = field(name=PREFERRED, default=())


class PodAffinityTerm(ApiShape, frozen=True):
    label_selector: LabelSelectorSpec | None = None
    topology_key: str = ""
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelectorSpec | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(ApiShape, frozen=True):
    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(ApiShape, frozen=True):
    """Serves affinity and anti-affinity alike."""

    required: tuple[PodAffinityTerm, ...] = field(name=REQUIRED, default=())
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(name=PREFERRED, default=())


class Affinity(ApiShape, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TaintSpec(ApiShape, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class TolerationSpec(ApiShape, frozen=True):
    """An empty key with operator Exists tolerates everything; an empty effect means every effect."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(ApiShape, frozen=True):
    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelectorSpec | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()
