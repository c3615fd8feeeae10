"""Claims, volumes, classes and what drivers say about nodes: what a pod's claims demand of a node, looked up.

A claim that is being given a volume on a node is *promised* there, and the volume chosen for it is taken, until the
server confirms it or the attempt is given up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from fairlead.dataclass import dataclass
from fairlead.engine.volume_limits import VolumeLimits
from fairlead.kube.changes import Identified, Key
from fairlead.kube.codec.disks import driver_of
from fairlead.kube.codec.shapes import selector
from fairlead.kube.codec.volumes import Claims, volume_zones
from fairlead.kube.objects.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from fairlead.kube.resources import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
)
from fairlead.kube.volumes.candidates import STORAGE, ClaimRequest, VolumeCandidates
from fairlead.kube.volumes.claim_fields import (
    DISK,
    asked_bytes,
    attach_limits,
    class_of,
    disk_holder,
    handle_of_volume,
    is_lost,
    is_owned,
    key_of,
    owner_of,
)
from fairlead.kube.volumes.csi_migration import Migration
from fairlead.kube.watched_objects import WatchedObjects
from fairlead.levels.node.constraints import reasons
from fairlead.model.amounts import exact
from fairlead.model.claims import Attached, Candidate, ClaimDemand, Maker, OpenClaim, Terms
from fairlead.model.reasons import Reason
from fairlead.model.selectors import LabelSelector, Operator, Requirement, Term

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAITS_FOR_NODE = "WaitForFirstConsumer"
ONE_POD = "ReadWriteOncePod"


class ClaimUser(Protocol):
    """What claims have to know of a pod. `attached` are disks that it names itself."""

    @property
    def metadata(self) -> Identified: ...
    @property
    def claims(self) -> Claims: ...
    @property
    def attached(self) -> tuple[Attached, ...]: ...


@dataclass(slots=True)
class _Promise:
    """Where a claim gets its volume, which one (empty: one that is made), and the uids of the pods that rely on it."""

    node: str
    volume: str
    pods: set[str]


class ClaimCache(WatchedObjects):
    """Kept by watches like the nodes; `on_change` is called when something changed that may help a waiting pod: one
    that uses this claim, or (None) any.
    """

    def __init__(self, on_change: Callable[[Key | None], None] = lambda claim: None) -> None:
        self.claims: dict[Key, PersistentVolumeClaim] = {}
        self.volumes: dict[Key, PersistentVolume] = {}
        self.classes: dict[Key, StorageClass] = {}
        self.nodes: dict[Key, CsiNode] = {}
        self.drivers: dict[Key, CsiDriver] = {}
        self.rooms: dict[Key, CsiStorageCapacity] = {}
        self.attachments: dict[Key, VolumeAttachment] = {}
        self._on_change = on_change
        self._users: dict[Key, set[str]] = defaultdict(set)
        """By claim, the uids of pods that hold it on a node."""
        self._promised: dict[Key, _Promise] = {}
        self._taken: dict[str, Key] = {}
        self._supply = VolumeCandidates()
        self._migration = Migration()
        self._loads = VolumeLimits(self.attached)
        self._holders: dict[str, set[Key]] = defaultdict(set)
        """Claims and attachments by the volume they name."""

    def kept(self) -> Iterator[tuple[Resource[Any], dict[Key, Any]]]:
        """Every resource that is followed, with what is known of it."""
        yield PERSISTENT_VOLUME_CLAIMS, self.claims
        yield PERSISTENT_VOLUMES, self.volumes
        yield STORAGE_CLASSES, self.classes
        yield CSI_NODES, self.nodes
        yield CSI_DRIVERS, self.drivers
        yield CSI_STORAGE_CAPACITIES, self.rooms
        yield VOLUME_ATTACHMENTS, self.attachments

    def count(self, pod: ClaimUser, node: str) -> None:
        """The pod holds its claims on the node."""
        for name, _ in pod.claims:
            key = pod.metadata.namespace, name
            self._users[key].add(pod.metadata.uid)
            self._loads.hold(key, node)
        for disk in pod.attached:
            self._loads.hold(disk_holder(disk), node)

    def uncount(self, pod: ClaimUser, node: str) -> None:
        """The pod holds them there no more."""
        for name, _ in pod.claims:
            key = pod.metadata.namespace, name
            self._users[key].discard(pod.metadata.uid)
            self._loads.leave(key, node)
            if not self._users[key]:
                del self._users[key]
        for disk in pod.attached:
            self._loads.leave(disk_holder(disk), node)

    def promise(self, pod: ClaimUser, claim: str, node: str, volume: str) -> None:
        """The pod's claim gets a volume on the node: `volume`, or one that is made (empty).

        Several pods may rely on one promise; it goes by their uids, for a late word about a pod that is gone must not
        end what was promised to its successor of the same name.
        """
        key = pod.metadata.namespace, claim
        known = self._promised.get(key)
        if known is None or known.node != node:
            self._break(key)
            known = self._promised[key] = _Promise(node, volume, set())
            if volume:
                self._taken[volume] = key
        known.pods.add(pod.metadata.uid)

    def release(self, pod: ClaimUser, claim: str) -> None:
        """The claim is bound, or the pod's attempt has been given up."""
        key = pod.metadata.namespace, claim
        known = self._promised.get(key)
        if known is not None:
            known.pods.discard(pod.metadata.uid)
            if not known.pods:
                self._break(key)

    def _break(self, claim: Key) -> None:
        known = self._promised.pop(claim, None)
        if known is not None and self._taken.get(known.volume) == claim:
            del self._taken[known.volume]

    def demand(self, pod: ClaimUser) -> ClaimDemand:
        """What the pod's claims demand of a node."""
        volumes: list[tuple[Term, ...]] = []
        zones: list[Requirement] = []
        waiting: list[PersistentVolumeClaim] = []
        sole: list[str] = []
        for name, own in pod.claims:
            claim = self.claims.get((pod.metadata.namespace, name))
            if claim is None or is_lost(claim) or (own and not is_owned(claim, pod.metadata.uid)):
                return ClaimDemand(blocked=reasons.CLAIM_MISSING)
            blocked = self._blocked(pod, claim)
            if blocked:
                return ClaimDemand(blocked=blocked)
            if ONE_POD in claim.spec.access_modes:
                sole.append(name)
            volume = self.volume(claim)
            if volume is None:
                waiting.append(claim)
                continue
            terms = self._migration.terms(volume)
            if terms is not None:
                volumes.append(terms)
            zones.extend(volume_zones(volume))
        waiting.sort(key=lambda claim: (asked_bytes(claim), claim.metadata.name))
        return ClaimDemand(
            volumes=tuple(volumes),
            zones=tuple(zones),
            open=tuple(self._open(claim) for claim in waiting),
            sole=tuple(sole),
            attached=self._wanted(pod),
            crowded=self.crowded(pod),
        )

    def volume(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """The volume of a claim that is bound for good."""
        if not claim.spec.volume_name or BIND_COMPLETED not in claim.metadata.annotations:
            return None
        return self.volumes.get(("", claim.spec.volume_name))

    def _blocked(self, pod: ClaimUser, claim: PersistentVolumeClaim) -> Reason | None:
        """What forbids every node: taken by another pod, or without a volume and not waiting for a node."""
        key = claim.metadata.namespace, claim.metadata.name
        if ONE_POD in claim.spec.access_modes and self._users.get(key, set()) - {pod.metadata.uid}:
            return reasons.CLAIM_TAKEN
        if self.volume(claim) is not None:
            return None
        found = self.classes.get(("", class_of(claim)))
        delayed = found is not None and found.volume_binding_mode == WAITS_FOR_NODE
        return None if delayed and not claim.spec.volume_name else reasons.CLAIM_UNBOUND

    def _open(self, claim: PersistentVolumeClaim) -> OpenClaim:
        key = claim.metadata.namespace, claim.metadata.name
        promised = self._promised.get(key)
        chosen = promised.node if promised else claim.metadata.annotations.get(SELECTED_NODE, "")
        return OpenClaim(
            name=claim.metadata.name,
            node=chosen,
            candidates=() if chosen else self.candidates(claim),
            maker=self._maker(claim),
        )

    def candidates(self, claim: PersistentVolumeClaim) -> tuple[Candidate, ...]:
        """Free volumes that suit the claim, the smallest first; one that was made for it excludes all others."""
        asked = ClaimRequest(
            claim=(claim.metadata.namespace, claim.metadata.name),
            uid=claim.metadata.uid,
            size=asked_bytes(claim),
            storage_class=class_of(claim),
            modes=frozenset(claim.spec.access_modes),
            volume_mode=claim.spec.volume_mode,
            attributes=claim.spec.volume_attributes_class_name,
            labels=selector(claim.spec.selector),
        )
        return self._supply.candidates(asked, self._taken)

    def _maker(self, claim: PersistentVolumeClaim) -> Maker | None:
        found = self.classes[("", class_of(claim))]
        if found.provisioner in ("", NO_PROVISIONER):
            return None
        nodes: Terms = None
        if found.allowed_topologies:
            nodes = tuple(
                Term(tuple(Requirement(each.key, Operator.IN, each.values) for each in one.match_label_expressions))
                for one in found.allowed_topologies
            )
        driver = self.drivers.get(("", found.provisioner))
        if driver is None or not driver.spec.storage_capacity:
            return Maker(driver=driver_of(found.provisioner), nodes=nodes)
        return Maker(
            driver=driver_of(found.provisioner),
            nodes=nodes,
            roomy=tuple(self._roomy(found.metadata.name, asked_bytes(claim))),
        )

    def _roomy(self, storage_class: str, size: int) -> Iterator[LabelSelector]:
        for room in self.rooms.values():
            most = room.maximum_volume_size if room.maximum_volume_size is not None else room.capacity
            topology = selector(room.node_topology)
            if room.storage_class_name != storage_class or topology is None or most is None:
                continue
            if exact(STORAGE, most, f"CSIStorageCapacity {room.metadata.name}: capacity") >= size:
                yield topology

    def crowded(self, pod: ClaimUser) -> tuple[str, ...]:
        """Nodes on which the pod's volumes would pass a driver's limit."""
        return self._loads.crowded(self._wanted(pod))

    def _wanted(self, pod: ClaimUser) -> tuple[Attached, ...]:
        """The volumes that a driver attaches to the pod's node."""
        claimed = {each for name, _ in pod.claims if (each := self.attached((pod.metadata.namespace, name)))}
        return tuple(sorted({*claimed, *pod.attached}))

    def attached(self, key: Key) -> Attached | None:
        """The driver of a holder and the name of its volume there; None where none attaches it."""
        if key[0].startswith(DISK):
            return key[0].removeprefix(DISK), key[1]
        attachment = self.attachments.get(key)
        if attachment is not None:
            return self.attachment(attachment)
        claim = self.claims.get(key)
        if claim is None:
            return None
        volume = self.volumes.get(("", claim.spec.volume_name)) if claim.spec.volume_name else None
        if volume is not None:
            return handle_of_volume(volume)
        found = self.classes.get(("", class_of(claim)))
        driver = "" if found is None else driver_of(found.provisioner)
        return (driver, "/".join(("", *key))) if driver and driver != NO_PROVISIONER else None

    def attachment(self, attachment: VolumeAttachment) -> Attached | None:
        """The volume that the attachment keeps on its node."""
        volume = self.volumes.get(("", attachment.spec.source.persistent_volume_name))
        if volume is None or volume.spec.csi is None or not attachment.spec.attacher:
            return None
        return attachment.spec.attacher, volume.spec.csi.volume_handle

    def _noted(self, resource: Resource[Any], before: Any, now: Any) -> None:
        about: Key | None = None
        if resource is PERSISTENT_VOLUME_CLAIMS:
            about = key_of(now or before)
            self._follow(about, before and before.spec.volume_name, now and now.spec.volume_name)
            self._loads.again(about)
        elif resource is PERSISTENT_VOLUMES:
            about = self._volume_changed(before, now)
        elif resource is VOLUME_ATTACHMENTS:
            self._attachment_changed(before, now)
        elif resource is CSI_NODES:
            self._loads.limit((now or before).metadata.name, attach_limits(now))
            self._migration.put((now or before).metadata.name, now)
        elif resource is STORAGE_CLASSES:
            for key in self._users:
                self._loads.again(key)
        self._on_change(about)

    def _volume_changed(self, before: PersistentVolume | None, now: PersistentVolume | None) -> Key | None:
        """The claim that the volume belongs to, before and now; None where others may hope for it."""
        known = [each for each in (before, now) if each is not None]
        name = known[0].metadata.name
        if now is None:
            self._supply.drop(name)
        else:
            self._supply.put(now)
        for holder in self._holders.get(name, ()):
            self._loads.again(holder)
        owners = {owner_of(each) for each in known}
        return owners.pop() if len(owners) == 1 else None

    def _attachment_changed(self, before: VolumeAttachment | None, now: VolumeAttachment | None) -> None:
        if before is not None:
            self._loads.leave(key_of(before), before.spec.node_name)
            self._follow(key_of(before), before.spec.source.persistent_volume_name, None)
        if now is not None:
            self._loads.hold(key_of(now), now.spec.node_name)
            self._follow(key_of(now), None, now.spec.source.persistent_volume_name)

    def _follow(self, holder: Key, before: str | None, now: str | None) -> None:
        """The holder names another volume than before."""
        if before:
            self._holders[before].discard(holder)
            if not self._holders[before]:
                del self._holders[before]
        if now:
            self._holders[now].add(holder)
