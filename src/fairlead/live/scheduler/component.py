"""The scheduler as a component: how it is put together, and its life. What a cycle does is in `cycle`.

watches ──► stores ──► cycle: due, group, place or share, record ──► bind (many in flight)
              ▲                                                        │
              └──────────── refused, woken by an event ◄───────────────┘
"""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import PODS, QUEUES
from fairlead.live.cluster.cache import About, Cache
from fairlead.live.queue.announced import Announcements
from fairlead.live.queue.gangs import Gangs
from fairlead.live.queue.intents import Intents
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.starting import Assembly
from fairlead.live.runtime.aside import DECIDING, Aside
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Rounds
from fairlead.live.scheduler.check import compare_every
from fairlead.live.scheduler.cycle import Cycle
from fairlead.live.scheduler.delivery import Delivery
from fairlead.live.scheduler.dump import dump
from fairlead.live.scheduler.events import Events
from fairlead.live.scheduler.messages import explanation
from fairlead.live.scheduler.metrics import SchedulerMetrics
from fairlead.live.scheduler.notifier import PodNotifier
from fairlead.live.scheduler.options import Options as Options
from fairlead.live.scheduler.parking import Parking
from fairlead.live.scheduler.pending import QUEUE, Pending
from fairlead.live.scheduler.stores import Stores
from fairlead.live.scheduler.watches import Watches

GATHER = 0.01
"""Seconds to wait after a change, so that a burst of pods becomes one cycle."""

__all__ = ["Options", "Scheduler"]


