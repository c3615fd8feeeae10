"""Longhorn objects to what the disk level decides on: a disk table, volumes with what they lack, a policy.

A value that cannot be used does not spoil the rest: it is named in `Storage.errors`, and a default or nothing takes
its place.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from fairlead.dataclass import dataclass
from fairlead.kube.codec.longhorn_settings import Settings
from fairlead.kube.objects.longhorn import (
    DiskSpec,
    DiskStatus,
    LonghornNode,
    LonghornReplica,
    LonghornSetting,
    LonghornVolume,
)
from fairlead.kube.objects.meta import Condition
from fairlead.kube.timestamps import seconds
from fairlead.model.amounts import BEYOND, LARGEST, exact
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Closed, Disk, DiskTable, disk_table
from fairlead.model.errors import InputError
from fairlead.model.order import natural_key
from fairlead.model.storage import Domain, HeldReplica, Locality, StorageVolume

REUSE_RETRIES = 5
"""A failed replica that was rebuilt in vain this often is given up."""

MOST_REPLICAS = 20
"""Longhorn's own bound on the replicas of a volume."""

_LOCALITY = {"best-effort": Locality.PREFER, "strict-local": Locality.REQUIRE}


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageManifests:
    """What the objects say. `paths` and `uuids` by `node/disk`: what a Replica is told besides the node.

    `in_flight` names the Replicas that have a disk whose status does not count them yet; the disk is charged for them.
    """

    disks: DiskTable
    volumes: tuple[StorageVolume, ...]
    policy: BalancePolicy
    paths: Mapping[str, str]
    uuids: Mapping[str, str]
    in_flight: tuple[str, ...]
    foreign: Mapping[str, str]
    """Volumes that Longhorn itself has to place, and why; they lack nothing here."""
    errors: tuple[InputError, ...]

    @property
    def left_out(self) -> tuple[InputError, ...]:
        """What is not placed here, as messages."""
        return tuple(InputError(f"Volume {name}", why) for name, why in self.foreign.items())


def storage(
    nodes: Iterable[LonghornNode],
    volumes: Iterable[LonghornVolume],
    replicas: Iterable[LonghornReplica],
    settings: Iterable[LonghornSetting],
    *,
    now: float | None = None,
    by_maximum: bool = False,
) -> StorageManifests:
    """The objects as a problem of the disk level. `now` in seconds since 1970 tells whether a wait is over.

    `by_maximum`: usable is maximum − reserved − scheduled instead of available − reserved − scheduled.
    """
    errors: list[InputError] = []
    rules = Settings(settings, errors)
    nodes = list(nodes)
    placed = [each for each in replicas if each.metadata.deletion_timestamp is None]
    flying = _in_flight(nodes, placed, errors)
    rows: list[Disk] = []
    paths: dict[str, str] = {}
    uuids: dict[str, str] = {}
    names: dict[tuple[str, str], str] = {}
    for node in nodes:
        for name, spec in node.spec.disks.items():
            status = node.status.disk_status.get(name)
            charged = sum(flying.get((node.metadata.name, status.disk_uuid), {}).values()) if status else 0
            disk = _disk(node, name, spec, status, charged, by_maximum=by_maximum)
            rows.append(disk)
            if status is not None and status.disk_uuid:
                paths[disk.place] = spec.path or status.disk_path
                uuids[disk.place] = status.disk_uuid
                names[disk.node, status.disk_uuid] = name
    foreign = {each.spec.volume_name: why for each in placed if not each.spec.node_id and (why := _foreign(each))}
    found = _volumes(volumes, placed, names, rules, now, errors)
    return StorageManifests(
        disks=disk_table(rows),
        volumes=tuple(replace(each, replicas=0, waiting=()) if each.name in foreign else each for each in found),
        policy=rules.policy(),
        paths=paths,
        uuids=uuids,
        in_flight=tuple(sorted(name for names in flying.values() for name in names)),
        foreign=foreign,
        errors=tuple(errors),
    )


