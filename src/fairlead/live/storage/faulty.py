"""Objects that make a look at the storage fail: found, left out, and tried again when they change."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.resources import (
    LONGHORN_NODES,
    LONGHORN_REPLICAS,
    LONGHORN_SETTINGS,
    LONGHORN_VOLUMES,
    Resource,
)
from fairlead.live.runtime.aside import DECIDING, Aside, culprit
from fairlead.live.storage.cache import Seen

T = TypeVar("T")
RESOURCES: dict[str, Resource[Any]] = {
    "nodes": LONGHORN_NODES,
    "volumes": LONGHORN_VOLUMES,
    "replicas": LONGHORN_REPLICAS,
    "settings": LONGHORN_SETTINGS,
}
Thing = tuple[str, Any]
"""An object and the part of `Seen` it is in."""
Found = list[tuple[Thing, Exception]]


class FaultyVolumes:
    """What takes part in a look: all objects but those that were found to fail one (docs/decisions/0201)."""

    def __init__(self, aside: Aside) -> None:
        self._aside = aside
        self._left_out: dict[tuple[str, str], tuple[str, ObjectReference]] = {}
        """By part and name, the version that fails, and the object as it is told of."""

    def sound(self, seen: Seen) -> Seen:
        """The objects without those that failed a look and have not changed since."""
        if not self._left_out:
            return seen
        things = _things(seen)
        there = {(part, each.metadata.name): each.metadata.resource_version for part, each in things}
        for what, (version, about) in list(self._left_out.items()):
            if there.get(what) != version:
                del self._left_out[what]
                self._aside.tell(about, None, DECIDING)
        return _seen([(part, each) for part, each in things if (part, each.metadata.name) not in self._left_out])

    @property
    def any(self) -> bool:
        """Whether some object is left out."""
        return bool(self._left_out)

    def leave_out(self, found: Found) -> None:
        """These made a look fail."""
        for (part, each), error in found:
            about = reference(part, each)
            self._left_out[part, each.metadata.name] = each.metadata.resource_version, about
            self._aside.tell(about, error, DECIDING)


def guarded(work: Callable[[Seen], T], seen: Seen) -> tuple[T, Found]:
    """The result of the work without the objects that make it raise, and those. What no object explains is raised."""
    found: Found = []
    things = _things(seen)
    while True:
        try:
            return work(_seen(things)), found
        except Exception:
            blamed = culprit(things, lambda some: _tried(work, some))
            if blamed is None:
                raise
            found.append(blamed)
            things = [each for each in things if each is not blamed[0]]


def reference(part: str, each: Any) -> ObjectReference:
    """The object as the subject of an Event."""
    meta = each.metadata
    return RESOURCES[part].refer(meta.name, namespace=meta.namespace, uid=meta.uid)


def _tried(work: Callable[[Seen], object], things: Sequence[Thing]) -> Exception | None:
    try:
        work(_seen(things))
    except Exception as error:
        return error
    return None


def _things(seen: Seen) -> list[Thing]:
    return [(part.name, each) for part in fields(Seen) for each in getattr(seen, part.name)]


def _seen(things: Sequence[Thing]) -> Seen:
    parts = {part.name: tuple(each for name, each in things if name == part.name) for part in fields(Seen)}
    return Seen(**parts)
