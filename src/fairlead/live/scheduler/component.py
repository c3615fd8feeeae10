"""The scheduler as a component: how it is put together, and its life. What a cycle does is in `cycle`.

watches ──► stores ──► cycle: due, group, place or share, record ──► bind (many in flight)
              ▲                                                        │
              └──────────── refused, woken by an event ◄───────────────┘
"""

import asyncio
import gc
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from fairlead.kube.resources import PODS, QUEUES
from fairlead.live.cluster.cache import About, Cache
from fairlead.live.cluster.identity import PodKey, Wake
from fairlead.live.cluster.records import PodRecord
from fairlead.live.queue.announced import Announcements
from fairlead.live.queue.gangs import Gangs
from fairlead.live.queue.intents import Intents
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.starting import Assembly
from fairlead.live.runtime.aside import DECIDING, WRITING, Aside
from fairlead.live.runtime.elected import ElectedComponent, Instance
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pages import Page
from fairlead.live.runtime.reconcile_loop import Work
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
from fairlead.live.scheduler.pending import Pending
from fairlead.live.scheduler.spans import Spans
from fairlead.live.scheduler.stores import Stores
from fairlead.live.scheduler.watches import Watches

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

USUAL_COLLECTIONS = gc.get_threshold()
GATHER = 0.01
"""Seconds to wait after a change, so that a burst of pods becomes one cycle."""

__all__ = ["Options", "Scheduler"]


class Companion(Protocol):
    """What works beside a scheduler in the same process (`QueueWiring`)."""

    async def run(self) -> None: ...

    def lost(self) -> None: ...