def _foreign(replica: LonghornReplica) -> str:
    """Why a replica is left to Longhorn, which has rules for it that need other objects; empty: it is not."""
    if replica.spec.backing_image:
        return "it has a backing image, which only some disks have; Longhorn places it"
    if replica.spec.linked_clone_src_replica_name:
        return "it is a linked clone, which has to sit beside its source; Longhorn places it"
    return ""


def _in_flight(
    nodes: Iterable[LonghornNode], replicas: Iterable[LonghornReplica], errors: list[InputError]
) -> dict[tuple[str, str], dict[str, int]]:
    """By node and disk UUID the Replicas, with their bytes, that the disk's status does not count yet.

    A status that counts bytes but names no replica does not tell which are counted, so none is charged again.
    """
    seen: dict[tuple[str, str], Mapping[str, int]] = {}
    for node in nodes:
        for status in node.status.disk_status.values():
            if status.scheduled_replica or status.scheduled_backing_image or not status.storage_scheduled:
                seen[node.metadata.name, status.disk_uuid] = status.scheduled_replica
    found: dict[tuple[str, str], dict[str, int]] = {}
    for replica in replicas:
        spec, name = replica.spec, replica.metadata.name
        counted = seen.get((spec.node_id, spec.disk_id)) if spec.node_id and spec.disk_id else None
        if counted is None or name in counted:
            continue
        try:
            size = min(exact("storage", spec.volume_size, f"Replica {name}: spec.volumeSize"), BEYOND)
        except InputError as error:
            errors.append(error)
            continue
        found.setdefault((spec.node_id, spec.disk_id), {})[name] = size
    return found


def _volumes(
    volumes: Iterable[LonghornVolume],
    replicas: Iterable[LonghornReplica],
    names: Mapping[tuple[str, str], str],
    rules: Settings,
    now: float | None,
    errors: list[InputError],
) -> tuple[StorageVolume, ...]:
    """The volumes that stay, with their replicas; replicas of a volume that is not there are told."""
    by_volume: dict[str, list[LonghornReplica]] = defaultdict(list)
    for replica in replicas:
        by_volume[replica.spec.volume_name].append(replica)
    asked = []
    for volume in volumes:
        own = by_volume.pop(volume.metadata.name, [])
        if volume.metadata.deletion_timestamp is not None:
            continue
        try:
            asked.append(_volume(volume, own, names, rules, now))
        except InputError as error:
            errors.append(error)
    for name, orphans in sorted(by_volume.items()):
        those = ", ".join(sorted(each.metadata.name for each in orphans))
        errors.append(InputError(f"Replica {those}", f"its volume {name!r} is not there"))
    return tuple(asked)


def _disk(
    node: LonghornNode, name: str, spec: DiskSpec, status: DiskStatus | None, charged: int, *, by_maximum: bool
) -> Disk:
    seen = status or DiskStatus()
    reserved, maximum = _bytes(spec.storage_reserved), _bytes(seen.storage_maximum)
    available = _bytes(seen.storage_available)
    scheduled = _bytes(_bytes(seen.storage_scheduled) + charged)
    base = maximum if by_maximum else available
    usable = base - reserved - scheduled
    return Disk(
        node=node.metadata.name,
        name=name,
        usable_bytes=max(usable, 0),
        short_bytes=max(-usable, 0),
        total_bytes=max(maximum - reserved, 0),
        free_bytes=available - reserved,
        scheduled_bytes=scheduled,
        reserved_bytes=reserved,
        available_bytes=available,
        maximum_bytes=maximum,
        zone=node.status.zone,
        region=node.status.region,
        node_tags=frozenset(node.spec.tags),
        tags=frozenset(spec.tags),
        block=(spec.disk_type or seen.disk_type) == "block",
        closed=_closed(node, spec, status),
    )


def _bytes(given: int) -> int:
    """An amount of a disk: one below 0 is none, and sums stay within the bound of an amount (decisions/0200)."""
    return min(max(given, 0), LARGEST)


