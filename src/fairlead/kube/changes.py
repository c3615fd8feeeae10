"""What a watch reports: one change of one object, and the objects that are set aside (docs/decisions/0201)."""

from collections.abc import Callable
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from fairlead.kube.resources import Resource

Key = tuple[str, str]
"""Namespace ('' where there is none) and name."""


class Identified(Protocol):
    """What has to be known of an object to follow it."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class HasMetadata(Protocol):
    @property
    def metadata(self) -> Identified: ...


Obj = TypeVar("Obj", bound=HasMetadata)
L = TypeVar("L")


class Change(msgspec.Struct, Generic[L], frozen=True, gc=False):
    """What happened to one object. `previous` is what was known before, None for one that is new.

    The object of a deletion is its last known state. One deleted and created anew is told as two changes.
    """

    kind: Literal["added", "modified", "deleted"]
    object: L
    previous: L | None = None


SetAside = Callable[[Resource[Any], Identified, Exception | None], None]
"""Told of an object that cannot be read or taken, with what was raised; with None of its recovery, and of any end."""


def deliver(sink: Callable[[Change[Obj]], object], change: Change[Obj]) -> Exception | None:
    """Tell the sink of one change; what it raised, None where all is well."""
    try:
        sink(change)
    except Exception as error:
        return error
    return None