class Scheduler(ElectedComponent):
    """Places the pods that name it, and binds them."""

    def __init__(self, instance: Instance, options: Options) -> None:
        client, recorder, leads, pulse = instance.client, instance.recorder, instance.leads, instance.pulse
        monotonic, wall = instance.monotonic, instance.wall
        self.options = options
        self.instance = instance
        self.companions: list[Companion] = []
        self.measures = SchedulerMetrics()
        self.knows_promises = False
        """Whether what was promised before this lead has been looked for; that needs watches that are not behind."""
        self.aside = Aside(self.measures.registry, recorder)
        self.cache = Cache(self._happened)
        self.pending = Pending()
        self.measures.follow(leads, self.pending, self.cache.assumed)
        self.delivery = Delivery(
            client,
            self.cache,
            self.measures,
            on_ready=lambda pod, node: self.events.ready(pod, node),
            on_bound=lambda pod, node: self.events.bound(pod, node),
            on_refused=lambda pod, why: self.events.refused(pod, why),
            leads=leads,
            pulse=pulse,
            patience=options.volume_seconds,
        )
        self._notifier = PodNotifier(client, recorder, wall, monotonic, self.cache.still_waiting, pulse)
        self.job_cache = JobCache(
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
        self.promises = Promises(
            self.job_cache, lambda pod: self.cache.rules.cover(pod.resident), deadline=options.gang_seconds
        )
        self.promises.faulty.on_queue = lambda name, why: self.aside.tell(QUEUES.refer(name), why, DECIDING)
        self._intents = Intents(
            client, self.delivery.binder.bind, lambda pod, why: self.events.refused(pod, why), wall, pulse
        )
        stores = self._stores = Stores(
            cache=self.cache,
            jobs=self.job_cache,
            promises=self.promises,
            pending=self.pending,
            parking=Parking(
                self.cache, self.pending, self._notifier, shadow=options.shadow, monotonic=monotonic, wall=wall
            ),
            delivery=self.delivery,
            assembly=Assembly(
                self.job_cache,
                self._intents,
                self.delivery.volumes,
                lambda job, places: self.events.given_back(job, places),
                self.cache.pods.get,
            ),
            gangs=Gangs(
                self.job_cache, self._intents, self.cache.pods.get, recorder, lambda: leads() and not options.shadow
            ),
            notifier=self._notifier,
            aside=self.aside,
            spans=self._spans(instance.tracer),
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
            client, self.cache, self.job_cache, self.events.on_node, self.events.on_pod, self.aside.watched
        )
        self.objects = watches.objects
        super().__init__(instance, self.measures.registry, watches.all, vital=watches.vital, gather=GATHER)

    @property
    def work(self) -> Sequence[Work]:
        """The companions end first: what they evict makes room for pods that are bound here."""
        return [*(each.run for each in self.companions), self.run]

    @property
    def outboxes(self) -> Sequence[Outbox[Any]]:
        """Intents first, for each that is recorded asks for binds."""
        return self._intents.outbox, self.delivery.binder.outbox

    @property
    def beside(self) -> Sequence[Work]:
        """Volumes and unanswered binds, conditions, and the comparison with fresh lists where it is asked for."""
        work = [*super().beside, *self.delivery.work, self._notifier.run, *self._watches.beside]
        if self.options.self_check:
            known = self.instance.client, self.cache, self.job_cache, self.measures
            work.append(lambda: compare_every(self.options.self_check, *known, lambda: self.synced))
        return work

    @property
    def pages(self) -> Mapping[str, Page]:
        """One pod explained, and all that is known."""
        return {"/explain": self._explained, "/snapshot": lambda query: self.snapshot()}

    async def begin(self) -> None:
        """The first cycle."""
        # Most of what exists now stays: the collector need not look at it again, nor once before, for pods wait.
        gc.freeze()
        gc.set_threshold(*USUAL_COLLECTIONS)
        self._wake()

    async def round(self) -> None:
        """One cycle, then time for watches, binds and evictions."""
        if not self.knows_promises:
            self.promises.recall(() if self.options.shadow else self.nominated())
            self.knows_promises = True
        await self.cycle.run()
        await asyncio.sleep(self.cycle.rest)

    def due(self) -> float | None:
        """When a group that is awake may be tried again, or a gang should be complete; a follower waits for news."""
        if not self.instance.leads():
            return None
        deadline = None if self.options.shadow else self.promises.next_deadline()
        times = (self.pending.next_due(), self.pending.next_rest(), self.job_cache.announced.next_due(), deadline)
        return min((time for time in times if time is not None), default=None)

    async def drain(self) -> None:
        """Give back gangs that have not started, then as every component."""
        self._stores.assembly.clear()
        await super().drain()

    def nudge(self) -> None:
        """Look at what waits now: this instance has just begun to lead."""
        self.job_cache.recall()
        # What an earlier lead of this instance found may not have been told.
        self.pending.wake_all()
        self._wake()

    def lost(self) -> None:
        """This instance leads no longer: what is decided and not sent yet is given up, for another decides now."""
        self.knows_promises = False
        for each in self.companions:
            each.lost()
        self._stores.assembly.clear()
        self.delivery.volumes.clear()
        super().lost()
        self._stores.gangs.lost()
        self._notifier.clear()
        self._stores.parking.reasons.clear()
        self.promises.faulty.lost()
        self.aside.lost(DECIDING, WRITING)

    def nominated(self) -> list[PodRecord]:
        """The pods of this scheduler that wait and say that a node is being cleared for them."""
        name = self.options.name
        return [pod for pod in self.cache.waiting.values() if pod.nominated and pod.scheduler == name]

    def stir(self) -> None:
        """Look again at every job that waits for its turn: a queue was edited, or a victim evicted."""
        self._happened(Wake.QUEUE)

    def snapshot(self) -> Callable[[], bytes]:
        """What it knows now, as a list of objects that `fairlead plan` reads: to be rendered in any thread."""
        known = ((each.resource, each.objects.values()) for each in self._watches.all if each.resource is not PODS)
        return dump(known, self.cache.pods.values(), self.cache.assumed)

    def explain(self, namespace: str, name: str) -> dict[str, Any]:
        """What is known of a pod and why it is where it is, as a record."""
        pod = self.cache.pods.get(PodKey((namespace, name)))
        if pod is None:
            return {"pod": f"{namespace}/{name}", "state": "unknown"}
        why = self._stores.parking.reasons.get(pod.metadata.uid)
        return explanation(pod, self.cache.assumed.get(pod.key, ""), why)

    def _explained(self, query: Mapping[str, str]) -> Callable[[], bytes]:
        namespace, _, name = query.get("pod", "").partition("/")
        return partial(msgspec.json.encode, self.explain(namespace, name))

    def _spans(self, tracer: "Tracer | None") -> Spans:
        if tracer is None:
            return Spans()
        from fairlead.live.scheduler.otel_spans import RecordedSpans

        return RecordedSpans(tracer, self.job_cache.job_of)

    def _happened(self, what: Wake, about: About = None) -> None:
        self.events.happened(what, about)

    def _wake(self) -> None:
        self._rounds.wake()
