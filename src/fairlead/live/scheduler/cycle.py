"""One cycle of the scheduler, from top to bottom (docs/decisions/0250).

1. events   watches and answered binds have changed the stores and woken groups (`events.Events`)
2. due      waiting pods that are new, or whose group was woken
3. group    alike pods together, by priority, then age, then name
4. place    every group on the nodes, if all fit and no rule of the queue level applies
   or share one turn of the queue level: which job gets how much, and where
5. record   a placed pod counts on its node before the server says so; members of a gang are collected first
6. bind     volumes first, then the bind; a gang is recorded on its PodGroup and bound whole
7. park     a group without a node waits for an event that may help it, and is told why
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, field
from math import inf

import structlog

from fairlead.dataclass import dataclass
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord, reference
from fairlead.live.cluster.turn_types import Place, QueueTurn
from fairlead.live.queue.contested_turn import take_turn
from fairlead.live.queue.node_fits import TurnSite
from fairlead.live.queue.starting import Starting
from fairlead.live.runtime.aside import DECIDING, WRITING
from fairlead.live.scheduler.decide import batches, decide, settle
from fairlead.live.scheduler.events import Events
from fairlead.live.scheduler.metrics import SchedulerMetrics
from fairlead.live.scheduler.options import Options
from fairlead.live.scheduler.stores import Stores

BREATH = 0.005
"""Seconds of recording before other tasks may run, so that the first binds are sent meanwhile."""
REST, LONGEST_REST = 3.0, 1.0
"""After a turn of the queue level this many times its length is for watches, binds and evictions; seconds at most."""

log = structlog.get_logger("scheduler")


@dataclass(slots=True, eq=False)
class Cycle:
    """`wake` asks for another cycle."""

    stores: Stores
    events: Events
    measures: SchedulerMetrics
    options: Options
    _: KW_ONLY
    wake: Callable[[], None]
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    on_turn: Callable[[QueueTurn], None] = field(default=lambda turn: None, init=False)
    """Told of every turn of the queue level, after its grants were acted on."""
    rest: float = field(default=0.0, init=False)
    """Seconds to leave to others before the next cycle."""

    async def run(self) -> list[PodSetOutcome]:
        """The phases of the module's docstring; what became of every group that was looked at."""
        began, self.rest = self.monotonic(), 0.0
        self.stores.spans.cycle()
        # 1. events: gangs that an earlier leader recorded are followed from here on
        self.stores.gangs.check()
        # 2. due
        waiting = self._ours(began)
        due = self.stores.pending.due(waiting, began)
        # 3. group
        contested = self._contested(due)
        groups = [] if contested else grouped(due)
        # 4. place or share
        outcomes, short = await self._place(groups)
        shared = contested or short
        if shared:
            outcomes += self._share(self.stores.pending.due(waiting, inf))
            self.rest = min(REST * (self.monotonic() - began), LONGEST_REST)
        self.measures.cycles.inc()
        self.measures.seconds.labels("decide").observe(self.monotonic() - began)
        self.stores.spans.over(outcomes, shared=shared)
        return outcomes

    def _ours(self, now: float) -> list[PodRecord]:
        """The waiting pods that this scheduler places. One that it cannot place for a field of its spec is told so."""
        found = []
        for pod in self.stores.pending.rested(self.stores.cache.waiting.values(), now):
            if pod.scheduler != self.options.name:
                continue
            if pod.broken:
                self.stores.parking.tell(pod, pod.broken)
            elif not self._awaits_group(pod):
                found.append(pod)
        return found

    def _awaits_group(self, pod: PodRecord) -> bool:
        """Whether the pod waits for the group that its owner announces; it is told when that takes long."""
        announced = self.stores.jobs.announced
        if not announced.awaits(pod):
            return False
        why = announced.why_late(pod)
        if why is not None:
            self.stores.parking.tell(pod, f"{why.code}: {why.sentence}")
        return True

    def _contested(self, due: Sequence[PodRecord]) -> bool:
        """Whether the queue level has to decide: a gang is overdue, or more than room decides about the due pods."""
        promises, pending = self.stores.promises, self.stores.pending
        if promises.overdue(self.monotonic()):
            return True
        calm = pending.next_due() is None and promises.calm(due, parked=bool(len(pending)))
        return bool(due) and not calm

    async def _place(self, groups: Sequence[PodSet]) -> tuple[list[PodSetOutcome], bool]:
        """Place and commit batch after batch; True where one does not fit as a whole, which ends it."""
        outcomes: list[PodSetOutcome] = []
        with self.stores.assembly.collect() as starting:
            for batch in batches(groups):
                self.stores.spans.deciding()
                decided = self._decide(batch)
                if not batch[0].alone and any(outcome.waiting and outcome.defect is None for outcome in decided):
                    return outcomes, True
                breath = self.monotonic()
                for outcome in decided:
                    self._commit(outcome, starting)
                    if self.monotonic() - breath > BREATH:
                        await asyncio.sleep(0)
                        breath = self.monotonic()
                outcomes += decided
        return outcomes, False

    def _share(self, awake: Sequence[PodRecord]) -> list[PodSetOutcome]:
        """One turn of the queue level, applied here and nowhere else: reservation, grants, intents; then `on_turn`."""
        stores, acts = self.stores, not self.options.shadow
        stores.spans.deciding()
        turn, outcomes = take_turn(
            stores.promises, self.site(), {stores.jobs.job_of(pod) for pod in awake}, self.wall()
        )
        stores.promises.took_turn(turn)
        if acts:
            stores.gangs.drop(turn.void)
        places = [place for grant in turn.grants for place in grant.places]
        with stores.assembly.collect() as starting:
            for outcome in outcomes:
                self._commit(outcome, starting)
            for place in places:
                if place[0].alone:
                    self._commit(self._settled(place), starting)
        if acts:
            if turn.void or any(stores.cache.assumed.get(pod.key) != node for pod, node in places):
                # Others may have been refused for room that was not taken.
                self.events.happened(Wake.POD_LEFT)
            stores.gangs.expire(self.monotonic() - self.options.gang_seconds, turn.released)
        self.on_turn(turn)
        return outcomes

    def _settled(self, place: Place) -> PodSetOutcome:
        """The volumes and cores of a pod on the node that the turn chose; another node where they are taken by now."""
        cache, (pod, node) = self.stores.cache, place
        return settle(cache.view(), pod, node, cache.storage.demand) or self._decide(grouped([pod]))[0]

    def site(self) -> TurnSite:
        """The nodes as a turn sees them."""
        cache, strategy = self.stores.cache, self.options.strategy
        return TurnSite(view=cache.view(), present=cache.present, demand=cache.storage.demand, strategy=strategy)

    def _decide(self, batch: list[PodSet]) -> list[PodSetOutcome]:
        cache = self.stores.cache
        return decide(cache.view(), batch, cache.per_node, cache.storage.demand, self.options.strategy)

    def _commit(self, outcome: PodSetOutcome, starting: Starting) -> None:
        """Phases 5 to 7 for one group; one that fails is set aside, and the others go on."""
        first = reference(outcome.group.pods[0])
        with self.stores.aside.around(first, WRITING):
            self.stores.notifier.decided(outcome)
            self.stores.spans.decided(outcome)
            self.stores.aside.tell(first, outcome.defect, DECIDING)
            gang = False
            for place in outcome.placed:
                if self._goes(place):
                    # 5. record
                    gang = self._record(place, outcome, starting)
                    # 6. bind; a gang is bound when all of it is collected
                    if not gang:
                        self.stores.delivery.begin(*place, outcome.volumes)
            # 7. park and tell
            if outcome.waiting:
                self.stores.parking.park(outcome)
            elif outcome.placed and not gang:
                self.stores.pending.settled(outcome)

    def _goes(self, place: Place) -> bool:
        """Whether the pod is to be bound now: pod and node may have gone while others were recorded."""
        pod, node = place
        self.stores.parking.drop(pod.metadata.uid)
        if self.options.shadow:
            log.info("would bind", pod="/".join(pod.key), node=node)
            return False
        if not self.stores.cache.knows(node):
            self.wake()  # the pod is decided anew
            return False
        return self.stores.still_waits(pod)

    def _record(self, place: Place, outcome: PodSetOutcome, starting: Starting) -> bool:
        """Count the pod on its node; True where it starts with its gang, which has to be asked before it counts."""
        pod, node = place
        gang = starting.takes(pod, node, outcome.volumes)
        self.stores.cache.assume(pod.key, node)
        self.stores.jobs.see(pod, node)
        self.stores.spans.placed(pod, node)
        return gang
