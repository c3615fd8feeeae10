"""The storage component: watches in, advice out, and where it may act, a disk for every Replica that waits.

watches ──► what is known ──► outlook (aside) ──► Events, report, metrics
                ▲                   │ --act
                │                   ▼
                └── assumed ◄── node read again ──► patch of the Replica (many in flight)
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.longhorn import LonghornNode, LonghornReplica, LonghornSetting, LonghornVolume
from fairlead.kube.resources import LONGHORN_NODES, LONGHORN_REPLICAS, LONGHORN_SETTINGS, LONGHORN_VOLUMES
from fairlead.kube.retry import Backoff
from fairlead.kube.watch import Reflector
from fairlead.levels.disk.rebalance import Rebalance
from fairlead.live.runtime.aside import WRITING
from fairlead.live.runtime.aside import Aside as SetAside
from fairlead.live.runtime.elected import ElectedComponent, Instance
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pages import Page
from fairlead.live.runtime.retries import Retries
from fairlead.live.storage.announcer import VolumeAnnouncer
from fairlead.live.storage.cache import ReplicaPlacement, Seen, StorageCache
from fairlead.live.storage.decide import Outlook, StorageRules, advise, fits, outlook
from fairlead.live.storage.faulty import FaultyVolumes, Found, guarded, reference
from fairlead.live.storage.metrics import StorageMetrics
from fairlead.live.storage.notifier import VolumeNotifier
from fairlead.live.storage.report import Report
from fairlead.live.storage.writer import ReplicaWriter

GATHER = 0.05
"""Seconds to wait after a change, so that a burst becomes one look."""
WAITED = 15.0
"""Seconds after which volumes that wait for a failed replica are looked at again."""
BACKOFF = Backoff(first=0.1, cap=30.0)

log = structlog.get_logger("storage")

T = TypeVar("T")
Aside = Callable[..., Awaitable[Any]]
"""Calls a pure function without holding up the loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """`namespace` is Longhorn's. Without `act` nothing is written but Events, in `shadow` nothing at all."""

    namespace: str = "longhorn-system"
    rules: StorageRules = StorageRules()
    act: bool = False
    shadow: bool = False
    advise_seconds: float = 60.0

    @property
    def writes(self) -> bool:
        """Whether Replicas are written."""
        return self.act and not self.shadow

    @property
    def mode(self) -> str:
        """In a word."""
        return "shadow" if self.shadow else "act" if self.act else "advise"


