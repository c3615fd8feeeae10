"""What becomes of an object, as spans: from the watch event that brings it to the server's answer to our write.

    object ──┬── wait     from the event to the round that decides it
             ├── decide   that round, up to the moment when the write is due
             └── write    until the server answers

Each way is a trace of its own, so that sampling by trace ids keeps whole ways. What is decided again is another way,
with a link to the one before.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext, Tracer

Attributes = Mapping[str, str | bool | int | Sequence[str]]


class ObjectSpans:
    """Told of what becomes of objects, by uid. This one keeps nothing: spans are off."""

    def came(self, uid: str) -> None:
        """The watch told of the object, which has to be decided now."""

    def round(self) -> None:
        """A round begins."""

    def settled(self, uid: str) -> None:
        """Nothing has to be written for the object."""

    def decided(self, uid: str, attributes: Callable[[], Attributes], link: "SpanContext | None" = None) -> None:
        """Its write is due now, by the round that began last."""

    def written(self, uid: str, problem: str = "") -> None:
        """The server answered, or the write was given up: then `problem` says why, and the object waits again."""

    def gone(self, uid: str) -> None:
        """The object is deleted."""


def object_spans(tracer: "Tracer | None", kind: str, write: str) -> ObjectSpans:
    """Those of one kind of objects; `write` is what ends their way."""
    if tracer is None:
        return ObjectSpans()
    from fairlead.live.runtime.otel_spans import RecordedObjectSpans

    return RecordedObjectSpans(tracer, kind, write)
