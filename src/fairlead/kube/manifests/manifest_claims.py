"""The claims and volumes of manifests in the cache of the live scheduler, as they will be once they are applied.

What the API server and the volume controller do is done here: the default class is filled in, and a claim whose class
does not wait for a node gets the smallest volume that suits it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from msgspec.structs import replace as changed

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change, Key
from fairlead.kube.codec.volumes import Claims
from fairlead.kube.manifests.catalogue import Catalogue, cluster_of
from fairlead.kube.objects.meta import ObjectMeta, ObjectReference
from fairlead.kube.objects.storage import (
    ClaimTemplate,
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
    Resource,
)
from fairlead.kube.timestamps import stored
from fairlead.kube.volumes.claim_cache import BIND_COMPLETED, NO_PROVISIONER, WAITS_FOR_NODE, ClaimCache
from fairlead.kube.volumes.claim_fields import OLD_CLASS, asked_bytes, attach_limits, class_of, is_lost, key_of
from fairlead.model.claims import Attached, ClaimDemand
from fairlead.model.errors import InputError

DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
UNKNOWN = "PersistentVolumeClaim without a known volume or class"
EACH = "*"
"""In the name of a claim that stands for those of replicas which are not known one by one."""
MISSING = "PersistentVolumeClaim that is not among the manifests"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _User:
    """A pod as claims see it."""

    metadata: ObjectMeta
    claims: Claims
    attached: tuple[Attached, ...] = ()


class ManifestClaims:
    """One cluster. A claim of which too little is known demands nothing, and is named among what is not counted."""

    def __init__(self, found: Catalogue, cluster: str) -> None:
        self._found, self._cluster = found, cluster
        self._cache = ClaimCache()
        self._sinks = {resource.label: sink for resource, sink in self._cache.watched()}
        self._known: set[Key] = set()
        """Claims among the manifests, and those that are made for replicas."""
        self._counted: set[Key] = set()
        self._left_out: set[Key] = set()
        for resource, kind in ((STORAGE_CLASSES, StorageClass), (CSI_NODES, CsiNode), (CSI_DRIVERS, CsiDriver)):
            self._put_all(resource, self._here(kind))
        self._put_all(CSI_STORAGE_CAPACITIES, self._here(CsiStorageCapacity))
        self._put_all(PERSISTENT_VOLUMES, map(_offered, self._here(PersistentVolume)))
        self._default = self._default_class()
        self.limits = {each.metadata.name: attach_limits(each) for each in self._here(CsiNode)}
        self._limited = {driver for limits in self.limits.values() for driver in limits}
        # Claims that name their volume have it, whatever others would choose.
        claims = sorted(self._here(PersistentVolumeClaim), key=lambda each: (not each.spec.volume_name, key_of(each)))
        for claim in claims:
            self._add(claim)

    @property
    def topology(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """By driver and node, the labels that bind a volume which is made there."""
        return {
            (driver.name, each.metadata.name): driver.topology_keys
            for each in self._here(CsiNode)
            for driver in each.spec.drivers
            if driver.topology_keys
        }

    def make(self, namespace: str, name: str, template: ClaimTemplate) -> None:
        """A claim that is made from the template for a replica, unless it is there already."""
        if (namespace, name) not in self._known:
            self._add(PersistentVolumeClaim(metadata=ObjectMeta(name=name, namespace=namespace), spec=template.spec))

    def demand(self, meta: ObjectMeta, claims: Claims, attached: tuple[Attached, ...]) -> ClaimDemand:
        """What a pod with these claims demands of a node."""
        namespace = meta.namespace
        keys = {(namespace, name) for name, _ in claims}
        self._left_out |= keys - self._counted
        counted = tuple((name, own) for name, own in claims if (namespace, name) in self._counted)
        user = _User(metadata=meta, claims=counted, attached=attached)
        demand = self._cache.demand(user)
        limited = tuple(each for each in demand.attached if each[0] in self._limited)
        return replace(demand, attached=limited)

    def attached(self, key: Key) -> Attached | None:
        """The volume of the claim as a driver with limits knows it."""
        return self._of_limited(self._cache.attached(key))

    def attachments(self) -> Iterator[tuple[str, Attached]]:
        """Nodes and the volumes that are attached to them, of drivers with limits."""
        for each in self._here(VolumeAttachment):
            volume = self._of_limited(self._cache.attachment(each))
            if volume is not None:
                yield each.spec.node_name, volume

    def tell_left_out(self) -> None:
        """Name the claims that pods have and that do not count."""
        for key in self._left_out:
            if EACH not in key[1]:
                self._found.not_counted[UNKNOWN if key in self._known else MISSING] += 1

    def _add(self, claim: PersistentVolumeClaim) -> None:
        meta = claim.metadata
        if claim.spec.storage_class_name is None and OLD_CLASS not in meta.annotations:
            claim = changed(claim, spec=changed(claim.spec, storage_class_name=self._default))
        key = meta.namespace, meta.name
        self._known.add(key)
        try:
            asked_bytes(claim)
        except InputError as error:
            self._found.errors.append(error)
            return
        as_bound = self._bound(claim)
        if as_bound is not None:
            self._put(PERSISTENT_VOLUME_CLAIMS, as_bound)
            self._counted.add(key)

    def _bound(self, claim: PersistentVolumeClaim) -> PersistentVolumeClaim | None:
        """The claim as the volume controller leaves it; None where that cannot be told."""
        if claim.spec.volume_name:
            there = ("", claim.spec.volume_name) in self._cache.volumes
            return self._given(claim, claim.spec.volume_name) if there else None
        known = self._cache.classes.get(("", class_of(claim)))
        if known is not None and (known.volume_binding_mode == WAITS_FOR_NODE or claim.status.phase or is_lost(claim)):
            return claim
        if claim.status.phase:
            return None
        suiting = self._cache.candidates(claim)
        if suiting:
            return self._given(claim, suiting[0].name)
        return claim if known is not None and known.provisioner in ("", NO_PROVISIONER) else None

    def _given(self, claim: PersistentVolumeClaim, name: str) -> PersistentVolumeClaim:
        """The claim, bound to the volume, which is nobody else's."""
        volume = self._cache.volumes["", name]
        if volume.spec.claim_ref is None:
            owner = ObjectReference(namespace=claim.metadata.namespace, name=claim.metadata.name)
            spec = changed(volume.spec, claim_ref=owner)
            self._put(PERSISTENT_VOLUMES, changed(volume, spec=spec))
        annotations = {**claim.metadata.annotations, BIND_COMPLETED: "yes"}
        return changed(
            claim,
            metadata=changed(claim.metadata, annotations=annotations),
            spec=changed(claim.spec, volume_name=name),
        )

    def _default_class(self) -> str | None:
        marked = [
            each
            for each in self._here(StorageClass)
            if each.metadata.annotations.get(DEFAULT_CLASS, "").lower() == "true"
        ]
        # As the API server has it: of several the newest, then the first by name.
        marked.sort(key=lambda each: each.metadata.name)
        marked.sort(key=lambda each: stored(each.metadata.creation_timestamp or ""), reverse=True)
        return marked[0].metadata.name if marked else None

    def _of_limited(self, volume: Attached | None) -> Attached | None:
        return volume if volume is not None and volume[0] in self._limited else None

    def _here(self, kind: type[T]) -> Iterator[T]:
        return (each for each in self._found.of(kind) if cluster_of(each) in ("", self._cluster))

    def _put_all(self, resource: Resource[Any], objects: Iterable[Any]) -> None:
        for each in objects:
            try:
                self._put(resource, each)
            except InputError as error:
                self._found.errors.append(error.within(f"{resource.kind} {each.metadata.name}: "))

    def _put(self, resource: Resource[Any], each: Any) -> None:
        self._sinks[resource.label](Change(kind="added", object=each))


def _offered(volume: PersistentVolume) -> PersistentVolume:
    """A volume that was never applied is free once it is."""
    if volume.status.phase:
        return volume
    return changed(volume, status=changed(volume.status, phase="Available"))
