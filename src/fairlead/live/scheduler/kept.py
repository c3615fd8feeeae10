"""Objects that are kept just as the server has them, by watches, and looked up when they are needed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from fairlead.kube.resources import Resource
from fairlead.kube.watch import Change
from fairlead.live.scheduler.records import Key


class Kept(ABC):
    """Several kinds of objects, each in a mapping of its own; `on_change` is called after every change of one."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change

    @abstractmethod
    def kept(self) -> Iterator[tuple[Resource[Any], dict[Key, Any]]]:
        """Every resource that is followed, with what is known of it."""

    def watched(self) -> Iterator[tuple[Resource[Any], Callable[[Change[Any]], None]]]:
        """Every resource to follow, with its sink."""
        for resource, kept in self.kept():
            yield resource, self._sink(kept)

    def _sink(self, kept: dict[Key, Any]) -> Callable[[Change[Any]], None]:
        def sink(change: Change[Any]) -> None:
            key = change.object.metadata.namespace, change.object.metadata.name
            if change.kind == "deleted":
                kept.pop(key, None)
            else:
                kept[key] = change.object
            self._on_change()

        return sink
