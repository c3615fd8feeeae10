"""The scheduler as a component: watches in, bindings out.

watches ──► cache ──► due pods ──► decide ──► assume ──► bind (many in flight)
              ▲          ▲                                 │
              └──────────┴──── refused, woken by a cure ◄──┘
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

import structlog

from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError
from fairlead.kube.events import Recorder
from fairlead.kube.resources import NAMESPACES, NODES, PODS, Resource
from fairlead.kube.watch import Change, Reflector
from fairlead.live.queue.books import Books
from fairlead.live.queue.fair import DEADLINE, Fairness
from fairlead.live.queue.fits import Site
from fairlead.live.queue.gangs import GATHERING, Gangs, Starting, gathers
from fairlead.live.queue.intents import Intents
from fairlead.live.queue.turn import FairTurn
from fairlead.live.queue.turning import take_turn
from fairlead.live.scheduler.binder import Binder
from fairlead.live.scheduler.cache import About, Cache
from fairlead.live.scheduler.check import differences
from fairlead.live.scheduler.decide import Group, Outcome, batches, decide, grouped
from fairlead.live.scheduler.dump import dump
from fairlead.live.scheduler.measures import Measures
from fairlead.live.scheduler.pending import BUDGET, POD, QUEUE, VOLUME, Pending
from fairlead.live.scheduler.records import COMMUNISM, PodRecord, Records
from fairlead.live.scheduler.teller import Teller
from fairlead.live.scheduler.volumebinder import PATIENCE, VolumeBinder
from fairlead.live.scheduler.words import explanation, message

GATHER = 0.01
"""Seconds to wait after a change, so that a burst of pods becomes one cycle."""
BREATH = 0.005
"""Seconds of writing down what was decided before others may run, so that the first binds are under way meanwhile."""
REST, LONGEST_REST = 3.0, 1.0
"""After a turn of the queue level this many times its length is for watches, binds and evictions; seconds at most."""

T = TypeVar("T")

log = structlog.get_logger("scheduler")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`shadow` decides and reports but writes nothing. `strategy` is for workloads that name none.

    Every `self_check` seconds (0: never) cache and books are compared with fresh lists. `volume_seconds` is how long a
    pod's room is kept for volumes that do not come, `gang_seconds` how long a gang that was begun may take.
    """

    name: str = "fairlead"
    shadow: bool = False
    strategy: str = COMMUNISM
    self_check: float = 0.0
    volume_seconds: float = PATIENCE
    gang_seconds: float = DEADLINE


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
    ) -> None:
        self.options = options
        self.measures = Measures()
        self.cache = Cache(self._happened)
        self.pending = Pending()
        self.waits: dict[str, Outcome] = {}
        self._client = client
        self._now = monotonic
        self._wall = wall
        self._leads = leads
        self.measures.leading.set_function(lambda: float(leads()))
        self.measures.waiting.labels("parked").set_function(lambda: len(self.pending))
        self.measures.waiting.labels("awake").set_function(lambda: self.pending.awake)
        self.measures.waiting.labels("binding").set_function(lambda: len(self.cache.assumed))
        self._changed = asyncio.Event()
        self._rest = 0.0
        self._retry: dict[tuple[str, str], float] = {}
        self._binder = Binder(
            client,
            self._refused,
            self._bound,
            self.measures.seconds.labels("bind").observe,
            leads,
            self.cache.cores.notes,
        )
        self._volumes = VolumeBinder(
            client,
            self.cache.storage,
            self.cache.labels_of,
            self._binder.bind,
            self._refused,
            patience=options.volume_seconds,
        )
        self._teller = Teller(client, recorder, wall, monotonic)
        self.books = Books(
            self.cache.rules, scheduler=options.name, on_change=lambda: self._happened(QUEUE), served=self._served
        )
        self.fair = Fairness(
            self.books, lambda pod: self.cache.rules.cover(pod.resident), deadline=options.gang_seconds
        )
        self.on_turn: Callable[[FairTurn], None] = lambda turn: None
        """Told of every turn of the queue level, after its grants were acted on."""
        self._intents = Intents(client, self._binder.bind, self._refused, wall)
        self._gangs = Gangs(self.books, self._intents, self.cache.pods.get, recorder, leads)
        self._shared: dict[Resource[Any], Reflector[Any]] = {
            resource: Reflector(client, resource, sink) for resource, sink in self.books.watched()
        }
        self._reflectors: tuple[Reflector[Any], ...] = (
            *self._shared.values(),
            Reflector(client, NAMESPACES, self.cache.on_namespace),
            Reflector(client, NODES, self.cache.on_node),
            *(
                Reflector(client, resource, sink)
                for kept in (self.cache.storage, self.cache.rules)
                for resource, sink in kept.watched()
            ),
            Reflector(client, PODS, self._on_pod, keep=Records().record),
        )

    @property
    def synced(self) -> bool:
        """Whether the first lists are in."""
        return all(each.synced.is_set() for each in self._reflectors)

    async def run(self) -> None:
        """Schedule until cancelled; then the binds under way are finished."""
        async with asyncio.TaskGroup() as group:
            work: list[Coroutine[None, None, None]] = [each.run() for each in self._reflectors]
            work += [self._binder.run(), self._volumes.run(), self._teller.run(), self._intents.run()]
            if self.options.self_check:
                work.append(self._check())
            tasks = [group.create_task(each) for each in work]
            try:
                for each in self._reflectors:
                    await each.synced.wait()
                # Most of what exists now stays: the collector need not look at it again. To collect first would take
                # longer than the little it could find is worth, and pods wait.
                gc.freeze()
                await self._cycles()
            except asyncio.CancelledError:
                await asyncio.shield(self._binder.drain())
                raise
            finally:
                for task in tasks:
                    task.cancel()

    async def _check(self) -> None:
        """Compare the cache with a fresh list, again and again; a server that cannot be asked is asked later."""
        while True:
            await asyncio.sleep(self.options.self_check)
            if not self.synced:
                continue
            try:
                found = await differences(self._client, self.cache, self.books)
            except KubeError as error:
                log.warning("not compared", why=str(error))
                continue
            self.measures.differences.set(len(found))
            self.measures.checks.inc()
            for line in found[:10]:
                log.error("cache differs from a fresh list", what=line)

    def nudge(self) -> None:
        """Look at what waits now: this instance has just begun to lead."""
        self._changed.set()

    def stir(self) -> None:
        """Look at everybody again who waits for their turn: somebody was asked to leave, or may be asked again."""
        self._happened(QUEUE)

    async def _cycles(self) -> None:
        self._changed.set()
        while True:
            await self._wait()
            await asyncio.sleep(max(GATHER, self._rest))
            self._rest = 0.0
            self._changed.clear()
            if self._leads():
                await self.cycle()

    async def _wait(self) -> None:
        """Until something changed, or a group that is awake may be tried again."""
        deadline = self.fair.next_deadline()
        times = [time for time in (self.pending.next_due(), *self._retry.values()) if time is not None]
        if deadline is not None:
            times.append(self._now() + deadline - self._wall())
        timeout = max(min(times) - self._now(), 0) if times else None
        try:
            async with asyncio.timeout(timeout):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def cycle(self) -> list[Outcome]:
        """One pass: due pods, decide, assume, bind; what finds no node is parked and told why."""
        now = self._now()
        self._retry = {key: time for key, time in self._retry.items() if time > now}
        # 1. what is worth a look
        mine = [pod for key, pod in self.cache.waiting.items() if key not in self._retry and self._mine(pod)]
        due = self.pending.due(mine, now)
        self._gangs.check()
        # 2. where everybody gets everything, nobody asks whose turn it is
        outcomes, contested = await self._place(due, now)
        # 3. else the queue level says who gets how much
        if contested:
            outcomes += self._share(self.pending.due(mine, inf), now)
            self._rest = min(REST * (self._now() - now), LONGEST_REST)
        self.measures.cycles.inc()
        self.measures.seconds.labels("decide").observe(self._now() - now)
        return outcomes

    async def _place(self, due: list[PodRecord], now: float) -> tuple[list[Outcome], bool]:
        """Place the pods that are due, on one view for all groups that share nothing but nodes; True: not all fit."""
        outcomes: list[Outcome] = []
        if self.fair.overdue(self._wall()):
            return outcomes, True
        if self.pending.next_due() is not None or not self.fair.calm(due, parked=bool(len(self.pending))):
            return outcomes, bool(due)
        for batch in batches(grouped(due)):
            decided = self._decide(batch)
            if not batch[0].alone and any(outcome.waiting for outcome in decided):
                return outcomes, True
            breath = self._now()
            for _ in self._acting(decided, now):
                if self._now() - breath > BREATH:
                    await asyncio.sleep(0)
                    breath = self._now()
            outcomes += decided
        return outcomes, False

    def _share(self, stirred: list[PodRecord], now: float) -> list[Outcome]:
        """One turn of the queue level for everybody who might get something."""
        turn, outcomes = take_turn(self.fair, self.site(), {self.books.job_of(pod) for pod in stirred}, self._wall())
        self._act_all(outcomes, now)
        for pod, node in (place for grant in turn.grants for place in grant.places):
            if pod.alone:
                self._act_all(self._decide(grouped([pod])), now)
            if self.cache.assumed.get(pod.key) != node and not self.options.shadow:
                # Others may have been refused for room that it did not take.
                self._happened(POD)
        self._gangs.expire(self._wall() - self.options.gang_seconds, turn.released)
        self.on_turn(turn)
        return outcomes

    def site(self) -> Site:
        """The nodes as a turn sees them."""
        cache = self.cache
        return Site(
            view=cache.view(),
            per_node=cache.per_node,
            demand=cache.storage.demand,
            strategy=self.options.strategy,
        )

    def objects(self, resource: Resource[T]) -> Mapping[tuple[str, str], T]:
        """Queues, PodGroups and quotas as the server has them."""
        return self._shared[resource].objects

    def _act_all(self, outcomes: list[Outcome], now: float) -> None:
        """Act on what was decided, all at once."""
        for _ in self._acting(outcomes, now):
            pass

    def _acting(self, outcomes: list[Outcome], now: float) -> Iterator[None]:
        """Act on what was decided, a step for each outcome; a gang is recorded before its first pod is bound."""
        starting = self._gangs.starting()
        for outcome in outcomes:
            self._act(outcome, now, starting)
            yield
        starting.begin()

    def _decide(self, batch: list[Group]) -> list[Outcome]:
        cache, strategy = self.cache, self.options.strategy
        return decide(cache.view(), batch, cache.per_node, cache.storage.demand, strategy)

    def snapshot(self) -> Callable[[], bytes]:
        """What it knows now, as a list of objects that `fairlead plan` reads: to be rendered in any thread."""
        known = ((each.resource, each.objects.values()) for each in self._reflectors if each.resource is not PODS)
        return dump(known, self.cache.pods.values(), self.cache.assumed)

    def explain(self, namespace: str, name: str) -> dict[str, Any]:
        """What is known of a pod and why it is where it is, as a record."""
        pod = self.cache.pods.get((namespace, name))
        if pod is None:
            return {"pod": f"{namespace}/{name}", "state": "unknown"}
        return explanation(pod, self.cache.assumed.get(pod.key, ""), self.waits.get(pod.metadata.uid))

    def _act(self, outcome: Outcome, now: float, starting: Starting) -> None:
        self._teller.decided(outcome)
        for pod, node in outcome.placed:
            self.waits.pop(pod.metadata.uid, None)
            self._teller.gone(pod.metadata.uid)
            if self.options.shadow:
                log.info("would bind", pod="/".join(pod.key), node=node)
            elif self._still_waits(pod):
                gang = not outcome.volumes and starting.takes(pod, node)
                self.cache.assume(pod.key, node)
                self.books.see(pod, node)
                if outcome.volumes:
                    self._volumes.begin(pod, node, outcome.volumes)
                elif not gang:
                    self._binder.bind(pod, node)
        if not outcome.waiting:
            self.pending.settled(outcome)
            return
        if gathers(outcome, self._wall()):
            self.pending.park(outcome, now, again=GATHERING)
            return
        self.pending.park(outcome, now)
        why = message(outcome)
        for pod in outcome.waiting:
            if pod.key in self.cache.waiting:
                self.waits[pod.metadata.uid] = outcome
                if not self.options.shadow:
                    self._teller.waits(pod, why)

    def _still_waits(self, pod: PodRecord) -> bool:
        """Whether the pod that a node was found for is there and has none."""
        known = self.cache.waiting.get(pod.key)
        return known is not None and known.metadata.uid == pod.metadata.uid and pod.key not in self._retry

    def _mine(self, pod: PodRecord) -> bool:
        """Whether this scheduler places the pod; one with a constraint it does not know is told so and left."""
        if pod.scheduler != self.options.name:
            return False
        if pod.broken:
            if not self.options.shadow:
                self._teller.waits(pod, pod.broken)
            return False
        return True

    def _on_pod(self, change: Change[PodRecord]) -> None:
        self.cache.on_pod(change)
        pod = change.object
        if change.kind == "deleted":
            self.books.gone(pod.key)
            self._teller.gone(pod.metadata.uid)
            self.waits.pop(pod.metadata.uid, None)
        else:
            self.books.see(pod, self.cache.assumed.get(pod.key, ""))
        self._gangs.seen(pod)
        if (
            change.kind != "deleted"
            and pod.waits
            and pod.scheduler == self.options.name
            and pod.key not in self.cache.assumed
            and not self.pending.holds(pod)
        ):
            self._changed.set()

    def _happened(self, what: str, about: About = None) -> None:
        if what == VOLUME:
            self._volumes.news()
        elif what == BUDGET:
            self.books.rules_changed()
        elif what == QUEUE and self.synced:
            self._gangs.check()
        if self.pending.wake(what, about):
            self._changed.set()

    def _bound(self, pod: PodRecord, node: str) -> None:
        self.measures.bound.inc()
        self._teller.bound(pod, node)

    def _refused(self, pod: PodRecord, why: str) -> None:
        """The server did not take the bind: the pod waits again, a second at least, for the watch may know better."""
        self.measures.failed.inc()
        log.warning("not bound", pod="/".join(pod.key), why=why)
        self._retry[pod.key] = self._now() + 1.0
        self.cache.forget(pod.key)
        if pod.key in self.cache.pods:
            self.books.see(self.cache.pods[pod.key], "")
        self._happened(POD)
        if pod.claims:
            # A volume that was kept for it may serve others.
            self._happened(VOLUME)
        self._changed.set()

    def _served(self, resource: Resource[Any]) -> bool:
        return self._shared[resource].served
