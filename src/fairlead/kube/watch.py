"""One resource, listed and then followed for good: the consumer is told of every change, and misses no deletion.

    list (pages) ─► synced ─► watch ─┬─ stream ends ─────────► watch again from the last version seen
         ▲                           ├─ silent for 2 minutes ─► the same: the connection may be dead
         │                           ├─ 410 Gone ────────────► list again; what differs from what was known is told
         └── wait ◄── unreachable ◄──┴─ 404, and discovery lacks the kind ─► not served: look again later

A change is told by a plain call, in order, on the loop; the callee must be quick. What one object makes it raise ends
with that object, and so does an object that cannot be read: it is set aside, told as such, and tried again when it
changes (docs/decisions/0201).
Not knowing is a state: `current` is set only while a watch is open, and what was known is kept until the server says
otherwise (docs/decisions/0212).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any, Generic, NoReturn, cast

import msgspec

from fairlead.kube import errors
from fairlead.kube.changes import Change, HasMetadata, Identified, Key, L, Obj, SetAside, deliver
from fairlead.kube.client import PAGE, Client
from fairlead.kube.decode import convert, decode, decoder
from fairlead.kube.errors import AnswerError, ApiError, KubeError, UnreachableError
from fairlead.kube.left_out import LeftOut
from fairlead.kube.objects.meta import Bare, ObjectMeta
from fairlead.kube.resources import Resource
from fairlead.kube.responses import page_of
from fairlead.kube.retry import Jitter, default_jitter
from fairlead.kube.watch_pace import PACE, WatchPace
from fairlead.text.mistakes import UNREADABLE

log = logging.getLogger(__name__)

TURN = 256
"""Events taken in a row before other tasks get their turn."""
LULL = 5.0
"""Seconds within which the timer of a stream is set once, however many lines come."""


class WatchLine(msgspec.Struct, Generic[L]):
    """One line of a watch."""

    type: str
    object: L


class Reflector(Generic[Obj]):
    """Keeps `objects` equal to what the API server has, and tells `sink` how it changed. Run `run()` as a task.

    `synced` is set once the first list is in (or the resource is known not to be served). `served` tells which.
    `current` is set while nothing says that `objects` are behind: a watch is open, or the resource is not served.
    `trouble` is the last error since anything succeeded, None while all is well.
    `keep` makes of a decoded object what is remembered and told, where the whole of it would take too much memory.
    `aside` is told of objects that cannot be read or taken, which are `left_out`; what was known of one stays known.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource[Any],
        sink: Callable[[Change[Obj]], None],
        *,
        namespace: str = "",
        labels: str = "",
        fields: str = "",
        keep: Callable[[Any], Obj] | None = None,
        aside: SetAside | None = None,
        page: int = PAGE,
        pace: WatchPace = PACE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Jitter = default_jitter,
    ) -> None:
        self.resource = resource
        self.synced = asyncio.Event()
        self.current = asyncio.Event()
        self.served = False
        self.trouble: KubeError | None = None
        self.version = ""
        self.lists = 0
        self.left_out = LeftOut(resource, aside)
        self._client = client
        self._sink = sink
        self._scope = {"namespace": namespace, "labels": labels, "fields": fields}
        self._page = page
        self._pace = pace
        self._sleep = sleep
        self._jitter = jitter
        self._failures = 0
        self._expired = 0
        self._keep = keep
        self._objects: dict[Key, Obj] = {}
        self._line = decoder(cast(Any, WatchLine)[resource.shape])
        self.on_progress: Callable[[], None] = lambda: None
        """Called while it goes on: at each try, at each page of a list, now and then while a watch brings something."""

    @property
    def objects(self) -> Mapping[Key, Obj]:
        """What is known now; a live view, to be read between two awaits."""
        return MappingProxyType(self._objects)

    async def run(self) -> NoReturn:
        """Follow the resource until cancelled."""
        while True:
            self.on_progress()
            try:
                if not self.version:
                    await self._list()
                if not await self._watch():
                    # Ended at once and without a word: as good as a failure, and not to be repeated in a hurry.
                    self._failures += 1
                    await self._sleep(self._pace.backoff.wait(self._failures, self._jitter))
            except KubeError as error:
                if (seconds := await self._after(error)) > 0:
                    await self._sleep(seconds)

    def _well(self) -> None:
        self._failures = 0
        self.trouble = None

    async def _after(self, error: KubeError) -> float:
        """What an error means for the next round, and the seconds to wait before it."""
        self.trouble = error
        status = error.status if isinstance(error, ApiError) else 0
        if status == 404 and await self._unserved():
            return self._absent(await self._instead())
        if status == 410:
            return self._relist()
        self._failures += 1
        if self._failures % 5 == 0:
            # A server restored from a backup knows no version as new as ours; a new list is always right.
            self.version = ""
        wait = self._pace.backoff.wait(self._failures, self._jitter)
        if isinstance(error, ApiError) and error.retry_after is not None:
            wait = max(wait, min(error.retry_after, self._pace.backoff.cap))
        log.warning("%s: %s; again in %.1f s", self.resource.label, error, wait)
        return wait

    def _relist(self) -> float:
        """The version is too old: list at once, but not again and again where every version is."""
        log.info("%s: version %s is too old, listing again", self.resource.label, self.version)
        self.version = ""
        self._expired += 1
        return 0.0 if self._expired == 1 else self._pace.backoff.wait(self._expired - 1, self._jitter)

    async def _unserved(self) -> bool:
        """Whether a 404 means that the kind is not served: a proxy without its server answers 404 as well."""
        if not self.resource.optional:
            return False
        try:
            return not await self._client.served(self.resource)
        except KubeError as error:
            log.info("%s: discovery does not answer: %s", self.resource.label, error)
            return False

    async def _instead(self) -> str:
        """Which versions of the group the server has, for people whose definitions are of another version."""
        try:
            others = await self._client.versions_of(self.resource.group)
        except KubeError:
            return ""
        return f" in {self.resource.api_version}; the server has {', '.join(others)}" if others else ""

    def _absent(self, instead: str) -> float:
        """The resource is not served: whatever was known of it is no more."""
        if self.served or not self.synced.is_set():
            log.info("%s are not served%s", self.resource.label, instead)
        self.served = False
        self._well()
        self.version = ""
        self._forget(set())
        self.synced.set()
        self.current.set()
        return self._pace.absent * (0.5 + 0.5 * self._jitter())

    async def _list(self) -> None:
        """Read everything, tell what differs from what was known."""
        try:
            version, seen = await self._read(self._page)
        except ApiError as error:
            if not error.gone:
                raise
            # The pages were too slow for the server's memory: take it in one piece.
            version, seen = await self._read(0)
        self._forget(seen)
        self.lists += 1
        self.version = version
        self.served = True
        self.trouble = None
        self.synced.set()

    async def _read(self, limit: int) -> tuple[str, set[Key]]:
        seen: set[Key] = set()
        version = ""
        async with aclosing(self._client.parts(self.resource, limit=limit, **self._scope)) as parts:
            async for body in parts:
                self.on_progress()
                listed, keys = self._take_page(body)
                version = version or listed
                seen.update(keys)
                await asyncio.sleep(0)
        if not version:
            # Every list has a version; whatever this answer is, it does not say that nothing is there.
            raise AnswerError(f"GET {self.resource.label}: a list without a resource version")
        return version, seen

    def _take_page(self, body: bytes) -> tuple[str, list[Key]]:
        """The version of the list and the keys of its objects, read in one pass where every object can be read."""
        take: Callable[[Any], Key] = self._take_decoded
        try:
            page = decoder(page_of(self.resource.shape)).decode(body)
        except UNREADABLE:
            take, page = self._take_listed, decode(body, page_of(msgspec.Raw), f"GET {self.resource.label}")
        return page.resource_version, [take(each) for each in page.items]

    def _take_decoded(self, found: Any) -> Key:
        try:
            self._put(self._kept(found))
        except Exception as error:
            self._unread(found.metadata, error)
        return _key(found)

    def _take_listed(self, raw: msgspec.Raw) -> Key:
        try:
            return self._take_decoded(decode(bytes(raw), self.resource.shape, self.resource.label))
        except Exception as error:
            # One object that cannot be read must not hide the others.
            bare = decode(bytes(raw), Bare, self.resource.label)
            self._unread(bare.metadata, error)
            return _key(bare)

    def _kept(self, found: Any) -> Obj:
        return self._keep(found) if self._keep else found

    def _forget(self, seen: set[Key]) -> None:
        for key in [key for key in self._objects if key not in seen]:
            gone = self._objects.pop(key)
            self._tell(Change("deleted", gone, gone))
        for key in self.left_out.keys - seen:
            self.left_out.back(Bare(ObjectMeta(namespace=key[0], name=key[1])).metadata)

    async def _watch(self) -> bool:
        """Follow one stream to its end; False if it brought nothing."""
        path, query = self._watched()
        clock, silence, taken = asyncio.get_running_loop().time, self._pace.silence, 0
        began = heard = clock()
        try:
            async with (
                asyncio.timeout(silence) as patience,
                aclosing(self._client.transport.stream(path, query)) as lines,
            ):
                await anext(lines, b"")
                self.current.set()
                async for line in lines:
                    if clock() - heard > LULL:
                        heard = clock()
                        self.on_progress()
                        patience.reschedule(heard + silence + LULL)
                    self._take(line)
                    if self._failures:
                        self._well()
                    taken += 1
                    if taken % TURN == 0:
                        await asyncio.sleep(0)
        except TimeoutError as error:
            raise UnreachableError(f"WATCH {path}", f"neither an event nor a bookmark for {silence:g} s") from error
        finally:
            lasted = clock() - began if self.current.is_set() else 0.0
            self.current.clear()
            self._lasted(lasted)
        return taken > 0 or lasted > 1.0

    def _watched(self) -> tuple[str, dict[str, str]]:
        """The path and the query of a watch that goes on from the last version."""
        query = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": str(int(self._pace.renew * (1.0 + self._jitter()))),
        }
        for option, name in (("labels", "labelSelector"), ("fields", "fieldSelector")):
            if self._scope[option]:
                query[name] = self._scope[option]
        return self.resource.path(namespace=self._scope["namespace"]), query

    def _lasted(self, seconds: float) -> None:
        """A stream was open for so long: the trouble before it is over."""
        if seconds > 1.0:
            self._well()
        if seconds > self._pace.steady:
            self._expired = 0

    def _take(self, line: bytes) -> None:
        try:
            event: WatchLine[Any] = self._line.decode(line)
        except UNREADABLE:
            self._take_slowly(line)
            return
        if event.type == "ERROR":
            self._take_slowly(line)
        else:
            self._apply(event.type, event.object)

    def _take_slowly(self, line: bytes) -> None:
        """A line that is not plainly an object: a bookmark with nulls, an error, or an object we cannot read."""
        event = decode(line, WatchLine[dict[str, Any]], self.resource.label)
        if event.type == "ERROR":
            raise errors.from_event(event.object)
        bare = convert(event.object, Bare, self.resource.label)
        try:
            found = convert(event.object, self.resource.shape, self.resource.label)
        except AnswerError as error:
            self._lost(event.type, bare.metadata, error)
            self._seen(bare.metadata)
        else:
            self._apply(event.type, found)

    def _apply(self, kind: str, found: Any) -> None:
        try:
            kept = self._kept(found) if kind in ("ADDED", "MODIFIED", "DELETED") else None
        except Exception as error:
            self._lost(kind, found.metadata, error)
        else:
            if kept is not None and kind == "DELETED":
                self._drop(_key(found), kept)
            elif kept is not None:
                self._put(kept)
        self._seen(found.metadata)

    def _lost(self, kind: str, metadata: Identified, error: Exception) -> None:
        """News of an object that cannot be read: its end is news all the same."""
        if kind == "DELETED":
            self._drop((metadata.namespace, metadata.name), None)
            self.left_out.back(metadata)
        else:
            self._unread(metadata, error)

    def _unread(self, metadata: Identified, error: Exception) -> None:
        """An object cannot be read: what was known of it stays, but not of an earlier one of its name."""
        key = metadata.namespace, metadata.name
        known = self._objects.get(key)
        if known is not None and known.metadata.uid != metadata.uid:
            self._drop(key, None)
        self.left_out.add(metadata, error)

    def _seen(self, metadata: Identified) -> None:
        self.version = metadata.resource_version or self.version

    def _put(self, found: Obj) -> None:
        key = _key(found)
        old = self._objects.get(key)
        if old is not None and old.metadata.uid != found.metadata.uid:
            self._drop(key, None)
            old = None
        if old is None:
            self._objects[key] = found
            self._tell(Change("added", found))
        elif old.metadata.resource_version != found.metadata.resource_version:
            self._objects[key] = found
            self._tell(Change("modified", found, old))

    def _drop(self, key: Key, last: Obj | None) -> None:
        old = self._objects.pop(key, None)
        if old is not None:
            self._tell(Change("deleted", last if last is not None else old, old))
        elif last is not None:
            self.left_out.back(last.metadata)

    def _tell(self, change: Change[Obj]) -> None:
        error, metadata, gone = deliver(self._sink, change), change.object.metadata, change.kind == "deleted"
        if error is None or gone:
            self.left_out.back(metadata, gone=gone)
        if error is not None:
            self.left_out.add(metadata, error, gone=gone)


def _key(found: HasMetadata) -> Key:
    return (found.metadata.namespace, found.metadata.name)
