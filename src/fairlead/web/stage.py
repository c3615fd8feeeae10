"""What the page shows now, and what changed since: one look at a time, its records made when they are asked for."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError
from fairlead.model.faults import place_of
from fairlead.web.evictions import SeenEviction
from fairlead.web.history import History
from fairlead.web.patch import Patch, difference
from fairlead.web.views import VIEWS, Look, Record

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    """The last record of a view, and the patch that led to it from the revision before."""

    revision: int
    record: Record
    before: int = 0
    patch: Patch | None = None


@dataclass(frozen=True, slots=True)
class News:
    """What a reader at some revision lacks: nothing, a patch, or the whole record."""

    revision: int
    record: Record | None = None
    patch: Patch | None = None


def failure_of(error: Exception) -> str:
    """What to say where a plan could not be made; the traceback of a defect goes to the log."""
    if isinstance(error, InputError):
        return str(error)
    log.warning("no new plan", exc_info=error)
    return f"a defect of Fairlead: {place_of(error)}"


class ViewStage:
    """One source as the page sees it. Memory: a record and a patch a view, and a bounded history.

    Records are made in threads, one at a time, so that the loop stays free.
    """

    def __init__(self, title: str, clock: Callable[[], float] = time.time) -> None:
        self.look = Look(title=title)
        # Larger than any revision of a server that ran before, so that a reader who comes back takes none for another.
        self.revision = int(clock() * 1000)
        self.history = History()
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._making = asyncio.Lock()
        self._news = asyncio.Condition()

    async def show(self, look: Look) -> None:
        """From now on this is what there is. A plan that is shown already is no news to the history."""
        if look.decided is not None and look.decided is not self.look.decided:
            records = [await asyncio.to_thread(VIEWS[view], look) for view in ("overview", "workloads", "queues")]
            self.history.add(self._clock(), records[0], records[1]["workloads"], records[2]["sites"])
        async with self._news:
            self.look = look
            self.revision += 1
            self._news.notify_all()

    def evicted(self, seen: SeenEviction) -> None:
        """A pod is about to go; it is told with the next look."""
        self.history.evicted(self._clock(), seen)

    async def newer(self, revision: int, seconds: float) -> bool:
        """Wait until there is a newer revision, or for so long; whether there is."""
        try:
            async with asyncio.timeout(seconds), self._news:
                await self._news.wait_for(lambda: self.revision > revision)
        except TimeoutError:
            return False
        return True

    async def record(self, view: str) -> tuple[int, Record]:
        """The record of a view, and its revision."""
        kept = await self._fresh(view)
        return kept.revision, kept.record

    async def news(self, view: str, seen: int) -> News:
        """What a reader lacks who has seen the record of revision `seen` (0: none)."""
        kept = await self._fresh(view)
        if seen == kept.revision:
            return News(kept.revision)
        if seen and seen == kept.before:
            return News(kept.revision, patch=kept.patch)
        return News(kept.revision, record=kept.record)

    async def _fresh(self, view: str) -> _Kept:
        async with self._making:
            kept = self._kept.get(view)
            if kept is None or kept.revision != self.revision:
                look, revision = self.look, self.revision
                kept = self._kept[view] = await asyncio.to_thread(self._made, view, look, revision, kept)
            return kept

    def _made(self, view: str, look: Look, revision: int, old: _Kept | None) -> _Kept:
        record: dict[str, Any] = self.history.record() if view == "history" else VIEWS[view](look)
        if old is None:
            return _Kept(revision, record)
        return _Kept(revision, record, old.revision, difference(old.record, record))

    def known(self, view: str) -> None:
        """Raise where there is no such view."""
        if view not in VIEWS and view != "history":
            raise InputError(view, f"is no view; there are {', '.join([*VIEWS, 'history'])}")
