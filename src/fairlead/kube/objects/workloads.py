"""Controllers of pods: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs."""

from fairlead.kube.objects.meta import ApiShape, Condition, ObjectMeta
from fairlead.kube.objects.pod import PodTemplate
from fairlead.kube.objects.storage import ClaimTemplate


class ReplicaStatus(ApiShape, frozen=True):
    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[Condition, ...] = ()


class DeploymentSpec(ApiShape, frozen=True):
    """`replicas` is absent only before defaulting; it then means 1."""

    replicas: int | None = None
    template: PodTemplate = PodTemplate()


class Deployment(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeploymentSpec = DeploymentSpec()


class ReplicaSetSpec(ApiShape, frozen=True):
    replicas: int | None = None
    template: PodTemplate = PodTemplate()


class ReplicaSet(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicaSetSpec = ReplicaSetSpec()


class Marked(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class MarkedSpec(ApiShape, frozen=True):
    template: Marked = Marked()


class Announcer(ApiShape, frozen=True):
    """An owner of pods, read for its annotations and those of its template alone."""

    metadata: ObjectMeta = ObjectMeta()
    spec: MarkedSpec = MarkedSpec()


class Ordinals(ApiShape, frozen=True):
    start: int = 0


class StatefulSetSpec(ApiShape, frozen=True):
    replicas: int | None = None
    template: PodTemplate = PodTemplate()
    ordinals: Ordinals = Ordinals()
    volume_claim_templates: tuple[ClaimTemplate, ...] = ()


class StatefulSet(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(ApiShape, frozen=True):
    template: PodTemplate = PodTemplate()


class DaemonSet(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(ApiShape, frozen=True):
    parallelism: int | None = None
    completions: int | None = None
    suspend: bool = False
    template: PodTemplate = PodTemplate()


class JobStatus(ApiShape, frozen=True):
    succeeded: int = 0


class BatchJob(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class RoleControllerSpec(ApiShape, frozen=True):
    """`origin` is the kind of the object that the role is of; `idle` says why it has no replicas now."""

    origin: str = ""
    replicas: int = 0
    idle: str = ""
    template: PodTemplate = PodTemplate()


class RoleController(ApiShape, frozen=True):
    """A role of an object of a foreign kind, as `kube/adapters` make it; no API server has it."""

    metadata: ObjectMeta = ObjectMeta()
    spec: RoleControllerSpec = RoleControllerSpec()


class ScaleTarget(ApiShape, frozen=True):
    kind: str = ""
    name: str = ""


class AutoscalerSpec(ApiShape, frozen=True):
    """`min_replicas` absent means 1."""

    scale_target_ref: ScaleTarget = ScaleTarget()
    min_replicas: int | None = None
    max_replicas: int = 1


class HorizontalPodAutoscaler(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: AutoscalerSpec = AutoscalerSpec()


class LocalQueueSpec(ApiShape, frozen=True):
    cluster_queue: str = ""


class LocalQueue(ApiShape, frozen=True):
    """Kueue's: the name by which a namespace reaches a ClusterQueue."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LocalQueueSpec = LocalQueueSpec()