def _closed(node: LonghornNode, spec: DiskSpec, status: DiskStatus | None) -> Closed:
    checks = (
        (
            node.metadata.deletion_timestamp is not None or _denied(node.status.conditions, "Ready", "Schedulable"),
            Closed.NODE_NOT_READY,
        ),
        (not node.spec.allow_scheduling, Closed.NODE_DISABLED),
        (node.spec.eviction_requested, Closed.NODE_EVICTING),
        (
            # Without a UUID the disk cannot be named by a Replica.
            status is None or not status.disk_uuid or _denied(status.conditions, "Ready", "Schedulable"),
            Closed.DISK_NOT_READY,
        ),
        (not spec.allow_scheduling, Closed.DISK_DISABLED),
        (spec.eviction_requested, Closed.DISK_EVICTING),
        (status is not None and status.storage_maximum <= 0, Closed.NO_CAPACITY),
    )
    return next((closed for holds, closed in checks if holds), Closed.OPEN)


def _denied(conditions: Iterable[Condition], *types: str) -> bool:
    """Whether one of these conditions is there and is not True."""
    return any(each.type in types and each.status != "True" for each in conditions)


def _volume(
    volume: LonghornVolume,
    replicas: list[LonghornReplica],
    names: Mapping[tuple[str, str], str],
    rules: Settings,
    now: float | None,
) -> StorageVolume:
    spec, name = volume.spec, volume.metadata.name
    size = min(exact("storage", spec.size, f"Volume {name}: spec.size"), BEYOND)
    if size == 0:
        raise InputError(f"Volume {name}: spec.size", "is 0; expected the size of the volume in bytes")
    if spec.number_of_replicas > MOST_REPLICAS:
        found = f"{spec.number_of_replicas}; expected at most {MOST_REPLICAS}"
        raise InputError(f"Volume {name}: spec.numberOfReplicas", found)
    ordered = sorted(replicas, key=lambda each: natural_key(each.metadata.name))
    waiting = [each for each in ordered if not each.spec.node_id]
    bound = waiting[0].spec.hard_node_affinity if waiting else ""
    alike = [each.metadata.name for each in waiting if each.spec.hard_node_affinity == bound]
    held = tuple(_held(each, names) for each in ordered if each.spec.node_id)
    working = sum(not each.failed for each in held)
    lacking = len(alike) if len(alike) < len(waiting) else max(len(waiting), spec.number_of_replicas - working)
    engine = spec.data_engine or "v1"
    return StorageVolume(
        name=name,
        size_bytes=size,
        replicas=lacking,
        waiting=tuple(alike),
        written_bytes=max(volume.status.actual_size, 0),
        node_tags=frozenset(spec.node_selector),
        disk_tags=frozenset(spec.disk_selector),
        block=engine == "v2",
        anti_affinity=rules.anti_affinity(volume),
        held=held,
        attached_to=spec.node_id or volume.status.current_node_id,
        locality=_LOCALITY.get(spec.data_locality, Locality.OFF),
        only_node=bound,
        topology=tuple(Domain(zone=term.zone, region=term.region) for term in spec.topology_requirement),
        awaits_reuse=_awaits(volume, rules.wait_seconds, now),
        healthy=volume.status.robustness in ("", "healthy"),
    )


def _held(replica: LonghornReplica, names: Mapping[tuple[str, str], str]) -> HeldReplica:
    spec = replica.spec
    failed = bool(spec.failed_at)
    return HeldReplica(
        name=replica.metadata.name,
        node=spec.node_id,
        # A disk that another node has by now is as good as gone for this replica.
        disk=names.get((spec.node_id, spec.disk_id), spec.disk_id),
        failed=failed,
        reusable=failed and spec.rebuild_retry_count < REUSE_RETRIES,
        evicting=spec.eviction_requested,
    )


def _awaits(volume: LonghornVolume, wait_seconds: int, now: float | None) -> bool:
    since = volume.status.last_degraded_at
    if now is None or volume.status.robustness != "degraded" or not since:
        return False
    try:
        return now < seconds(since) + wait_seconds
    except InputError:
        return False
