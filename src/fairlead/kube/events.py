"""Events for people: what Fairlead did to an object and why, as `kubectl describe` shows it (events.k8s.io/v1).

Recording never waits and never fails the caller: events go into a bounded memory and are written by a task at a
bounded rate. The same thing said again becomes a series on the first event instead of a new one; said in other words
(the API does not let a note change) it becomes a new event, but not more often than a series is written.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal, NoReturn

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.meta import ObjectReference, Raw
from fairlead.kube.resources import EVENTS

log = logging.getLogger(__name__)

NOTE_BYTES = 1024
WORD_CHARS = 128
IDLE_SECONDS = 15.0
"""A recorder that has nothing to write says this often that it goes on."""
NAME_CHARS = 230

EventType = Literal["Normal", "Warning"]
Key = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """`kept`: events remembered at most. `per_second` and `burst`: writes. A series ends after `series` silent seconds,
    and is written at most every `refresh` seconds."""

    kept: int = 4096
    per_second: float = 50.0
    burst: int = 100
    series: float = 360.0
    refresh: float = 30.0


RATE = Rate()


@dataclass(slots=True, kw_only=True)
class RecordedEvent:
    """One thing that was said, once or more. Times are seconds on the recorder's clock.

    `body` is what was or will be written, `note` the last wording; `written` repetitions were sent to the server, which
    has them if it is `stored`.
    """

    body: Raw
    note: str
    count: int = 1
    last: float
    stored: bool = False
    written: int = 0
    written_at: float = 0.0

    @property
    def reworded(self) -> bool:
        return bool(self.note != self.body["note"])

    def reword(self) -> None:
        """Take the last wording: in a new event, unless nothing of this one was ever sent."""
        if self.written:
            self.anew()
        else:
            self.body = {**self.body, "note": self.note}

    def anew(self) -> None:
        """Begin a new event with the last wording: the old one is complete, gone, or was never taken."""
        stem = self.body["metadata"]["name"].rpartition(".")[0]
        metadata = {**self.body["metadata"], "name": f"{stem}.{_suffix()}"}
        self.body = {**self.body, "metadata": metadata, "note": self.note}
        # Of an event that was taken unanswered and forgotten, all was sent before: it is said once now.
        self.count = max(1, self.count - self.written)
        self.written = 0
        self.stored = False


class Recorder:
    """Records events of one component. Run `run()` as a task; without it nothing is written, only remembered.

    `dropped` counts the events that were not kept because too many were waiting.
    """

    def __init__(
        self,
        client: Client,
        *,
        component: str,
        instance: str,
        rate: Rate = RATE,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.dropped = 0
        self._client = client
        self._component = component
        self._instance = instance[:WORD_CHARS]
        self._rate = rate
        self._clock = clock
        self._now = now
        self._recorded: OrderedDict[Key, RecordedEvent] = OrderedDict()
        self._waiting: OrderedDict[Key, None] = OrderedDict()
        self._news = asyncio.Event()
        self.on_progress: Callable[[], None] = lambda: None
        """Called while it goes on: after each write, and every `IDLE_SECONDS` at least."""
        self._tokens = float(rate.burst)
        self._filled_at = clock()

    def record(
        self,
        regarding: ObjectReference,
        *,
        reason: str,
        action: str,
        note: str,
        kind: EventType = "Normal",
        related: ObjectReference | None = None,
    ) -> None:
        """Say something about an object. `reason` and `action` are short words such as Scheduled and Binding.

        Two events are the same thing if object, related object, reason, action and kind are; the last note counts.
        """
        key = (
            regarding.uid or f"{regarding.namespace}/{regarding.name}",
            reason,
            action,
            kind,
            related.uid if related else "",
        )
        moment = self._clock()
        event = self._recorded.get(key)
        if event is not None and moment - event.last <= self._rate.series:
            event.count += 1
            event.last = moment
            event.note = clip(note)
            self._recorded.move_to_end(key)
        elif len(self._waiting) >= self._rate.kept:
            self.dropped += 1
            return
        else:
            body = self._body(regarding, related, reason=reason, action=action, note=note, kind=kind)
            self._recorded[key] = RecordedEvent(body=body, note=body["note"], last=moment)
        if key not in self._waiting:
            self._waiting[key] = None
            self._news.set()
        self._forget()

    def _body(
        self,
        regarding: ObjectReference,
        related: ObjectReference | None,
        *,
        reason: str,
        action: str,
        note: str,
        kind: str,
    ) -> Raw:
        body: Raw = {
            "metadata": {
                "name": f"{regarding.name[:NAME_CHARS]}.{_suffix()}",
                "namespace": regarding.namespace or "default",
            },
            "eventTime": timestamps.micro(self._now()),
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "action": action[:WORD_CHARS],
            "reason": reason[:WORD_CHARS],
            "regarding": regarding,
            "note": clip(note),
            "type": kind,
        }
        if related is not None:
            body["related"] = related
        return body

    def _forget(self) -> None:
        """Drop the oldest that are written; what waits is kept."""
        while len(self._recorded) > 2 * self._rate.kept:
            key = next((each for each in self._recorded if each not in self._waiting), None)
            if key is None:
                return
            del self._recorded[key]

    async def run(self) -> NoReturn:
        """Write what was recorded until cancelled."""
        while True:
            self.on_progress()
            self._news.clear()
            wait = await self._write_due()
            # What is new need not wait until a repetition is due.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(IDLE_SECONDS if wait is None else min(wait, IDLE_SECONDS)):
                    await self._news.wait()

    async def flush(self) -> None:
        """Write everything that waits, regardless of the rate; for the end of a process."""
        for key in list(self._waiting):
            await self._write(key)

    async def _write_due(self) -> float | None:
        """Write what may be written now. Seconds until there may be more, None if nothing waits."""
        soonest: float | None = None
        for key in list(self._waiting):
            due = self._due(self._recorded[key])
            if due <= 0.0:
                delay = self._take_token()
                if delay > 0.0:
                    return delay
                await self._write(key)
                self.on_progress()
            else:
                soonest = due if soonest is None else min(soonest, due)
        return soonest

    def _due(self, event: RecordedEvent) -> float:
        """Seconds until this may be written: the first time and the first repetition at once, then now and then."""
        if event.written == 0 or (event.written == 1 and not event.reworded):
            return 0.0
        return event.written_at + self._rate.refresh - self._clock()

    def _take_token(self) -> float:
        moment = self._clock()
        self._tokens = min(self._rate.burst, self._tokens + (moment - self._filled_at) * self._rate.per_second)
        self._filled_at = moment
        if self._tokens >= 1.0:
            self._tokens -= 1.0
            return 0.0
        # Never less than a millisecond: a token that is short by rounding alone must not keep the loop spinning.
        return max(0.001, (1.0 - self._tokens) / self._rate.per_second)

    async def _write(self, key: Key) -> None:
        """One event or one series to the server. What cannot be written is given up: events are not worth a jam."""
        event = self._recorded[key]
        self._waiting.pop(key, None)
        if event.reworded:
            event.reword()
        try:
            if event.stored:
                await self._extend(event)
            else:
                await self._create(event)
        except KubeError as error:
            log.warning("event %s was not written: %s", event.body["reason"], error)
        event.written_at = self._clock()

    async def _create(self, event: RecordedEvent) -> None:
        count, body = event.count, dict(event.body)
        if count > 1:
            body["series"] = self._series(event, count)
        event.written = count
        try:
            await self._client.create(EVENTS, body, namespace=body["metadata"]["namespace"])
        except ApiError as error:
            if not error.already_exists:
                raise
            # An earlier try was acted upon, and its answer was lost.
            await self._extend(event)
        event.stored = True

    async def _extend(self, event: RecordedEvent) -> None:
        count, metadata = event.count, event.body["metadata"]
        patch = {"series": self._series(event, count)}
        try:
            await self._client.patch(EVENTS, metadata["name"], patch, namespace=metadata["namespace"])
            event.written = count
        except ApiError as error:
            if not error.not_found:
                raise
            # The server forgets events after an hour: say it anew, under a new name.
            event.anew()
            await self._create(event)

    def _series(self, event: RecordedEvent, count: int) -> Raw:
        ago = self._clock() - event.last
        return {"count": count, "lastObservedTime": timestamps.micro(self._now() - ago)}


def clip(note: str) -> str:
    """A note as the API takes it: at most 1024 bytes, cut between characters."""
    raw = note.encode("utf-8", "replace")
    return note if len(raw) < NOTE_BYTES else raw[: NOTE_BYTES - 4].decode("utf-8", "ignore") + "…"


def _suffix() -> str:
    return uuid.uuid4().hex[:16]