class Scheduler:
    """One instance. It follows the cluster from the start and acts while `leads()` is true."""

    def __init__(
        self,
        client: Client,
        options: Options,
        *,
        recorder: Recorder | None,
        monotonic: Callable[[], float],
        wall: Callable[[], float],
        leads: Callable[[], bool] = lambda: True,
        pulse: Pulse | None = None,
    ) -> None:
        self.options = options
        self.pulse = pulse or Pulse(monotonic)
        self.measures = SchedulerMetrics()
        self.aside = Aside(self.measures.registry, recorder)
        self.cache = Cache(self._happened)
        self.pending = Pending()
        self._client = client
        self._leads = leads
        self.measures.follow(leads, self.pending, self.cache.assumed)
        self.delivery = Delivery(
            client,
            self.cache,
            self.measures,
            on_ready=lambda pod, node: self.events.ready(pod, node),
            on_bound=lambda pod, node: self.events.bound(pod, node),
            on_refused=lambda pod, why: self.events.refused(pod, why),
            leads=leads,
            pulse=self.pulse,
            patience=options.volume_seconds,
        )
        self._notifier = PodNotifier(client, recorder, wall, monotonic, self.cache.still_waiting, self.pulse)
        self.books = JobCache(
            self.cache.rules,
            scheduler=options.name,
            on_change=self.stir,
            served=lambda kind: self._watches.served(kind),
            faults=self.aside.faults,
            clock=monotonic,
            announced=Announcements(
                served=lambda kind: self._watches.served(kind),
                synced=lambda: self._watches.owners_known,
                on_change=self._wake,
                clock=monotonic,
            ),
        )
        self.fair = Promises(
            self.books, lambda pod: self.cache.rules.cover(pod.resident), deadline=options.gang_seconds
        )
        self.fair.faulty.on_queue = lambda name, why: self.aside.tell(QUEUES.refer(name), why, DECIDING)
        self._intents = Intents(
            client, self.delivery.binder.bind, lambda pod, why: self.events.refused(pod, why), wall, self.pulse
        )
        stores = self._stores = Stores(
            cache=self.cache,
            jobs=self.books,
            promises=self.fair,
            pending=self.pending,
            parking=Parking(
                self.cache, self.pending, self._notifier, shadow=options.shadow, monotonic=monotonic, wall=wall
            ),
            delivery=self.delivery,
            assembly=Assembly(
                self.books,
                self._intents,
                self.delivery.volumes,
                lambda job, places: self.events.given_back(job, places),
                self.cache.pods.get,
            ),
            gangs=Gangs(
                self.books, self._intents, self.cache.pods.get, recorder, lambda: leads() and not options.shadow
            ),
            notifier=self._notifier,
            aside=self.aside,
        )
        self.events = Events(
            stores,
            self.measures,
            name=options.name,
            wake=self._wake,
            synced=lambda: self.synced,
            monotonic=monotonic,
        )
        self.cycle = Cycle(stores, self.events, self.measures, options, wake=self._wake, monotonic=monotonic, wall=wall)
        watches = self._watches = Watches(
            client, self.cache, self.books, self.events.on_node, self.events.on_pod, self.aside.watched
        )
        self.objects = watches.objects
        self._rounds = Rounds(
            watches.all, vital=watches.vital, gather=GATHER, leads=leads, monotonic=monotonic, pulse=self.pulse
        )

    @property
    def synced(self) -> bool:
        """Whether the first lists are in."""
        return self._rounds.synced

    async def run(self) -> None:
        """Schedule until cancelled; then the binds under way are finished."""
        beside = [*self.delivery.work, self._notifier.run, self._intents.outbox.run, *self._watches.beside]
        if self.options.self_check:
            known = self._client, self.cache, self.books, self.measures
            beside.append(lambda: compare_every(self.options.self_check, *known, lambda: self.synced))
        await self._rounds.run(
            self._round, begin=self._begin, idle=lambda: None, due=self._due, beside=beside, drain=self._drain
        )

    async def _begin(self) -> None:
        # Most of what exists now stays: the collector need not look at it again, nor once before, for pods wait.
        gc.freeze()
        self._wake()

    async def _round(self) -> None:
        await self.cycle.run()
        await asyncio.sleep(self.cycle.rest)

    def _due(self) -> float | None:
        """When a group that is awake may be tried again, or a gang should be complete; a follower waits for news."""
        if not self._leads():
            return None
        deadline = None if self.options.shadow else self.fair.next_deadline()
        times = (self.pending.next_due(), self.pending.next_rest(), self.books.announced.next_due(), deadline)
        return min((time for time in times if time is not None), default=None)

    async def _drain(self) -> None:
        """Give up what has not begun; intents first, for each that is recorded asks for binds."""
        self._stores.assembly.clear()
        await self._intents.outbox.drain()
        await self.delivery.binder.drain()

    def nudge(self) -> None:
        """Look at what waits now: this instance has just begun to lead."""
        self.books.recall()
        self._wake()

    def lost(self) -> None:
        """This instance leads no longer: what is decided and not sent yet is given up, for another decides now."""
        self._stores.assembly.clear()
        self.delivery.volumes.clear()
        self._intents.outbox.clear()
        self.delivery.binder.outbox.clear()
        self._stores.gangs.lost()
        self._notifier.clear()

    def stir(self) -> None:
        """Look again at every job that waits for its turn: a queue was edited, or a victim evicted."""
        self._happened(QUEUE)

    def snapshot(self) -> Callable[[], bytes]:
        """What it knows now, as a list of objects that `fairlead plan` reads: to be rendered in any thread."""
        known = ((each.resource, each.objects.values()) for each in self._watches.all if each.resource is not PODS)
        return dump(known, self.cache.pods.values(), self.cache.assumed)

    def explain(self, namespace: str, name: str) -> dict[str, Any]:
        """What is known of a pod and why it is where it is, as a record."""
        pod = self.cache.pods.get((namespace, name))
        if pod is None:
            return {"pod": f"{namespace}/{name}", "state": "unknown"}
        why = self._stores.parking.reasons.get(pod.metadata.uid)
        return explanation(pod, self.cache.assumed.get(pod.key, ""), why)

    def _happened(self, what: str, about: About = None) -> None:
        self.events.happened(what, about)

    def _wake(self) -> None:
        self._rounds.wake()
