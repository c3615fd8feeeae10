"""The scheduler as a component: watches in, bindings out.

watches ──► cache ──► due pods ──► decide ──► assume ──► bind (many in flight)
              ▲          ▲                                 │
              └──────────┴──── refused, woken by a cure ◄──┘
"""

import asyncio
import gc
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import structlog

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.objects.node import Node
from fairlead.kube.resources import PODS, QUEUES
from fairlead.live.cluster.cache import About, Cache
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord, check_held, reference
from fairlead.live.cluster.turn_types import FairTurn, LiveJob, Place
from fairlead.live.queue.contested_turn import take_turn
from fairlead.live.queue.gangs import GATHERING, Gangs, gathers
from fairlead.live.queue.intents import Intents
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.node_fits import TurnSite
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.starting import Assembly, Starting, unstarted
from fairlead.live.runtime.aside import DECIDING, WRITING, Aside
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Rounds
from fairlead.live.scheduler.check import compare_every
from fairlead.live.scheduler.decide import batches, decide
from fairlead.live.scheduler.delivery import Delivery
from fairlead.live.scheduler.dump import dump
from fairlead.live.scheduler.messages import explanation, message
from fairlead.live.scheduler.metrics import SchedulerMetrics
from fairlead.live.scheduler.notifier import PodNotifier
from fairlead.live.scheduler.options import Options as Options
from fairlead.live.scheduler.pending import BUDGET, POD, QUEUE, VOLUME, Pending
from fairlead.live.scheduler.watches import Watches

GATHER = 0.01
"""Seconds to wait after a change, so that a burst of pods becomes one cycle."""
BREATH = 0.005
"""Seconds of writing down what was decided before others may run, so that the first binds are under way meanwhile."""
REST, LONGEST_REST = 3.0, 1.0
"""After a turn of the queue level this many times its length is for watches, binds and evictions; seconds at most."""

__all__ = ["Options", "Scheduler"]

