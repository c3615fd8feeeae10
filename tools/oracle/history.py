"""How objects came to be known: what watches may have told before the objects were as they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from fairlead.kube.changes import Change
from fairlead.kube.objects.pod import Pod
from tools.oracle.draw import Draw
from tools.oracle.process import Admitted

Event = tuple[str, Change[Any]]
"""The plural of the kind, and what happened."""


def in_order(objects: Admitted) -> Iterator[Event]:
    """Every object once, kind by kind."""
    for kind in Admitted.__struct_fields__:
        for each in getattr(objects, kind):
            yield kind, Change("added", each)


def history(objects: Admitted, draw: Draw) -> Iterator[Event]:
    """The objects in random order, some after an earlier version of theirs, among others that come and go."""
    events = []
    for kind in Admitted.__struct_fields__:
        listed = getattr(objects, kind)
        for each in listed:
            at = draw.number(0, 1000)
            if draw.chance(0.3):
                events.append((draw.number(0, at), kind, Change("added", _earlier(draw, each, listed))))
            events.append((at, kind, Change("modified", each)))
            if draw.chance(0.1):
                begin, other = draw.number(0, 1000), _other(each)
                events.append((begin, kind, Change("added", other)))
                events.append((draw.number(begin, 1001), kind, Change("deleted", other)))
    for _, kind, change in sorted(events, key=lambda event: event[0]):
        yield kind, change


def _earlier(draw: Draw, each: Any, listed: Sequence[Any]) -> Any:
    """The object with the content of another one; a pod as it waited for the node that it has by now."""
    if isinstance(each, Pod):
        waiting = msgspec.structs.replace(each.spec, node_name="")
        meta = msgspec.structs.replace(each.metadata, deletion_timestamp=None)
        return Pod(metadata=meta, spec=waiting)
    other = draw.one(listed)
    own = {"name": each.metadata.name, "namespace": each.metadata.namespace, "uid": each.metadata.uid}
    return msgspec.structs.replace(other, metadata=msgspec.structs.replace(other.metadata, **own))


def _other(each: Any) -> Any:
    """Another object of the same content."""
    meta = each.metadata
    return msgspec.structs.replace(
        each, metadata=msgspec.structs.replace(meta, name=f"{meta.name}-other", uid=f"{meta.uid}-other")
    )
