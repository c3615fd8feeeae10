"""Claims, volumes, classes and what drivers say about nodes: what a pod's claims demand of a node, looked up.

A claim that is being given a volume on a node is *promised* there, and the volume chosen for it is taken, until the
server confirms it or the attempt is given up.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from fairlead.kube.codec.shapes import selector, term
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
from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.claims import ZONE_KEYS
from fairlead.live.scheduler.kept import Kept
from fairlead.live.scheduler.records import Key, PodRecord
from fairlead.model.amounts import amount
from fairlead.model.claims import Candidate, ClaimDemand, Maker, OpenClaim, Terms
from fairlead.model.reasons import Reason
from fairlead.model.selectors import LabelSelector, Operator, Requirement, Term

BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
WAITS_FOR_NODE = "WaitForFirstConsumer"
ONE_POD = "ReadWriteOncePod"
STORAGE = "storage"

Attached = tuple[str, str]
"""A driver and what it calls the volume."""


class Storage(Kept):
    """Kept by watches like the nodes; `on_change` is called when something changed that may help a waiting pod."""

    def __init__(self, on_change: Callable[[], None] = lambda: None) -> None:
        super().__init__(on_change)
        self.claims: dict[Key, PersistentVolumeClaim] = {}
        self.volumes: dict[Key, PersistentVolume] = {}
        self.classes: dict[Key, StorageClass] = {}
        self.nodes: dict[Key, CsiNode] = {}
        self.drivers: dict[Key, CsiDriver] = {}
        self.rooms: dict[Key, CsiStorageCapacity] = {}
        self.attachments: dict[Key, VolumeAttachment] = {}
        self._users: dict[Key, dict[Key, str]] = defaultdict(dict)
        self._promised: dict[Key, str] = {}
        self._taken: dict[str, Key] = {}

    def kept(self) -> Iterator[tuple[Resource[Any], dict[Key, Any]]]:
        """Every resource that is followed, with what is known of it."""
        yield PERSISTENT_VOLUME_CLAIMS, self.claims
        yield PERSISTENT_VOLUMES, self.volumes
        yield STORAGE_CLASSES, self.classes
        yield CSI_NODES, self.nodes
        yield CSI_DRIVERS, self.drivers
        yield CSI_STORAGE_CAPACITIES, self.rooms
        yield VOLUME_ATTACHMENTS, self.attachments

    def count(self, pod: PodRecord, node: str) -> None:
        """The pod holds its claims on the node."""
        for name, _ in pod.claims:
            self._users[pod.metadata.namespace, name][pod.key] = node

    def uncount(self, pod: PodRecord) -> None:
        """The pod holds them no more."""
        for name, _ in pod.claims:
            key = pod.metadata.namespace, name
            self._users[key].pop(pod.key, None)
            if not self._users[key]:
                del self._users[key]

    def promise(self, namespace: str, claim: str, node: str, volume: str) -> None:
        """The claim gets a volume on the node: `volume`, or one that is made (empty)."""
        self._promised[namespace, claim] = node
        if volume:
            self._taken[volume] = namespace, claim

    def release(self, namespace: str, claim: str) -> None:
        """The claim is bound, or the attempt has been given up."""
        key = namespace, claim
        self._promised.pop(key, None)
        self._taken = {volume: holder for volume, holder in self._taken.items() if holder != key}

    def demand(self, pod: PodRecord) -> ClaimDemand:
        """What the pod's claims demand of a node."""
        volumes: list[tuple[Term, ...]] = []
        zones: list[Requirement] = []
        waiting: list[PersistentVolumeClaim] = []
        for name, own in pod.claims:
            claim = self.claims.get((pod.metadata.namespace, name))
            if claim is None or _lost(claim) or (own and not _owned(claim, pod.metadata.uid)):
                return ClaimDemand(blocked=reasons.CLAIM_MISSING)
            blocked = self._blocked(pod, claim)
            if blocked:
                return ClaimDemand(blocked=blocked)
            volume = self.volume(claim)
            if volume is None:
                waiting.append(claim)
                continue
            terms = volume_terms(volume)
            if terms is not None:
                volumes.append(terms)
            zones.extend(_zones(volume))
        waiting.sort(key=lambda claim: (_asked(claim), claim.metadata.name))
        return ClaimDemand(
            volumes=tuple(volumes),
            zones=tuple(zones),
            open=tuple(self._open(claim) for claim in waiting),
            crowded=self._crowded(pod),
        )

    def volume(self, claim: PersistentVolumeClaim) -> PersistentVolume | None:
        """The volume of a claim that is bound for good."""
        if not claim.spec.volume_name or BIND_COMPLETED not in claim.metadata.annotations:
            return None
        return self.volumes.get(("", claim.spec.volume_name))

    def _blocked(self, pod: PodRecord, claim: PersistentVolumeClaim) -> Reason | None:
        """What forbids every node: taken by another pod, or without a volume and not waiting for a node."""
        key = claim.metadata.namespace, claim.metadata.name
        if ONE_POD in claim.spec.access_modes and self._users.get(key, {}).keys() - {pod.key}:
            return reasons.CLAIM_TAKEN
        if self.volume(claim) is not None:
            return None
        found = self.classes.get(("", _class(claim)))
        delayed = found is not None and found.volume_binding_mode == WAITS_FOR_NODE
        return None if delayed and not claim.spec.volume_name else reasons.CLAIM_UNBOUND

    def _open(self, claim: PersistentVolumeClaim) -> OpenClaim:
        key = claim.metadata.namespace, claim.metadata.name
        chosen = self._promised.get(key) or claim.metadata.annotations.get(SELECTED_NODE, "")
        return OpenClaim(
            name=claim.metadata.name,
            node=chosen,
            candidates=() if chosen else self._candidates(claim),
            maker=self._maker(claim),
        )

    def _candidates(self, claim: PersistentVolumeClaim) -> tuple[Candidate, ...]:
        """Free volumes that suit the claim, the smallest first; one that was made for it excludes all others."""
        key = claim.metadata.namespace, claim.metadata.name
        wanted = selector(claim.spec.selector)
        found = []
        for volume in self.volumes.values():
            name, spec = volume.metadata.name, volume.spec
            size = amount(STORAGE, spec.capacity.get(STORAGE, 0))
            if self._taken.get(name, key) != key or volume.metadata.deletion_timestamp or size < _asked(claim):
                continue
            if spec.volume_mode != claim.spec.volume_mode:
                continue
            candidate = Candidate(name=name, nodes=volume_terms(volume))
            if spec.claim_ref is not None:
                reference = spec.claim_ref
                if (reference.namespace, reference.name) == key and reference.uid in ("", claim.metadata.uid):
                    return (candidate,)
                continue
            if (
                volume.status.phase == "Available"
                and spec.storage_class_name == _class(claim)
                and set(claim.spec.access_modes) <= set(spec.access_modes)
                and (wanted is None or wanted.selects(volume.metadata.labels))
            ):
                found.append((size, name, candidate))
        return tuple(candidate for _, _, candidate in sorted(found, key=lambda each: each[:2]))

    def _maker(self, claim: PersistentVolumeClaim) -> Maker | None:
        found = self.classes[("", _class(claim))]
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
            return Maker(nodes=nodes)
        return Maker(nodes=nodes, roomy=tuple(self._roomy(found.metadata.name, _asked(claim))))

    def _roomy(self, storage_class: str, size: int) -> Iterator[LabelSelector]:
        for room in self.rooms.values():
            most = room.maximum_volume_size if room.maximum_volume_size is not None else room.capacity
            topology = selector(room.node_topology)
            if room.storage_class_name != storage_class or topology is None or most is None:
                continue
            if amount(STORAGE, most) >= size:
                yield topology

    def _crowded(self, pod: PodRecord) -> tuple[str, ...]:
        """Nodes on which the pod's volumes would pass a driver's limit."""
        wanted = {each for name, _ in pod.claims if (each := self._attached((pod.metadata.namespace, name)))}
        limits = {
            (csi.metadata.name, driver.name): driver.allocatable.count
            for csi in self.nodes.values()
            for driver in csi.spec.drivers
            if driver.allocatable and driver.allocatable.count is not None
        }
        if not wanted or not limits:
            return ()
        there: dict[str, set[Attached]] = defaultdict(set)
        for key, users in self._users.items():
            each = self._attached(key)
            if each:
                for node in set(users.values()):
                    there[node].add(each)
        for attachment in self.attachments.values():
            volume = self.volumes.get(("", attachment.spec.source.persistent_volume_name))
            if volume is not None and volume.spec.csi:
                there[attachment.spec.node_name].add((volume.spec.csi.driver, volume.spec.csi.volume_handle))
        crowded = set()
        for (node, driver), limit in limits.items():
            more = {each for each in wanted - there[node] if each[0] == driver}
            held = sum(each[0] == driver for each in there[node])
            if more and held + len(more) > limit:
                crowded.add(node)
        return tuple(sorted(crowded))

    def _attached(self, key: Key) -> Attached | None:
        """The driver of a claim and the name of its volume there; None where no driver attaches it."""
        claim = self.claims.get(key)
        if claim is None:
            return None
        volume = self.volume(claim)
        if volume is not None:
            return (volume.spec.csi.driver, volume.spec.csi.volume_handle) if volume.spec.csi else None
        found = self.classes.get(("", _class(claim)))
        if found is None or found.provisioner in ("", NO_PROVISIONER):
            return None
        return found.provisioner, "/".join(("", *key))


def volume_terms(volume: PersistentVolume) -> Terms:
    """The nodes from which the volume can be reached."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return tuple(map(term, affinity.required.node_selector_terms))


def _zones(volume: PersistentVolume) -> Iterator[Requirement]:
    """What the volume's labels say of its zone; several are written as `a__b`."""
    for key, older in ZONE_KEYS.items():
        value = volume.metadata.labels.get(key) or volume.metadata.labels.get(older)
        if value:
            yield Requirement(key, Operator.IN, tuple(sorted(value.split("__"))))


def _class(claim: PersistentVolumeClaim) -> str:
    return claim.metadata.annotations.get(OLD_CLASS) or claim.spec.storage_class_name or ""


def _asked(claim: PersistentVolumeClaim) -> int:
    return amount(STORAGE, claim.spec.resources.requests.get(STORAGE, 0))


def _lost(claim: PersistentVolumeClaim) -> bool:
    return claim.metadata.deletion_timestamp is not None or claim.status.phase == "Lost"


def _owned(claim: PersistentVolumeClaim, uid: str) -> bool:
    return any(owner.uid == uid and owner.controller for owner in claim.metadata.owner_references)
