"""Spans as OpenTelemetry records them. Imported only where spans are on (`fairlead.live.runtime.telemetry`)."""

import time
from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanContext, Status, StatusCode, Tracer, set_span_in_context

from fairlead.live.runtime.spans import Attributes, ObjectSpans

NOWHERE = Context()
"""Below no other span: a trace of its own."""


class RecordedObjectSpans(ObjectSpans):
    """Records them. `kind` and `write` name the spans. Of an object that waits only the moment of its event is kept."""

    def __init__(self, tracer: Tracer, kind: str, write: str, now: Callable[[], int] = time.time_ns) -> None:
        self.now = now
        self.began = now()
        self._tracer = tracer
        self._kind = kind
        self._write = write
        self._came: dict[str, int] = {}
        self._open: dict[str, tuple[Span, ...]] = {}
        self._before: dict[str, SpanContext] = {}

    def came(self, uid: str) -> None:
        self._came.setdefault(uid, self.now())

    def round(self) -> None:
        self.began = self.now()

    def settled(self, uid: str) -> None:
        self._came.pop(uid, None)

    def decided(self, uid: str, attributes: Callable[[], Attributes], link: SpanContext | None = None) -> None:
        self.written(uid, "decided anew before an answer came")
        came, began, now = min(self._came.pop(uid, self.began), self.began), self.began, self.now()
        links = [Link(each) for each in (link, self._before.pop(uid, None)) if each is not None]
        way = self._tracer.start_span(self._kind, NOWHERE, links=links, start_time=came)
        if not way.is_recording():
            return
        way.set_attributes(attributes())
        within = set_span_in_context(way, NOWHERE)
        for name, start, end in (("wait", came, began), ("decide", began, now)):
            self._tracer.start_span(name, within, start_time=start).end(end)
        self._open[uid] = way, self._tracer.start_span(self._write, within, start_time=now)

    def written(self, uid: str, problem: str = "") -> None:
        found = self._open.pop(uid, None)
        if found is None:
            return
        now = self.now()
        for span in reversed(found):
            if problem:
                span.set_status(Status(StatusCode.ERROR, problem))
            span.end(now)
        if problem:
            self._before[uid] = found[0].get_span_context()
            self._came[uid] = now

    def gone(self, uid: str) -> None:
        self.written(uid, "deleted before an answer came")
        self._came.pop(uid, None)
        self._before.pop(uid, None)
