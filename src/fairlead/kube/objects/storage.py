"""Volumes, claims, and what drivers say about the nodes."""

from msgspec import field

from fairlead.kube.objects.affinity import NodeSelector
from fairlead.kube.objects.disks import AwsDisk, AzureDisk, CinderDisk, GceDisk, PortworxDisk
from fairlead.kube.objects.meta import LabelSelector, ObjectMeta, ObjectReference, Quantities, Quantity, Raw, Shape


class VolumeRequest(Shape, frozen=True):
    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)


class PersistentVolumeClaimSpec(Shape, frozen=True):
    """`storage_class_name` None means the default class, empty text means no class at all."""

    access_modes: tuple[str, ...] = ()
    resources: VolumeRequest = VolumeRequest()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None
    volume_attributes_class_name: str = ""


class PersistentVolumeClaimStatus(Shape, frozen=True):
    phase: str = ""
    capacity: Quantities = field(default_factory=dict)


class PersistentVolumeClaim(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimTemplate(Shape, frozen=True):
    """A claim that is made for each pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class CsiSource(Shape, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(Shape, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(Shape, frozen=True):
    capacity: Quantities = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    persistent_volume_reclaim_policy: str = ""
    volume_attributes_class_name: str = ""
    csi: CsiSource | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: CinderDisk | None = None
    portworx_volume: PortworxDisk | None = None
    local: Raw | None = None


class PersistentVolumeStatus(Shape, frozen=True):
    phase: str = ""


class PersistentVolume(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologyRequirement(Shape, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(Shape, frozen=True):
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    volume_binding_mode: str = "Immediate"
    reclaim_policy: str = "Delete"
    allow_volume_expansion: bool = False
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class CsiNodeAllocatable(Shape, frozen=True):
    """`count` None: the driver sets no limit."""

    count: int | None = None


class CsiNodeDriver(Shape, frozen=True):
    name: str = ""
    node_id: str = field(name="nodeID", default="")
    topology_keys: tuple[str, ...] = ()
    allocatable: CsiNodeAllocatable | None = None


class CsiNodeSpec(Shape, frozen=True):
    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiNode(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiStorageCapacity(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class CsiDriverSpec(Shape, frozen=True):
    attach_required: bool = True
    storage_capacity: bool = False


class CsiDriver(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class AttachedVolume(Shape, frozen=True):
    persistent_volume_name: str = ""


class VolumeAttachmentSpec(Shape, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachedVolume = AttachedVolume()


class VolumeAttachment(Shape, frozen=True):
    """A volume that a driver has, or is about to have, attached to a node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
