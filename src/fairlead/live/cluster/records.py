"""A pod reduced to what scheduling reads. Pods of one template share their shape, so a record is small."""

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from fairlead.kube.codec.disks import attached
from fairlead.kube.codec.memo import Shapes
from fairlead.kube.codec.queues import NAMED, QueueFields, queue_fields
from fairlead.kube.codec.requests import PODS, request, request_of_pod, resized
from fairlead.kube.codec.shapes import pairs
from fairlead.kube.codec.volcano_fields import COOLDOWN
from fairlead.kube.codec.volumes import Claims, claims_of
from fairlead.kube.objects.meta import ObjectReference, OwnerReference
from fairlead.kube.objects.pod import Pod, PodSpec, PodVolume
from fairlead.levels.node.request import SHARE_BASE, pieces_of
from fairlead.live.cluster.identity import PodKey, Uid
from fairlead.live.cluster.interning import MOST, Shared
from fairlead.model.amounts import BEYOND, CPU, MEMORY, too_large
from fairlead.model.claims import Attached
from fairlead.model.errors import InputError
from fairlead.model.faults import fault
from fairlead.model.population import Resident, resident
from fairlead.model.selectors import integer
from fairlead.model.shape import Shape
from fairlead.model.workload import odd_strategy

STRATEGY = "fairlead.io/strategy"
"""Annotation of a pod or workload: how its replicas are spread over nodes."""
BIND_CPU = "fairlead.io/bind-cpu"
"""`true` asks for bound cores, as many as the pod requests cpu."""
CORES = "fairlead.io/cores"
"""The cores a pod got, such as `0=100,1=50`: pieces of a core of 100."""

_ITS_OWN = frozenset((BIND_CPU, COOLDOWN))
_SHARED_NOTES = frozenset((*NAMED, STRATEGY))
_PLAIN = msgspec.structs.astuple(PodVolume())[1:]
"""A volume that says nothing of where its pod may run; its name may be random."""
_ENCODER = msgspec.json.Encoder()

Request = tuple[tuple[str, int], ...]
Pieces = tuple[tuple[str, int], ...]
"""Core to pieces of it."""


class Identity(msgspec.Struct, frozen=True, gc=False):
    """Which pod it is, and which version of it."""

    namespace: str
    name: str
    uid: Uid
    resource_version: str


class PodRecord(msgspec.Struct, frozen=True, gc=False):
    """One pod. `request` is what it takes on its node.

    `broken` says what in its spec cannot be read or is not implemented: such a pod is never placed.
    """

    metadata: Identity
    key: PodKey
    """Namespace and name."""
    controller: str
    shape: Shape
    resident: Resident
    request: Request
    node: str
    scheduler: str
    priority: int
    created: str
    gated: bool
    finished: bool
    leaving: bool
    broken: str = ""
    claims: Claims = ()
    attached: tuple[Attached, ...] = ()
    """Disks that it names itself and that count in a driver's limit."""
    strategy: str = ""
    """What the workload asks to be levelled; empty is the scheduler's default."""
    priority_class: str = ""
    preempts: bool = True
    """Whether it may make room for itself."""
    owner: OwnerReference | None = None
    """Its controller."""
    pieces: int = 0
    """Bound cpu that it asks for, in pieces of a core."""
    cores: Pieces = ()
    """What it got of that, by its annotations."""
    queue_fields: QueueFields = QueueFields()
    succeeded: bool = False
    nominated: str = ""
    """The node that its status says is being cleared for it."""

    @property
    def volumes(self) -> bool:
        """Whether volumes say where it may run or count in a driver's limit."""
        return bool(self.claims or self.attached)

    @property
    def alone(self) -> bool:
        """Whether it is decided on its own, because volumes or cores are promised one pod at a time."""
        return bool(self.pieces) or self.volumes

    @property
    def bare(self) -> bool:
        """Whether it is a replica of nothing but itself: no controller made it, and it names no group."""
        return self.owner is None and not (self.queue_fields.group or self.queue_fields.native)

    @property
    def holds_room(self) -> bool:
        """Whether it takes room on a node."""
        return bool(self.node) and not self.finished

    @property
    def waits(self) -> bool:
        """Whether it waits for a node."""
        return not (self.node or self.finished or self.gated or self.leaving)


