"""Longhorn (longhorn.io/v1beta2): nodes with disks, volumes, replicas, settings."""

from msgspec import field

from fairlead.kube.objects.meta import ApiShape, Condition, ObjectMeta


class DiskSpec(ApiShape, frozen=True):
    path: str = ""
    disk_type: str = ""
    allow_scheduling: bool = False
    eviction_requested: bool = False
    storage_reserved: int = 0
    tags: tuple[str, ...] = ()


class DiskStatus(ApiShape, frozen=True):
    """All sizes in bytes. `scheduled_replica` maps the replicas on the disk to their sizes, the other the images."""

    conditions: tuple[Condition, ...] = ()
    storage_available: int = 0
    storage_scheduled: int = 0
    storage_maximum: int = 0
    scheduled_replica: dict[str, int] = field(default_factory=dict)
    scheduled_backing_image: dict[str, int] = field(default_factory=dict)
    disk_uuid: str = field(name="diskUUID", default="")
    disk_path: str = ""
    disk_type: str = ""


class LonghornNodeSpec(ApiShape, frozen=True):
    allow_scheduling: bool = False
    eviction_requested: bool = False
    tags: tuple[str, ...] = ()
    disks: dict[str, DiskSpec] = field(default_factory=dict)


class LonghornNodeStatus(ApiShape, frozen=True):
    conditions: tuple[Condition, ...] = ()
    region: str = ""
    zone: str = ""
    disk_status: dict[str, DiskStatus] = field(default_factory=dict)


class LonghornNode(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LonghornNodeSpec = LonghornNodeSpec()
    status: LonghornNodeStatus = LonghornNodeStatus()


class VolumeTopologyTerm(ApiShape, frozen=True):
    """A failure domain that replicas of the volume may be in."""

    zone: str = ""
    region: str = ""


class LonghornVolumeSpec(ApiShape, frozen=True):
    """`size` is a whole number of bytes written as text; people write a number."""

    size: str | int = "0"
    number_of_replicas: int = 0
    node_selector: tuple[str, ...] = ()
    disk_selector: tuple[str, ...] = ()
    data_locality: str = ""
    data_engine: str = ""
    node_id: str = field(name="nodeID", default="")
    replica_soft_anti_affinity: str = ""
    replica_zone_soft_anti_affinity: str = ""
    replica_disk_soft_anti_affinity: str = ""
    topology_requirement: tuple[VolumeTopologyTerm, ...] = ()


class LonghornVolumeStatus(ApiShape, frozen=True):
    robustness: str = ""
    actual_size: int = 0
    last_degraded_at: str = ""
    current_node_id: str = field(name="currentNodeID", default="")


class LonghornVolume(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LonghornVolumeSpec = LonghornVolumeSpec()
    status: LonghornVolumeStatus = LonghornVolumeStatus()


class LonghornReplicaSpec(ApiShape, frozen=True):
    """`disk_id` holds the disk's UUID. A replica without a node is not scheduled yet."""

    volume_name: str = ""
    volume_size: str | int = "0"
    node_id: str = field(name="nodeID", default="")
    disk_id: str = field(name="diskID", default="")
    disk_path: str = ""
    data_directory_name: str = ""
    data_engine: str = ""
    backing_image: str = ""
    linked_clone_src_replica_name: str = ""
    hard_node_affinity: str = ""
    failed_at: str = ""
    healthy_at: str = ""
    rebuild_retry_count: int = 0
    eviction_requested: bool = False


class LonghornReplicaStatus(ApiShape, frozen=True):
    current_state: str = ""
    started: bool = False
    conditions: tuple[Condition, ...] = ()


class LonghornReplica(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: LonghornReplicaSpec = LonghornReplicaSpec()
    status: LonghornReplicaStatus = LonghornReplicaStatus()


class LonghornSetting(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    value: str = ""
