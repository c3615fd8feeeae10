"""Volumes, claims, and what drivers say about the nodes."""

from msgspec import field

from fairlead.kube.objects.affinity import NodeSelector
from fairlead.kube.objects.disks import AwsDisk, AzureDisk, CinderDisk, GceDisk, PortworxDisk
from fairlead.kube.objects.meta import (
    ApiShape,
    LabelSelectorSpec,
    ObjectMeta,
    ObjectReference,
    Quantities,
    Quantity,
)


class VolumeRequest(ApiShape, frozen=True):
    requests: Quantities = field(default_factory=dict)


class PersistentVolumeClaimSpec(ApiShape, frozen=True):
    """`storage_class_name` None means the default class, empty text means no class at all."""

    access_modes: tuple[str, ...] = ()
    resources: VolumeRequest = VolumeRequest()
    storage_class_name: str | None = None
    volume_name: str = ""
    volume_mode: str = "Filesystem"
    selector: LabelSelectorSpec | None = None
    volume_attributes_class_name: str = ""


class PersistentVolumeClaimStatus(ApiShape, frozen=True):
    phase: str = ""


class PersistentVolumeClaim(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class ClaimTemplate(ApiShape, frozen=True):
    """A claim that is made for each pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class CsiSource(ApiShape, frozen=True):
    driver: str = ""
    volume_handle: str = ""


class VolumeNodeAffinity(ApiShape, frozen=True):
    required: NodeSelector | None = None


class PersistentVolumeSpec(ApiShape, frozen=True):
    capacity: Quantities = field(default_factory=dict)
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    volume_attributes_class_name: str = ""
    csi: CsiSource | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    azure_disk: AzureDisk | None = None
    cinder: CinderDisk | None = None
    portworx_volume: PortworxDisk | None = None


class PersistentVolumeStatus(ApiShape, frozen=True):
    phase: str = ""


class PersistentVolume(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class TopologyRequirement(ApiShape, frozen=True):
    key: str = ""
    values: tuple[str, ...] = ()


class TopologyTerm(ApiShape, frozen=True):
    match_label_expressions: tuple[TopologyRequirement, ...] = ()


class StorageClass(ApiShape, frozen=True):
    """`parameters` are kept for support bundles; nothing is decided by them."""

    metadata: ObjectMeta = ObjectMeta()
    provisioner: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class CsiNodeAllocatable(ApiShape, frozen=True):
    """`count` None: the driver sets no limit."""

    count: int | None = None


class CsiNodeDriver(ApiShape, frozen=True):
    name: str = ""
    topology_keys: tuple[str, ...] = ()
    allocatable: CsiNodeAllocatable | None = None


class CsiNodeSpec(ApiShape, frozen=True):
    drivers: tuple[CsiNodeDriver, ...] = ()


class CsiNode(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiStorageCapacity(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    node_topology: LabelSelectorSpec | None = None
    storage_class_name: str = ""
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None


class CsiDriverSpec(ApiShape, frozen=True):
    storage_capacity: bool = False


class CsiDriver(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: CsiDriverSpec = CsiDriverSpec()


class AttachedVolume(ApiShape, frozen=True):
    persistent_volume_name: str = ""


class VolumeAttachmentSpec(ApiShape, frozen=True):
    attacher: str = ""
    node_name: str = ""
    source: AttachedVolume = AttachedVolume()


class VolumeAttachment(ApiShape, frozen=True):
    """A volume that a driver has, or is about to have, attached to a node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
