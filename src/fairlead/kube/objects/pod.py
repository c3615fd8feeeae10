"""Pods: every field that says where, when and with what a pod may run."""

from msgspec import field

from fairlead.kube.objects.affinity import Affinity, TolerationSpec, TopologySpreadConstraint
from fairlead.kube.objects.disks import AwsDisk, AzureDisk, CinderDisk, GceDisk, IscsiDisk, PortworxDisk, RbdDisk
from fairlead.kube.objects.meta import ApiShape, Condition, ObjectMeta, Quantities
from fairlead.kube.objects.storage import ClaimTemplate

ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of a pod that holds no room any more."""


class ContainerClaim(ApiShape, frozen=True):
    name: str = ""
    request: str = ""


class Resources(ApiShape, frozen=True):
    """What is asked for and what is the most. An absent request takes the limit's value (the server fills it in)."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)
    claims: tuple[ContainerClaim, ...] = ()


class ContainerPort(ApiShape, frozen=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(name="hostIP", default="")
    protocol: str = "TCP"


class RestartRule(ApiShape, frozen=True):
    action: str = ""


class Container(ApiShape, frozen=True):
    """`restart_policy` is set only on init containers; Always makes one a sidecar that keeps its request."""

    name: str = ""
    resources: Resources = Resources()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()


class ClaimVolume(ApiShape, frozen=True):
    claim_name: str = ""


class EphemeralVolume(ApiShape, frozen=True):
    volume_claim_template: ClaimTemplate = ClaimTemplate()


class PodVolume(ApiShape, frozen=True):
    """One volume of a pod. In-tree disks may not be shared on a node, or count in the limits of their drivers."""

    name: str = ""
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: CinderDisk | None = None
    portworx_volume: PortworxDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdDisk | None = None


class PodResourceClaim(ApiShape, frozen=True):
    name: str = ""


class SchedulingGate(ApiShape, frozen=True):
    name: str = ""


class SchedulingGroup(ApiShape, frozen=True):
    """Kubernetes' own gangs, where they are served: the PodGroup of scheduling.k8s.io that the pod is part of."""

    pod_group_name: str = ""


class PodSpec(ApiShape, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: Affinity | None = None
    tolerations: tuple[TolerationSpec, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Quantities = field(default_factory=dict)
    resources: Resources | None = None
    resource_claims: tuple[PodResourceClaim, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduling_group: SchedulingGroup | None = None
    host_network: bool = False
    host_users: bool | None = None


class ContainerStatus(ApiShape, frozen=True):
    """`resources` and `allocated_resources` differ from the spec while a resize in place is under way."""

    name: str = ""
    resources: Resources | None = None
    allocated_resources: Quantities = field(default_factory=dict)


class PodStatus(ApiShape, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    nominated_node_name: str = ""
    resources: Resources | None = None
    allocated_resources: Quantities = field(default_factory=dict)
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def finished(self) -> bool:
        """It holds no room any more."""
        return self.status.phase in ENDED


class PodTemplate(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
