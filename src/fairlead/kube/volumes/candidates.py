"""Volumes that exist and could serve a claim: those made for it, and free ones of its class; read as they come."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeVar

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Key
from fairlead.kube.codec.volumes import volume_terms
from fairlead.kube.objects.storage import PersistentVolume
from fairlead.model.amounts import exact
from fairlead.model.claims import Candidate
from fairlead.model.selectors import LabelSelector

STORAGE = "storage"

K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """What a claim asks of a volume. `size` is in bytes."""

    claim: Key
    uid: str
    size: int
    storage_class: str
    modes: frozenset[str]
    volume_mode: str
    attributes: str
    labels: LabelSelector | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Volume:
    """A volume as claims see it; `claim` is whose it is, None where it is free."""

    candidate: Candidate
    size: int
    storage_class: str
    modes: frozenset[str]
    volume_mode: str
    attributes: str
    labels: dict[str, str]
    claim: Key | None
    uid: str


class VolumeCandidates:
    """Volumes by the claim they were made for, and free ones by class."""

    def __init__(self) -> None:
        self._known: dict[str, _Volume] = {}
        self._made: dict[Key, dict[str, _Volume]] = defaultdict(dict)
        self._free: dict[str, dict[str, _Volume]] = defaultdict(dict)

    def put(self, volume: PersistentVolume) -> None:
        """A volume came or changed. One that is leaving, or neither free nor claimed, serves no claim.

        Neither does one that cannot be read, which is `InputError`.
        """
        name = volume.metadata.name
        self.drop(name)
        free = volume.spec.claim_ref is None
        if volume.metadata.deletion_timestamp or (free and volume.status.phase != "Available"):
            return
        read = _read(volume)
        self._known[name] = read
        (self._free[read.storage_class] if read.claim is None else self._made[read.claim])[name] = read

    def drop(self, name: str) -> None:
        """A volume is gone."""
        old = self._known.pop(name, None)
        if old is None:
            return
        if old.claim is None:
            _remove(self._free, old.storage_class, name)
        else:
            _remove(self._made, old.claim, name)

    def candidates(self, asked: ClaimRequest, promised: Mapping[str, Key]) -> tuple[Candidate, ...]:
        """Volumes that suit the claim, the smallest first; one that was made for it excludes all others.

        `promised` tells which volumes are promised to which claim.
        """
        for name, volume in self._made.get(asked.claim, {}).items():
            mine = promised.get(name, asked.claim) == asked.claim and volume.uid in ("", asked.uid)
            if mine and volume.storage_class == asked.storage_class and _alike(volume, asked):
                return (volume.candidate,)
        found = sorted(self._suiting(asked, promised), key=lambda volume: (volume.size, volume.candidate.name))
        return tuple(volume.candidate for volume in found)

    def _suiting(self, asked: ClaimRequest, promised: Mapping[str, Key]) -> Iterator[_Volume]:
        for name, volume in self._free.get(asked.storage_class, {}).items():
            if (
                promised.get(name, asked.claim) == asked.claim
                and _alike(volume, asked)
                and asked.modes <= volume.modes
                and (asked.labels is None or asked.labels.selects(volume.labels))
            ):
                yield volume


def _remove(volumes: dict[K, dict[str, _Volume]], key: K, name: str) -> None:
    del volumes[key][name]
    if not volumes[key]:
        del volumes[key]


def _read(volume: PersistentVolume) -> _Volume:
    spec, reference = volume.spec, volume.spec.claim_ref
    return _Volume(
        candidate=Candidate(name=volume.metadata.name, nodes=volume_terms(volume)),
        size=exact(STORAGE, spec.capacity.get(STORAGE, 0), "spec.capacity.storage"),
        storage_class=spec.storage_class_name,
        modes=frozenset(spec.access_modes),
        volume_mode=spec.volume_mode,
        attributes=spec.volume_attributes_class_name,
        labels=dict(volume.metadata.labels),
        claim=None if reference is None else (reference.namespace, reference.name),
        uid="" if reference is None else reference.uid,
    )


def _alike(volume: _Volume, asked: ClaimRequest) -> bool:
    """Large enough, and of the mode and attributes class that the claim asks for."""
    return (
        volume.size >= asked.size and volume.volume_mode == asked.volume_mode and volume.attributes == asked.attributes
    )