class Records:
    """Makes records, sharing what is equal between pods; up to twice `most` names, owners and fields are remembered.

    Pods of one template differ in a few fields. The rest is copied from the first of them (docs/decisions/0421). Where
    they differ in labels, too, as those of indexed jobs do, looks are made anew and the rest is copied (0451).
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._shapes = Shapes()
        self._first: dict[bytes, dict[bytes, PodRecord]] = {}
        """One record of each template, by its key without labels and by its labels."""
        self._templates = 0
        self._texts: Shared[str] = Shared(most)
        self._shared = self._texts.__getitem__
        self._owners: Shared[OwnerReference] = Shared(most)
        self._known: Shared[QueueFields] = Shared(most)

    def record(self, pod: Pod) -> PodRecord:
        """The record of a pod; a spec that cannot be read is said in `broken` and never placed."""
        key = template_key(pod)
        if not key:
            return self._made(pod)
        family, labels = self._first.get(key), _ENCODER.encode(pod.metadata.labels)
        first = family.get(labels) if family else None
        if first is not None:
            return self._like(first, pod)
        base = next(iter(family.values())) if family else None
        made = self._like(self._relabelled(base, pod), pod) if base and _label_free(base) else self._made(pod)
        self._remember(key, labels, made)
        return made

    def _remember(self, key: bytes, labels: bytes, made: PodRecord) -> None:
        if self._templates >= self._most:
            self._first.clear()
            self._templates = 0
        self._first.setdefault(key, {})[labels] = made
        self._templates += 1

    def _relabelled(self, base: PodRecord, pod: Pod) -> PodRecord:
        """The record as it would be with the labels of this pod."""
        formed = replace(base.shape, labels=pairs(pod.metadata.labels))
        fields = self._known[queue_fields(pod)]
        return msgspec.structs.replace(base, shape=formed, resident=resident(formed), queue_fields=fields)

    def _like(self, first: PodRecord, pod: Pod) -> PodRecord:
        meta, shared = pod.metadata, self._shared
        identity = Identity(first.metadata.namespace, meta.name, Uid(meta.uid), meta.resource_version)
        return msgspec.structs.replace(
            first,
            metadata=identity,
            key=PodKey((identity.namespace, meta.name)),
            controller=shared(controller_of(pod)) if first.owner is None else first.controller,
            request=self._request(pod, first.shape),
            node=shared(pod.spec.node_name),
            created=meta.creation_timestamp or "",
            finished=pod.finished,
            leaving=meta.deletion_timestamp is not None,
            succeeded=pod.status.phase == "Succeeded",
            nominated=shared(pod.status.nominated_node_name),
        )

    def _made(self, pod: Pod) -> PodRecord:
        meta, spec = pod.metadata, pod.spec
        namespace = self._shared(meta.namespace)
        formed, seen, broken = self._formed(meta.namespace, meta.labels, spec)
        pieces = 0
        disks: tuple[Attached, ...] = ()
        try:
            disks = attached(spec.volumes)
        except ValueError as error:
            broken = broken or str(error)
        if BIND_CPU in meta.annotations:
            try:
                pieces = bound_cpu(meta.annotations[BIND_CPU], formed)
            except InputError as error:
                broken = broken or str(error)
        return PodRecord(
            metadata=Identity(namespace, meta.name, Uid(meta.uid), meta.resource_version),
            key=PodKey((namespace, meta.name)),
            controller=self._shared(controller_of(pod)),
            shape=formed,
            resident=seen,
            request=self._request(pod, formed),
            node=self._shared(spec.node_name),
            scheduler=self._shared(spec.scheduler_name),
            priority=spec.priority or 0,
            created=meta.creation_timestamp or "",
            gated=bool(spec.scheduling_gates),
            finished=pod.finished,
            leaving=meta.deletion_timestamp is not None,
            broken=broken or odd_strategy(STRATEGY, meta.annotations.get(STRATEGY, "")),
            claims=claims_of(pod),
            attached=disks,
            strategy=self._shared(meta.annotations.get(STRATEGY, "")),
            priority_class=self._shared(spec.priority_class_name),
            preempts=spec.preemption_policy != "Never",
            owner=self._owner(meta.controller),
            pieces=pieces,
            cores=cores_of(meta.annotations.get(CORES, "")) if pieces and spec.node_name else (),
            queue_fields=self._known[queue_fields(pod)],
            succeeded=pod.status.phase == "Succeeded",
            nominated=self._shared(pod.status.nominated_node_name),
        )

    def _formed(self, namespace: str, labels: Mapping[str, str], spec: PodSpec) -> tuple[Shape, Resident, str]:
        try:
            formed, seen = self._shapes.of(namespace, labels, spec)
            return formed, seen, unsupported(spec) or too_large(formed.request)
        except Exception as error:
            # Whatever is wrong with the spec, the pod may hold room on a node already (docs/decisions/0201).
            formed = Shape(namespace=namespace, labels=tuple(sorted(labels.items())), request=_held(spec))
            return formed, resident(formed), fault(error)

    def _request(self, pod: Pod, formed: Shape) -> Request:
        """What the pod takes: that of its shape, unless a resize is under way."""
        if pod.finished or not resized(pod.status):
            return formed.request
        try:
            return tuple(sorted(request_of_pod(pod).items()))
        except InputError:
            return formed.request

    def _owner(self, owner: OwnerReference | None) -> OwnerReference | None:
        return None if owner is None else self._owners[owner]


def _label_free(base: PodRecord) -> bool:
    """Whether labels are in its record only as they are: wishes about neighbours may be narrowed by them."""
    shape = base.shape
    return not (shape.spread or shape.near or shape.far or base.broken)


def template_key(pod: Pod) -> bytes:
    """What pods of one template have in common, but for labels; empty where a record depends on more.

    That is so for volumes that count, for bound cores, and for a pod that may not be evicted for some time.
    """
    meta, spec = pod.metadata, pod.spec
    if COOLDOWN in meta.labels or not _ITS_OWN.isdisjoint(meta.annotations):
        return b""
    if any(msgspec.structs.astuple(each)[1:] != _PLAIN for each in spec.volumes):
        return b""
    notes = (
        None
        if _SHARED_NOTES.isdisjoint(meta.annotations)
        else [meta.annotations.get(each, "") for each in _SHARED_NOTES]
    )
    bare = msgspec.structs.replace(spec, node_name="", volumes=())
    return _ENCODER.encode((meta.namespace, notes, meta.owner_references, bare))


def _held(spec: PodSpec) -> Request:
    """What a pod takes whose spec cannot be read otherwise; where not even that can be told, all of its node."""
    try:
        return tuple(sorted(request(spec).items()))
    except Exception:
        return (CPU, BEYOND), (MEMORY, BEYOND), (PODS, 1)


def check_held(pod: PodRecord) -> None:
    """`InputError` where a pod on a node takes more than can be counted: the node counts as full."""
    why = too_large(pod.request)
    if why:
        raise InputError("", f"{why}, and node {pod.node} counts as full")


def unsupported(spec: PodSpec) -> str:
    """The constraint of the spec that is not implemented, empty where there is none."""
    if spec.resource_claims or any(each.resources.claims for each in spec.containers):
        return "dynamic resource claims are not implemented"
    return ""


def bound_cpu(asked: str, formed: Shape) -> int:
    """The pieces of cores that a pod with this annotation asks for."""
    if asked not in ("true", "false"):
        raise InputError(f"annotation {BIND_CPU}", f"{asked!r}; expected true or false")
    if asked == "false":
        return 0
    return pieces_of(f"{dict(formed.request).get(CPU, 0)}m", SHARE_BASE, f"annotation {BIND_CPU}")


def cores_of(text: str) -> Pieces:
    """What an annotation says of a pod's cores; nothing where it cannot be read."""
    found = []
    for each in text.split(",") if text else ():
        core, _, pieces = each.partition("=")
        number = integer(pieces)
        if not core or number is None or number < 0:
            return ()
        found.append((core, number))
    return tuple(sorted(found))


def controller_of(pod: Pod) -> str:
    """The key of what the pod is a replica of: its controller, else the group it names, or itself."""
    controller = pod.metadata.controller
    if controller is None:
        fields, namespace = queue_fields(pod), pod.metadata.namespace
        if fields.group:
            return f"PodGroup/{namespace}/{fields.group}"
        if fields.native:
            return f"NativePodGroup/{namespace}/{fields.native}"
        return f"Pod/{namespace}/{pod.metadata.name}"
    return f"{controller.kind}/{pod.metadata.namespace}/{controller.name}"


def reference(pod: PodRecord) -> ObjectReference:
    """The pod as the subject of an Event."""
    meta = pod.metadata
    return ObjectReference(
        api_version="v1",
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
    )
