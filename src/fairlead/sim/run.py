"""The loop: from one instant at which something happens to the next, and between them nothing changes.

At each instant: 1 the measures are told the time, 2 replicas end, nodes go and come, workloads arrive and are scaled,
3 those that wait are placed. All that happens at one instant is placed together.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.engine.collector import held
from fairlead.engine.shape_columns import minds_neighbours
from fairlead.model.columns import ints
from fairlead.model.shape import Shape
from fairlead.sim.cluster import Batch, SimCluster
from fairlead.sim.events import Arrival, Outage, Scale, Timeline
from fairlead.sim.film import Film
from fairlead.sim.jobs import SimJob
from fairlead.sim.measure import Series, SimMeasures
from fairlead.sim.placing import SimEviction, SimPlacing, SimStart
from fairlead.sim.policy import SimPolicy
from fairlead.sim.quotas import SimQuotas
from fairlead.sim.turns import SimTurns
from fairlead.sim.waiting import Waiting

WINDOW = 40
"""How many jobs of a queue and namespace are looked at together."""
WINDOWS = 8
"""How often the next ones are looked at in one pass."""

END, DOWN, UP, ARRIVE, SCALE, WAKE = range(6)
"""What happens at one instant, in this order: what ends makes room for what comes."""

Event = tuple[int, int, int, Any]
"""The instant, what kind of thing, a number that tells two of a kind apart, and the thing."""
Progress = Callable[[int], None]
"""Told the simulated time in milliseconds, now and then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What came of one policy. `interrupted` says that the end was not reached."""

    policy: SimPolicy
    record: dict[str, Any]
    series: Series
    interrupted: bool


def run(story: Timeline, policy: SimPolicy, progress: Progress = lambda now: None, *, film: Film | None = None) -> Run:
    """Let everything in the story happen under one policy. Ctrl-C ends it early with what there is.

    `film` keeps the run for replay.
    """
    loop = _Loop(story, policy, film)
    interrupted = False
    try:
        with held():
            loop.until_the_end(progress)
    except KeyboardInterrupt:
        interrupted = True
    return Run(policy=policy, record=loop.finish(), series=loop.measures.series, interrupted=interrupted)


class _Loop:
    """The state of one run."""

    def __init__(self, story: Timeline, policy: SimPolicy, film: Film | None = None) -> None:
        self.story, self.policy, self.tiers, self.film = story, policy, story.tiers, film
        shapes = [arrival.workload.shape for arrival in story.arrivals]
        neighbourly = any(map(minds_neighbours, shapes)) or bool(story.population.wary)
        self.cluster = SimCluster(story, neighbourly=neighbourly)
        namespaces = {shape.namespace for shape in shapes}
        self.turns = SimTurns(story.nodes, story.queues, story.weights, namespaces)
        self.quotas = SimQuotas(story, self.turns)
        self.placing = SimPlacing(self.cluster, self.turns, policy)
        self.measures = SimMeasures(story.until_ms, shared=film is not None)
        self.jobs: dict[str, SimJob] = {}
        self.waiting = Waiting()
        self.fresh: dict[str, SimJob] = {}
        """Jobs that have not been tried since they began to wait."""
        self._freed = 0
        """How often room has become free, and how often it had when all that wait were last tried."""
        self._tried = 0
        self._next_pass = 0
        self._woken = -1
        self._order = 0
        self._scripted = self._from(story)
        """What the story tells, the next of it last …"""
        self._events: list[Event] = []
        """… and, as a heap, what comes of it."""

    def _from(self, story: Timeline) -> list[Event]:
        scripted: list[Event] = []
        for kind, happenings in ((DOWN, story.outages), (ARRIVE, story.arrivals), (SCALE, story.scales)):
            for happening in happenings:
                self._order += 1
                scripted.append((happening.at_ms, kind, self._order, happening))
        scripted.sort(key=lambda event: event[0])  # those of one instant are in order of kind and number already
        return scripted[::-1]

    def _next(self) -> Event | None:
        """What happens next."""
        scripted, events = self._scripted, self._events
        if scripted and not (events and events[0] < scripted[-1]):
            return scripted[-1]
        return events[0] if events else None

    def until_the_end(self, progress: Progress) -> None:
        """Instant by instant."""
        steps = 0
        while (event := self._next()) is not None and event[0] < self.story.until_ms:
            now = event[0]
            self._advance(now)
            while event is not None and event[0] == now:
                if self._scripted and event is self._scripted[-1]:
                    self._scripted.pop()
                else:
                    heappop(self._events)
                _, kind, _, what = event
                self._happen(now, kind, what)
                event = self._next()
            self._place(now)
            steps += 1
            if steps % 64 == 0:
                progress(now)
        self._advance(self.story.until_ms)
        progress(self.story.until_ms)

    def _advance(self, now: int) -> None:
        """Nothing has changed until now: the measures and the film are told."""
        self.measures.advance(now, self.cluster, self.turns, self.waiting.by_namespace)
        if self.film is not None:
            self.film.advance(now, self.cluster, self.jobs)

    def _note(self, job: SimJob, evicted_for: str = "", count: int = 0) -> None:
        if self.film is not None:
            self.film.note(self.measures.now, job, evicted_for=evicted_for, count=count)

    def finish(self) -> dict[str, Any]:
        """The record; what still waits counts with the time it has waited so far."""
        for job in self.waiting:
            self.measures.waited(job.workload.namespace, job.start(self.measures.now, job.lacking))
        return {
            "policy": self.policy.name,
            **self.measures.record(),
            "unplaced": sum(self.waiting.by_namespace.values()),
        }

    def _push(self, at: int, kind: int, what: Any) -> None:
        self._order += 1
        heappush(self._events, (at, kind, self._order, what))

    def _happen(self, now: int, kind: int, what: Any) -> None:
        if kind == END:
            self._end(what)
        elif kind == DOWN:
            self._down(now, what)
        elif kind == UP:
            self.cluster.restore(what, now)
            self._freed += 1
        elif kind == ARRIVE:
            self._arrive(now, what)
        elif kind == SCALE:
            self._scale(now, what)

    def _arrive(self, now: int, arrival: Arrival) -> None:
        claimed = arrival.workload.key in self.cluster.claims
        nodes, shape = self.cluster.nodes, arrival.workload.shape
        job = SimJob(arrival, self.policy, self.tiers, nodes.vector(shape), nodes.asked(shape), claimed=claimed)
        if job.key in self.jobs:
            # The same name again is the next run of the same thing: it has its own life.
            number = self._order
            while (key := f"{job.key}@{now}.{number}") in self.jobs:
                number += 1
            job.key = key
        self.jobs[job.key] = job
        self._ask(now, job, arrival.workload.replicas)

    def _ask(self, now: int, job: SimJob, more: int) -> None:
        job.asked += more
        self.turns.ask(job, more)
        self._wait(now, job, more)

    def _wait(self, now: int, job: SimJob, count: int) -> None:
        job.wait(now, count)
        self.waiting.lack(job, count)
        self.waiting.add(job)
        self.fresh[job.key] = job
        self._note(job)

    def _scale(self, now: int, scale: Scale) -> None:
        job = self.jobs.get(scale.title)
        if job is None:
            return
        more = scale.replicas - job.asked
        if more > 0:
            self._ask(now, job, more)
        elif more < 0:
            self._fewer(job, -more)

    def _fewer(self, job: SimJob, less: int) -> None:
        """First those that wait are given up, then the youngest that run, those that need not be on demand first."""
        gone = min(less, job.lacking)
        job.give_up(gone)
        self._freed += self.quotas.matter and gone > 0
        self.waiting.lack(job, -gone)
        job.asked -= less
        self.turns.ask(job, -less)
        less -= gone
        ordered = sorted(job.batches.values(), key=lambda batch: (batch.part.tier == "on-demand", -batch.number))
        for batch in ordered:
            taken = min(less, batch.size)
            if taken:
                self._gone(job, batch, taken)
                self.cluster.shrink(batch, taken)
                less -= taken
        self._settle(job)

    def _gone(self, job: SimJob, batch: Batch, count: int) -> None:
        """Replicas of a batch no longer run."""
        if count == batch.size:
            del job.batches[batch.number]
        job.holds(batch, count, -1)
        self.turns.hold(job, -count)
        self._freed += 1
        self._note(job)

    def _end(self, batch: Batch) -> None:
        if batch.number not in self.cluster.batches:
            return
        job, count = self.jobs[batch.job], batch.size
        self._gone(job, batch, count)
        self.cluster.end(batch)
        job.asked -= count
        job.ended += count
        self.turns.ask(job, -count)
        self.measures.completed += count
        self._note(job)
        self._settle(job)

    def _settle(self, job: SimJob) -> None:
        """Forget what has nothing left to do."""
        if not job.lacking:
            self.waiting.discard(job)
            self.fresh.pop(job.key, None)
            if not job.asked and job.duration_ms is not None:
                del self.jobs[job.key]

    def _down(self, now: int, outage: Outage) -> None:
        for batch, count in self.cluster.lose(ints(outage.rows), outage.back_ms):
            self._lost(now, self.jobs[batch.job], batch, count)
        if outage.back_ms is not None:
            self._push(outage.back_ms, UP, ints(outage.rows))

    def _lost(self, now: int, job: SimJob, batch: Batch, count: int) -> None:
        """Replicas of a batch had to go, and wait again."""
        if not batch.size:
            del job.batches[batch.number]
        job.holds(batch, count, -1)
        self.turns.hold(job, -count)
        job.evicted += count
        self.measures.evictions += count
        self._wait(now, job, count)

    def _place(self, now: int) -> None:
        """Those that wait, as far as it is of use to try them.

        Where there is enough for all the newcomers go at once. Where there is not, or where nodes refused
        something before, a pass over all takes place at most once in a cycle, and only after something changed.
        """
        if self.fresh and not self.policy.contested and self.turns.enough(self.cluster.shared):
            self._at_once(now, sorted(self.fresh.values(), key=lambda job: job.turn))
        if not self.waiting or not (self.fresh or self._freed > self._tried):
            return
        if now < self._next_pass:
            if self._woken < self._next_pass:
                self._woken = self._next_pass
                self._push(self._next_pass, WAKE, None)
            return
        self._next_pass = now + self.story.cycle_ms
        self.fresh = {}
        self._tried = self._freed
        self._bound()
        if self.policy.fair:
            self._pass(now)
        else:
            self._in_turn(now, self.waiting)

    def _bound(self) -> None:
        if self.quotas.matter:
            self.quotas.bound(self.waiting)

    def _at_once(self, now: int, fresh: Sequence[SimJob]) -> None:
        """The newcomers, for all of which there is enough in sum."""
        self._bound()
        if not self.policy.fair:
            self._in_turn(now, fresh)
        elif (starts := self.placing.straight(fresh)) is not None:
            self._start(now, starts)
        else:
            self._share(now, fresh)
        self.fresh = {}

    def _in_turn(self, now: int, jobs: Iterable[SimJob]) -> None:
        """First come, first served; what does not fit is skipped, and so are needs that no node can meet."""
        full: set[Shape] = set()
        for job in sorted(jobs, key=lambda job: job.turn):
            if job.needs is None or job.needs not in full:
                self._start(now, self.placing.alone(job))
                if job.lacking and job.needs is not None and not self.cluster.nodes.takes(job.needs):
                    full.add(job.needs)

    def _pass(self, now: int) -> None:
        """All that wait, window by window while jobs are left that nodes might take."""
        tried: set[str] = set()
        takes = (lambda needs: True) if self.policy.contested else self.cluster.nodes.takes
        for _ in range(WINDOWS):
            shown = self.waiting.first(WINDOW, tried, takes)
            if not shown:
                break
            self._share(now, shown)
            tried.update(job.key for job in shown)

    def _share(self, now: int, waiting: Sequence[SimJob]) -> None:
        """Ask which of these start, and which replicas are evicted for them."""
        shown = {job.key for job in waiting}
        others = (
            [job for job in self.jobs.values() if job.running and job.key not in shown] if self.policy.preempt else []
        )
        evictions, starts = self.placing.share(waiting, others, now)
        for eviction in evictions:
            self._evict(now, eviction)
        self._start(now, starts)

    def _evict(self, now: int, eviction: SimEviction) -> None:
        """Replicas leave their node for the beneficiary: the youngest first."""
        job, left = eviction.job, eviction.count
        for batch in sorted(job.batches.values(), key=lambda batch: -batch.number):
            own = left and job.tier_now(batch) == eviction.tier
            gone = self.cluster.evict(batch, eviction.node, left) if own else 0
            if gone:
                left -= gone
                self.measures.preemptions += gone
                self._lost(now, job, batch, gone)
                self._note(job, eviction.beneficiary, gone)

    def _start(self, now: int, starts: Sequence[SimStart]) -> None:
        for start in starts:
            batch = self.cluster.begin(start.role.job.key, start.role.part, start.spread)
            if start.replica is not None:
                self.cluster.claims.began(batch.number, replace(start.replica, row=int(batch.rows[0])))
            self._begin(start.role.job, batch, now)
        for start in starts:
            self._settle(start.role.job)

    def _begin(self, job: SimJob, batch: Batch, now: int) -> None:
        count = batch.size
        job.batches[batch.number] = batch
        job.holds(batch, count, 1)
        if job.limits is not None:
            job.limits[batch.part.tier] -= count
        self.turns.hold(job, count)
        self.waiting.lack(job, -count)
        self._note(job)
        again = min(job.evicted, count)
        job.evicted -= again
        self.measures.moves += again
        self.measures.placed += count
        self.measures.waited(job.workload.namespace, job.start(now, count))
        if job.duration_ms is not None:
            self._push(now + job.duration_ms, END, batch)
