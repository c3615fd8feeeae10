"""Objects that are kept just as the server has them, by watches, and looked up when they are needed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from fairlead.kube.changes import Change, Key
from fairlead.kube.resources import Resource


class WatchedObjects(ABC):
    """Several kinds of objects, each in a mapping of its own."""

    @abstractmethod
    def kept(self) -> Iterator[tuple[Resource[Any], dict[Key, Any]]]:
        """Every resource that is followed, with what is known of it."""

    @abstractmethod
    def _noted(self, resource: Resource[Any], before: Any, now: Any) -> None:
        """An object is kept differently from now on: as it was and as it is, None where it was or is not there."""

    def watched(self) -> Iterator[tuple[Resource[Any], Callable[[Change[Any]], None]]]:
        """Every resource to follow, with its sink."""
        for resource, kept in self.kept():
            yield resource, self._sink(resource, kept)

    def _sink(self, resource: Resource[Any], kept: dict[Key, Any]) -> Callable[[Change[Any]], None]:
        def sink(change: Change[Any]) -> None:
            key = change.object.metadata.namespace, change.object.metadata.name
            before = kept.pop(key, None)
            if change.kind != "deleted":
                kept[key] = change.object
            if before is not None or key in kept:
                self._noted(resource, before, kept.get(key))

        return sink
