"""Manifests as typed objects, sorted by kind; what is not understood is counted, what is broken is named."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple, TypeVar

import msgspec

from fairlead.dataclass import dataclass
from fairlead.kube import resources
from fairlead.kube.decode import drop_nulls
from fairlead.kube.manifests.bystanders import is_bystander
from fairlead.kube.manifests.complete import KEEPERS, complete
from fairlead.kube.manifests.foreign import adapted
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.objects import workloads
from fairlead.kube.resources import Resource
from fairlead.model.errors import InputError
from fairlead.model.progress import OnProgress, no_progress
from fairlead.text.mistakes import converted

T = TypeVar("T")

_UNPLANNED: tuple[Resource[Any], ...] = (
    resources.CONFIG_MAPS,
    resources.SECRETS,
    resources.LEASES,
    resources.EVENTS,
    resources.NATIVE_POD_GROUPS,
    resources.CUSTOM_RESOURCES,
    resources.MUTATING_WEBHOOKS,
    resources.VALIDATING_WEBHOOKS,
    resources.TIER_LEDGERS,
)
"""What the live components read or write and a plan does not."""

KINDS: dict[tuple[str, str], type[Any]] = {
    **{(each.group, each.kind): each.shape for each in resources.ALL if each not in _UNPLANNED},
    ("autoscaling", "HorizontalPodAutoscaler"): workloads.HorizontalPodAutoscaler,
    ("fairlead.io", "PodRole"): workloads.RoleController,
    ("kueue.x-k8s.io", "LocalQueue"): workloads.LocalQueue,
}
"""Kinds that a plan reads. The versions of a group that are known differ in nothing that a plan reads."""

CLUSTER_WIDE = frozenset(
    {
        *((each.group, each.kind) for each in resources.ALL if not each.namespaced),
        ("kueue.x-k8s.io", "ClusterQueue"),
        ("kueue.x-k8s.io", "Cohort"),
        ("kueue.x-k8s.io", "ResourceFlavor"),
    }
)
"""Kinds whose objects are in no namespace."""

VERSIONS: dict[str, tuple[str, ...]] = {
    "": ("v1",),
    "apps": ("v1", "v1beta2", "v1beta1"),
    "batch": ("v1",),
    "autoscaling": ("v2", "v1", "v2beta2"),
    "fairlead.io": ("adapted",),
    "kueue.x-k8s.io": ("v1beta1", "v1beta2"),
    "policy": ("v1", "v1beta1"),
    "scheduling.k8s.io": ("v1", "v1beta1"),
    "storage.k8s.io": ("v1", "v1beta1"),
    "scheduling.volcano.sh": ("v1beta1", "v1alpha2"),
    "cluster.karmada.io": ("v1alpha1",),
    "policy.karmada.io": ("v1alpha1",),
    "work.karmada.io": ("v1alpha2",),
    "longhorn.io": ("v1beta2", "v1beta1"),
}
"""The versions of each group whose fields are known, the one to use first."""

CLUSTER = "resource.karmada.io/cached-from-cluster"
"""The annotation by which Karmada marks an object with the cluster it was read from."""


@dataclass(slots=True)
class Catalogue:
    """Objects by the type they were decoded to, in the order they came."""

    objects: dict[type[Any], list[Any]] = field(default_factory=lambda: defaultdict(list))
    not_counted: Counter[str] = field(default_factory=Counter)
    """What may have a say in where pods run and is not taken into account, by kind, with how many there were."""
    unreached: list[str] = field(default_factory=list)
    """What policies propagate and no known cluster can take, as sentences."""
    errors: list[InputError] = field(default_factory=list)
    unread: int = 0
    """How many of the errors are files and objects that could not be read; the others are contradictions."""

    def of(self, kind: type[T]) -> list[T]:
        """All objects of a type."""
        return self.objects.get(kind, [])

    def at(self, kind: type[T], cluster: str) -> list[T]:
        """The objects of a type that were read from one cluster."""
        items: list[Any] = self.of(kind)
        return [each for each in items if each.metadata.annotations.get(CLUSTER, "") == cluster]


def cluster_of(item: Any) -> str:
    """The cluster an object was read from; empty where it does not say."""
    annotations: dict[str, str] = item.metadata.annotations
    return annotations.get(CLUSTER, "")


def catalogue(manifests: Sequence[Manifest], on_progress: OnProgress = no_progress) -> Catalogue:
    """Decode every manifest; an object that is given twice is an error, the first one counts."""
    found = Catalogue()
    seen: dict[tuple[str, str], set[tuple[str, str, str]]] = defaultdict(set)
    generated: Counter[tuple[str, str, str]] = Counter()
    manifests = [each if each.name and each.namespace else _identified(each, generated) for each in manifests]
    manifests = adapted(manifests, found.not_counted, found.errors)
    heads: dict[tuple[str, str], _Head] = {}
    for row, manifest in enumerate(manifests):
        if row % 1000 == 0:
            on_progress("decoding", row, len(manifests))
        kind = manifest.api_version, manifest.kind
        # There are many objects and few kinds.
        head = heads.get(kind)
        if head is None:
            head = heads[kind] = _head(manifest, seen)
        if head.type is None:
            if not is_bystander(head.group, head.kind):
                found.not_counted[f"{head.kind}.{head.group}".rstrip(".")] += 1
            continue
        try:
            if not head.known:
                raise _unknown_version(manifest)
            decoded = _decode(manifest, head.type)
            if head.keeps:
                complete(manifest)
        except InputError as error:
            found.errors.append(error)
            continue
        name = manifest.name
        identity = manifest.namespace, name, decoded.metadata.annotations.get(CLUSTER, "")
        if identity in head.seen:
            found.errors.append(InputError(manifest.place, f"{head.kind} {name} is there twice"))
        elif not name:
            found.errors.append(InputError(manifest.place, f"{head.kind} has no metadata.name"))
        else:
            head.seen.add(identity)
            found.objects[head.type].append(decoded)
    return found


class _Head(NamedTuple):
    """What objects of one kind and version have in common."""

    group: str
    kind: str
    type: type[Any] | None
    known: bool
    """Whether the fields of this version are known."""
    keeps: bool
    """Whether it may keep pods."""
    seen: set[tuple[str, str, str]]
    """Namespace, name and cluster of the objects of this kind, in any version."""


def _head(manifest: Manifest, seen: Mapping[tuple[str, str], set[tuple[str, str, str]]]) -> _Head:
    group, kind = manifest.group, manifest.kind
    known = manifest.version in VERSIONS.get(group, ())
    return _Head(group, kind, KINDS.get((group, kind)), known, kind in KEEPERS, seen[group, kind])


def _identified(manifest: Manifest, generated: Counter[tuple[str, str, str]]) -> Manifest:
    """The manifest as the API server would identify it.

    One that names no namespace is in `default`; one that leaves its name to the server (`generateName`) gets the next
    number behind its prefix.
    """
    everywhere = (manifest.group, manifest.kind) in CLUSTER_WIDE
    if manifest.name and everywhere:
        return manifest
    meta = manifest.value.get("metadata") or {}
    more = {}
    if not meta.get("namespace") and not everywhere:
        more["namespace"] = "default"
    prefix = meta.get("generateName")
    if isinstance(prefix, str) and prefix and not meta.get("name"):
        generated[manifest.kind, manifest.namespace, prefix] += 1
        more["name"] = f"{prefix}{generated[manifest.kind, manifest.namespace, prefix]}"
    return Manifest(manifest.place, {**manifest.value, "metadata": {**meta, **more}}) if more else manifest


def _unknown_version(manifest: Manifest) -> InputError:
    group, known = manifest.group, VERSIONS[manifest.group]
    wanted = " or ".join(f"{group}/{version}" if group else version for version in known)
    return InputError(
        f"{manifest.place}: {manifest.kind} {manifest.name}",
        f"the API version {manifest.api_version} is not known; expected {wanted}",
    )


def decoded(manifest: Manifest) -> Any:
    """One object as a plan reads it. Raises InputError where it cannot be read, KeyError for an unknown kind."""
    return _decode(manifest, KINDS[manifest.group, manifest.kind])


def _decode(manifest: Manifest, kind: type[Any]) -> Any:
    try:
        return manifest.decoded(kind)
    except msgspec.ValidationError:
        pass  # most often a null where the API server leaves the field out
    return converted(drop_nulls(manifest.value), kind, f"{manifest.place}: {manifest.kind} {manifest.name}")