log = structlog.get_logger("scheduler")


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
        self.waits: dict[str, PodSetOutcome] = {}
        self._client = client
        self._now = monotonic
        self._wall = wall
        self._leads = leads
        self.measures.follow(leads, self.pending, self.cache.assumed)
        self._rest = 0.0
        self._delivery = Delivery(
            client,
            self.cache,
            self.measures,
            on_ready=self._ready,
            on_bound=self._bound,
            on_refused=self._refused,
            leads=leads,
            pulse=self.pulse,
            patience=options.volume_seconds,
        )
        self._binder, self._volumes = self._delivery.binder, self._delivery.volumes
        self._teller = PodNotifier(client, recorder, wall, monotonic, self.cache.still_waiting, self.pulse)
        self.books = JobCache(
            self.cache.rules,
            scheduler=options.name,
            on_change=lambda: self._happened(QUEUE),
            served=lambda kind: self._watches.served(kind),
            faults=self.aside.faults,
            clock=monotonic,
        )
        self.fair = Promises(
            self.books, lambda pod: self.cache.rules.cover(pod.resident), deadline=options.gang_seconds
        )
        self.fair.faulty.on_queue = lambda name, why: self.aside.tell(QUEUES.refer(name), why, DECIDING)
        self.on_turn: Callable[[FairTurn], None] = lambda turn: None
        """Told of every turn of the queue level, after its grants were acted on."""
        self._intents = Intents(client, self._binder.bind, self._refused, wall, self.pulse)
        self._gangs = Gangs(
            self.books, self._intents, self.cache.pods.get, recorder, lambda: leads() and not options.shadow
        )
        self._assembly = Assembly(
            self.books, self._intents, lambda: self._volumes, self._give_back, self.cache.pods.get
        )
        watches = self._watches = Watches(
            client, self.cache, self.books, self._on_node, self._on_pod, self.aside.watched
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
        beside = [*self._delivery.work, self._teller.run, self._intents.outbox.run]
        if self.options.self_check:
            known = self._client, self.cache, self.books, self.measures
            beside.append(lambda: compare_every(self.options.self_check, *known, lambda: self.synced))
        await self._rounds.run(
            self._round, begin=self._begin, idle=lambda: None, due=self._due, beside=beside, drain=self._drain
        )

    async def _begin(self) -> None:
        # Most of what exists now stays: the collector need not look at it again, nor once before, for pods wait.
        gc.freeze()
        self._rounds.wake()

    async def _drain(self) -> None:
        """Give up what has not begun; intents first, for each that is recorded asks for binds."""
        self._assembly.clear()
        await self._intents.outbox.drain()
        await self._binder.drain()

    def nudge(self) -> None:
        """Look at what waits now: this instance has just begun to lead."""
        self.books.recall()
        self._rounds.wake()

    def lost(self) -> None:
        """This instance leads no longer: what is decided and not sent yet is given up, for another decides now."""
        self._assembly.clear()
        self._volumes.clear()
        self._intents.outbox.clear()
        self._binder.outbox.clear()
        self._gangs.lost()
        self._teller.clear()

    def stir(self) -> None:
        """Look again at every job that waits for its turn: a victim was evicted, or may be asked to leave again."""
        self._happened(QUEUE)

    async def _round(self) -> None:
        await self.cycle()
        await asyncio.sleep(self._rest)

    def _due(self) -> float | None:
        """When a group that is awake may be tried again, or a gang should be complete; a follower waits for news."""
        if not self._leads():
            return None
        deadline = None if self.options.shadow else self.fair.next_deadline()
        times = (self.pending.next_due(), self.pending.next_rest(), deadline)
        return min((time for time in times if time is not None), default=None)

    async def cycle(self) -> list[PodSetOutcome]:
        """One pass: due pods, decide, assume, bind; what finds no node is parked and told why."""
        now = self._now()
        # 1. what is worth a look
        mine = [pod for pod in self.pending.rested(self.cache.waiting.values(), now) if self._mine(pod)]
        due = self.pending.due(mine, now)
        self._gangs.check()
        # 2. where everybody gets everything, nobody asks whose turn it is
        outcomes, contested = await self._place(due, now)
        # 3. else the queue level says who gets how much
        self._rest = 0.0
        if contested:
            outcomes += self._share(self.pending.due(mine, inf), now)
            self._rest = min(REST * (self._now() - now), LONGEST_REST)
        self.measures.cycles.inc()
        self.measures.seconds.labels("decide").observe(self._now() - now)
        return outcomes

    async def _place(self, due: list[PodRecord], now: float) -> tuple[list[PodSetOutcome], bool]:
        """Place the pods that are due, on one view for all groups that share nothing but nodes; True: not all fit."""
        outcomes: list[PodSetOutcome] = []
        if self.fair.overdue(self._now()):
            return outcomes, True
        if self.pending.next_due() is not None or not self.fair.calm(due, parked=bool(len(self.pending))):
            return outcomes, bool(due)
        starting = self._assembly.collect()
        try:
            for batch in batches(grouped(due)):
                decided = self._decide(batch)
                if not batch[0].alone and any(outcome.waiting and outcome.defect is None for outcome in decided):
                    return outcomes, True
                breath = self._now()
                for outcome in decided:
                    self._act_or_set_aside(outcome, now, starting)
                    if self._now() - breath > BREATH:
                        await asyncio.sleep(0)
                        breath = self._now()
                outcomes += decided
        finally:
            starting.begin()
        return outcomes, False

    def _share(self, stirred: list[PodRecord], now: float) -> list[PodSetOutcome]:
        """One turn of the queue level for everybody who might get something."""
        turn, outcomes = take_turn(self.fair, self.site(), {self.books.job_of(pod) for pod in stirred}, self._wall())
        self.fair.took_turn(turn)
        if not self.options.shadow:
            self._gangs.drop(turn.void)
        starting = self._assembly.collect()
        places = [place for grant in turn.grants for place in grant.places]
        for outcome in outcomes:
            self._act_or_set_aside(outcome, now, starting)
        for pod, _ in places:
            if pod.alone:
                for outcome in self._decide(grouped([pod])):
                    self._act_or_set_aside(outcome, now, starting)
        starting.begin()
        if not self.options.shadow:
            if turn.void or any(self.cache.assumed.get(pod.key) != node for pod, node in places):
                # Others may have been refused for room that was not taken.
                self._happened(POD)
            self._gangs.expire(self._now() - self.options.gang_seconds, turn.released)
        self.on_turn(turn)
        return outcomes

    def site(self) -> TurnSite:
        """The nodes as a turn sees them."""
        storage, strategy = self.cache.storage, self.options.strategy
        return TurnSite(view=self.cache.view(), per_node=self.cache.per_node, demand=storage.demand, strategy=strategy)

    def _act_or_set_aside(self, outcome: PodSetOutcome, now: float, starting: Starting) -> None:
        """Act on one outcome; what fails is set aside with its group and the rest goes on."""
        with self.aside.around(reference(outcome.group.pods[0]), WRITING):
            self._act(outcome, now, starting)

    def _decide(self, batch: list[PodSet]) -> list[PodSetOutcome]:
        cache, strategy = self.cache, self.options.strategy
        return decide(cache.view(), batch, cache.per_node, cache.storage.demand, strategy)

    def snapshot(self) -> Callable[[], bytes]:
        """What it knows now, as a list of objects that `fairlead plan` reads: to be rendered in any thread."""
        known = ((each.resource, each.objects.values()) for each in self._watches.all if each.resource is not PODS)
        return dump(known, self.cache.pods.values(), self.cache.assumed)

    def explain(self, namespace: str, name: str) -> dict[str, Any]:
        """What is known of a pod and why it is where it is, as a record."""
        pod = self.cache.pods.get((namespace, name))
        if pod is None:
            return {"pod": f"{namespace}/{name}", "state": "unknown"}
        return explanation(pod, self.cache.assumed.get(pod.key, ""), self.waits.get(pod.metadata.uid))

    def _act(self, outcome: PodSetOutcome, now: float, starting: Starting) -> None:
        self._teller.decided(outcome)
        self.aside.tell(reference(outcome.group.pods[0]), outcome.defect, DECIDING)
        gang = False
        for pod, node in outcome.placed:
            self.waits.pop(pod.metadata.uid, None)
            self._teller.gone(pod.metadata.uid)
            if self.options.shadow:
                log.info("would bind", pod="/".join(pod.key), node=node)
            elif not self.cache.knows(node):
                self._rounds.wake()  # the node went while others were acted on: the pod is decided anew
            elif self._still_waits(pod):
                gang = starting.takes(pod, node, outcome.volumes)
                self.cache.assume(pod.key, node)
                self.books.see(pod, node)
                if not gang:  # a member is recorded with the others of its gang before it is bound
                    self._delivery.begin(pod, node, outcome.volumes)
        if outcome.waiting:
            self._waits(outcome, now)
        elif outcome.placed and not gang:
            self.pending.settled(outcome)

    def _waits(self, outcome: PodSetOutcome, now: float) -> None:
        """Park pods that found no node, and tell them why."""
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
        return self.cache.still_waiting(pod) is not None and not self.pending.rests(pod)

    def _mine(self, pod: PodRecord) -> bool:
        """Whether this scheduler places the pod; one with a constraint it does not know is told so and left."""
        if pod.scheduler != self.options.name:
            return False
        if pod.broken:
            if not self.options.shadow:
                self._teller.waits(pod, pod.broken)
            return False
        return True

    def _on_node(self, change: Change[Node]) -> None:
        self.cache.on_node(change)
        for pod in self._delivery.node_gone(change.object.metadata.name) if change.kind == "deleted" else ():
            self._refused(pod, "its node is gone")

    def _on_pod(self, change: Change[PodRecord]) -> None:
        pod, key, assumed = change.object, change.object.key, self.cache.assumed
        was = key in assumed
        self.cache.on_pod(change)
        if was and key not in assumed:
            self._delivery.over(pod, bound=change.kind != "deleted" and bool(pod.node))
        if change.kind == "deleted":
            self.books.gone(key)
            self.pending.gone(pod)
            self.aside.tell(reference(pod), None, DECIDING)
            self._assembly.failed(pod)
            self._teller.gone(pod.metadata.uid)
            self.waits.pop(pod.metadata.uid, None)
        else:
            self.books.see(pod, assumed.get(key, ""))
        self._gangs.seen(pod)
        if pod.broken and pod.holds_room and change.kind != "deleted":
            check_held(pod)
        if (
            change.kind != "deleted"
            and pod.waits
            and pod.scheduler == self.options.name
            and key not in assumed
            and self.pending.changed(pod)
        ):
            self._rounds.wake()

    def _happened(self, what: str, about: About = None) -> None:
        if what == VOLUME:
            self._volumes.news()
        elif what == BUDGET:
            self.books.rules_changed()
        elif what == QUEUE and self.synced:
            self._gangs.check()
        if self.pending.wake(what, about):
            self._rounds.wake()

    def _ready(self, pod: PodRecord, node: str) -> None:
        """The volumes of the pod are there."""
        if not self._assembly.ready(pod):
            self._binder.bind(pod, node)

    def _bound(self, pod: PodRecord, node: str) -> None:
        self.measures.bound.inc()
        self._teller.bound(pod, node)

    def _refused(self, pod: PodRecord, why: str) -> None:
        """The server did not take the bind: the pod waits again, a second at least, for the watch may know better."""
        self.measures.failed.inc()
        log.warning("not bound", pod="/".join(pod.key), why=why)
        if self._binder.sends(pod) or not self._forget(pod):
            return  # its bind is under way, or it is gone and its room with it
        self.pending.rest(pod, self._now())
        self._assembly.failed(pod)
        self._happened(POD)
        if pod.claims:
            # A volume that was kept for it may serve others.
            self._happened(VOLUME)
        self._rounds.wake()

    def _give_back(self, job: LiveJob, places: Sequence[Place]) -> None:
        """Members of a gang that does not start: they wait again."""
        for pod, _ in places:
            self._forget(pod)
        for outcome in unstarted(job, [pod for pod, _ in places if self._still_waits(pod)]):
            self._waits(outcome, self._now())
        self._happened(POD)

    def _forget(self, pod: PodRecord) -> bool:
        """The pod does not go where it was to go; False where it is gone."""
        known = self.cache.forget(pod)
        if known:
            self.books.see(self.cache.pods[pod.key], "")
        return known