class StorageKeeper(ElectedComponent):
    """Every instance reports; the one that leads records Events and acts."""

    def __init__(self, instance: Instance, options: StorageOptions, *, aside: Aside = asyncio.to_thread) -> None:
        self.options = options
        self.measures = StorageMetrics()
        self.report: Report | None = None
        client = instance.client
        self._now = instance.monotonic
        self._wall = instance.wall
        self._leads = instance.leads
        self.measures.leading.set_function(lambda: float(instance.leads()))
        self._aside = aside
        self._retries: Retries[str] = Retries(instance.monotonic, client.jitter)
        self._looks_at: float | None = None
        self._advises_at = 0.0
        self._stale_advice = True
        self._advice: Rebalance | None = None
        self._announcer = VolumeAnnouncer(
            VolumeNotifier(instance.recorder), self._volume, instance.monotonic, options.act
        )
        self.set_aside = SetAside(self.measures.registry, None if options.shadow else instance.recorder)
        self._faulty = FaultyVolumes(self.set_aside)
        self._unusable: frozenset[str] = frozenset()
        where, watched = options.namespace, self.set_aside.watched
        self._nodes = Reflector[LonghornNode](client, LONGHORN_NODES, self._on_node, namespace=where, aside=watched)
        self._volumes = Reflector[LonghornVolume](
            client, LONGHORN_VOLUMES, self._on_volume, namespace=where, aside=watched
        )
        self._replicas = Reflector[LonghornReplica](
            client, LONGHORN_REPLICAS, self._on_replica, namespace=where, aside=watched
        )
        self._settings = Reflector[LonghornSetting](
            client, LONGHORN_SETTINGS, self._on_setting, namespace=where, aside=watched
        )
        self._reflectors: tuple[Reflector[Any], ...] = (self._nodes, self._settings, self._volumes, self._replicas)
        # A report is made by every instance, whichever leads.
        super().__init__(instance, self.measures.registry, self._reflectors, gather=GATHER, leads=lambda: True)
        self._known = StorageCache(self._volumes.objects, self._settings.objects)
        self.writer = ReplicaWriter(instance, self._known, self.measures, self._written, fits=self._fits)

    @property
    def outboxes(self) -> Sequence[Outbox[Any]]:
        """Placements."""
        return (self.writer.outbox,)

    @property
    def pages(self) -> Mapping[str, Page]:
        """The report."""
        return {"/report": lambda query: self.page()}

    def page(self) -> Callable[[], bytes]:
        """The report with the instance that made it; what is returned makes the JSON, in any thread."""
        head, report = {"mode": self.options.mode, "leading": self._leads()}, self.report
        return lambda: msgspec.json.encode({**head, **(report.record() if report else {})})

    def due(self) -> float | None:
        """When advice is due, or what was put off may be tried again."""
        times = (self._retries.next, self._looks_at, self._advises_at if self._stale_advice else None)
        return min((time for time in times if time is not None), default=None)

    async def round(self) -> None:
        """Look, then leave as much time to others as that took."""
        began = self._now()
        await self.look()
        # A look that takes long is not repeated in a hurry: at most half of the time goes to looking.
        await asyncio.sleep(self._now() - began)

    async def look(self) -> None:
        """One look: outlook, advice if it is due, then report, Events and writes."""
        seen, moment, rules = self._faulty.sound(self._known.seen()), self._known.moment, self.options.rules
        began = self._now()
        self._retries.ended()
        found: Outlook = await self._guarded(lambda known: outlook(known, rules, self._wall()), seen)
        if self._advice is None or (self._stale_advice and began >= self._advises_at):
            self._advice = await self._advise(seen)
        self.measures.seconds.observe(self._now() - began)
        self._looks_at = self._now() + WAITED if found.awaiting else None
        self._show(found, self._advice)
        if self._leads():
            again = self._announcer.say(found, self._advice)
            self._looks_at = min((time for time in (self._looks_at, again) if time is not None), default=None)
            if self.options.writes:
                self._act(found, moment)

    def lost(self) -> None:
        """This instance leads no longer; it goes on to look, so what it cannot decide stays set aside."""
        super().lost()
        self.set_aside.lost(WRITING)
        self._announcer.lost()

    async def _advise(self, seen: Seen) -> Rebalance:
        self._stale_advice = False
        advice = await self._guarded(lambda known: advise(known, self.options.rules, self._wall()), seen)
        self._advises_at = self._now() + self.options.advise_seconds
        self.measures.advised(advice)
        return advice

    async def _guarded(self, work: Callable[[Seen], T], seen: Seen) -> T:
        """The work done aside, without the objects that make it fail; those are set aside."""
        result: tuple[T, Found] = await self._aside(guarded, work, seen)
        self._faulty.leave_out(result[1])
        return result[0]

    def _show(self, found: Outlook, advice: Rebalance) -> None:
        missing = tuple(each.resource.label for each in self._reflectors if not each.served)
        self.report = Report(outlook=found, advice=advice, missing=missing)
        unreadable = sum(len(each.left_out.keys) for each in self._reflectors)
        self.measures.unscheduled.set(found.unscheduled)
        self.measures.placeable.set(len(found.placements))
        self.measures.in_flight.set(len(found.storage.in_flight))
        self.measures.errors.set(len(found.storage.errors) + unreadable)
        unusable = frozenset(map(str, found.storage.errors))
        for what in sorted(unusable - self._unusable):
            log.warning("a value cannot be used", what=what)
        self._unusable = unusable

    def _act(self, found: Outlook, moment: int) -> None:
        # Placements on one node go together, for the node is read once for all that are in flight.
        for placement in sorted(found.placements, key=lambda each: each.node):
            # What changed while the outlook was made is decided anew in the next look, which its change has caused.
            if placement.name not in self._retries and self._known.still(placement):
                self._known.assume(placement, moment)
                self.writer.outbox.put(placement)
                # Replicas of the volume that wait behind these have not been asked for yet.
                self._rounds.wake()

    def _written(self, placement: ReplicaPlacement, newest: LonghornReplica | None, error: KubeError | None) -> None:
        name = placement.name
        if newest is not None:
            self._retries.forget(name)
            self._known.written(newest)
            self._announcer.written(placement, newest)
            return
        self._known.undo(placement)
        if not self._known.there(placement) or (isinstance(error, ApiError) and error.not_found):
            return
        self._retries.failed(name, BACKOFF)
        if error is not None and not (isinstance(error, ApiError) and error.conflict):
            log.warning("not written, tried again later", replica=name, why=error)
        self._rounds.wake()

    def _fits(self, placement: ReplicaPlacement) -> bool:
        """Whether the placement may still be made; one that cannot be checked is not made."""
        if self._known.as_decided(placement) and not self._faulty.any:
            return True
        with self.set_aside.around(reference("replicas", placement.replica), WRITING):
            return fits(placement, self._known.around(placement), self.options.rules, self._wall())
        return False

    def _volume(self, name: str) -> LonghornVolume | None:
        return self._volumes.objects.get((self.options.namespace, name))

    def _on_node(self, change: Change[LonghornNode]) -> None:
        if self._known.on_node(change):
            self._news()

    def _on_replica(self, change: Change[LonghornReplica]) -> None:
        if change.kind == "deleted":
            self._retries.forget(change.object.metadata.name)
        if self._known.on_replica(change):
            self._news()

    def _on_volume(self, change: Change[LonghornVolume]) -> None:
        self._known.on_volume(change)
        self._news()

    def _on_setting(self, change: Change[LonghornSetting]) -> None:
        self._known.on_setting(change)
        self._news()

    def _news(self) -> None:
        self._stale_advice = True
        self._rounds.wake()
