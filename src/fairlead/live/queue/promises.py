"""The job cache as tables of the queue level, and the room that is promised to jobs."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from fairlead.engine.collector import held
from fairlead.engine.used_now import used_now
from fairlead.levels.queue.share import share
from fairlead.live.cluster.identity import JobKey, PodKey
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.rules import Cover
from fairlead.live.cluster.turn_types import IdleCounts, LiveJob, Promise, QueueTurn, TurnTerms
from fairlead.live.queue.faulty import FaultyJobs
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.row_cache import RowCache
from fairlead.live.queue.tables import Budgets, Covers, Row, idle_job, settled, usage
from fairlead.model.columns import totals
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import PODS, QueueState, queue_state

NO_JOBS: IdleCounts = MappingProxyType({})
DEADLINE = 300.0
"""Seconds after which a gang that is not complete is released."""


class Promises:
    """What turns start from beside the jobs: promises and the reservation.

    `covers` gives the disruption budget over a pod, `terms` what the next turn goes by.
    """

    def __init__(
        self,
        job_cache: JobCache,
        covers: Covers,
        terms: Callable[[], TurnTerms] = TurnTerms,
        *,
        deadline: float = DEADLINE,
    ) -> None:
        self.job_cache = job_cache
        self.terms = terms
        self.deadline = deadline
        self.reserved = ""
        """The job that the last turn kept room for."""
        self._covers = covers
        self._rows = RowCache()
        self._held: dict[JobKey, Promise] = {}
        self.faulty = FaultyJobs(job_cache)
        """Jobs and queues that make a turn fail."""

    @property
    def by_job(self) -> Mapping[JobKey, Promise]:
        """What is promised, by job: gangs that have begun, and room that others have to leave first."""
        return {**self._held, **self.job_cache.intents}

    def overdue(self, now: float) -> bool:
        """Whether the deadline of a gang that was begun has passed; `now` is of the job cache's clock."""
        deadline = self.next_deadline()
        return deadline is not None and deadline <= now

    def next_deadline(self) -> float | None:
        """When the next gang that was begun should be complete, in seconds of the job cache's clock."""
        return min((promise.at + self.deadline for promise in self.job_cache.intents.values()), default=None)

    def calm(self, due: Sequence[PodRecord], *, parked: bool) -> bool:
        """Whether these pods may simply be placed if all of them fit: no bound, promise or gang speaks against it.

        `parked`: others wait already, and may need room kept for them. Where that cannot be told, a turn has to:
        it finds the job that fails and sets it aside (docs/decisions/0201).
        """
        try:
            return self._calm(due, parked=parked)
        except Exception:
            return False

    def _calm(self, due: Sequence[PodRecord], *, parked: bool) -> bool:
        if self._held or self.job_cache.intents or self.reserved or self.job_cache.bounded:
            return False
        if parked and (self.terms().policy.reserve_after is not None or self.job_cache.impatient):
            return False
        gangs: Counter[JobKey] = Counter()
        for pod in due:
            if pod.queue_fields.group or pod.queue_fields.native:
                gangs[self.job_cache.job_of(pod)] += 1
                if pod.alone:
                    return False
            elif pod.queue_fields.queue and not self.job_cache.knows(pod.queue_fields.queue):
                return False
        return all(self._whole(job, count) for job, count in gangs.items())

    def _whole(self, key: JobKey, count: int) -> bool:
        """Whether these are all the pods that a gang waits for, and enough of them."""
        job = self.job_cache.job(key)
        if (
            job is None
            or job.unmet
            or job.waiting != count
            or not _asks_for_its_minimum(job)
            or self.job_cache.astray(key)
        ):
            return False
        tasks: Counter[str] = Counter()
        for role in job.roles:
            tasks[role.task] += len(role.waiting) + len(role.running)
        enough = job.waiting + job.running >= job.min_member
        return enough and self.job_cache.knows(job.queue) and all(tasks[t] >= n for t, n in job.min_tasks.items())

    def took_turn(self, turn: QueueTurn) -> None:
        """Remember what the turn keeps room for. Only a turn that is acted on is told here, never a what-if."""
        self.reserved = turn.reserved

    def promise(self, promise: Promise) -> None:
        """Keep these places for a job until it takes them or the promise is withdrawn."""
        self._held[promise.job] = promise

    def withdraw(self, job: JobKey) -> None:
        """The places are free for every job again."""
        self._held.pop(job, None)

    def recall(self, nominated: Iterable[PodRecord] = ()) -> None:
        """This instance begins to lead: of what was promised before, only room that is still being made is kept, from
        now on.

        What other leaders promised is read from the waiting pods that are nominated (docs/decisions/0126). Room that
        came free meanwhile is for whoever is first by the order of jobs.
        """
        now, coming = self.job_cache.clock(), {pod.node for pod in self.job_cache.leaving.values()}
        shown: dict[JobKey, dict[PodKey, str]] = defaultdict(dict)
        for pod in nominated:
            if not pod.broken:
                shown[self.job_cache.job_of(pod)][pod.key] = pod.nominated
        places: dict[JobKey, Mapping[PodKey, str]] = {job: promise.places for job, promise in self._held.items()}
        places |= {job: found for job, found in shown.items() if self._startable(job, found)}
        self._held = {
            job: Promise(job=job, places=found, at=now)
            for job, found in places.items()
            if not coming.isdisjoint(found.values())
        }

    def _startable(self, key: JobKey, places: Mapping[PodKey, str]) -> bool:
        """Whether nothing but these places is missing for the job to start: room for half a gang is of no use.

        For a job of which that cannot be told no room is kept; the turn sets it aside.
        """
        try:
            return self._starts(key, places)
        except Exception:
            return False

    def _starts(self, key: JobKey, places: Mapping[PodKey, str]) -> bool:
        job = self.job_cache.job(key)
        if job is None or job.unmet or self.job_cache.astray(key) or not self.job_cache.knows(job.queue):
            return False
        after, tasks = settled(job, places), Counter[str]()
        for role in after.roles:
            tasks[role.task] += len(role.running)
        return after.running >= job.min_member and all(tasks[task] >= least for task, least in job.min_tasks.items())

    def waits(self, promise: Promise) -> bool:
        """Whether pods of the promise still wait for their places."""
        job = self.job_cache.job(promise.job)
        return job is not None and any(pod.key in promise.places for role in job.roles for pod in role.waiting)

    def look(self, nodes: NodeState, now: float) -> QueueTurn:
        """What each job would deserve and get by sums alone, and what queues use now; nothing is granted, no pod is
        evicted."""
        with held():
            return self.faulty.guarded(lambda: self._look(nodes, now))

    def _look(self, nodes: NodeState, now: float) -> QueueTurn:
        jobs, idle = self.faulty.jobs_and_idle()
        rows = [self.row(job, None, ()) for job in jobs]
        state = self.tables(rows, nodes, jobs, None, idle)
        policy = replace(self.terms().policy, preempt=False)
        shared = share(state.jobs, state.queues, state.namespaces, state.whole, policy=policy, now=int(now))
        return QueueTurn(
            sharing=replace(used_now(shared, state), jobs=shared.jobs[: len(jobs)]),
            jobs=tuple(jobs),
            grants=(),
            reserved=shared.reserved or "",
            idle=idle,
        )

    def row(
        self, job: LiveJob, budgets: Budgets | None, fixed: Collection[str], barred: Collection[JobKey] = ()
    ) -> Row:
        """A job as a row; pods whose PodGroup does not exist ask for nothing.

        `fixed` are uids of pods that stay, `barred` keys of jobs that may not evict.
        """
        made = self._rows.row(job, budgets, fixed, astray=bool(self.job_cache.astray(job.key)))
        if job.key in barred:
            return replace(made, wanted=replace(made.wanted, preempts=False))
        return made

    def tables(
        self,
        rows: Collection[Row],
        nodes: NodeState,
        holders: Collection[LiveJob],
        budgets: Budgets | None,
        idle: IdleCounts = NO_JOBS,
    ) -> QueueState:
        """The tables of the level; those of idle jobs come last.

        The whole is what is free on open nodes, what the holders and idle jobs hold, and what our own pods that are
        leaving give back: were that left out, every queue would deserve less while pods terminate.
        """
        self._rows.keep(self.job_cache.entries)
        return queue_state(
            jobs=[*(row.wanted for row in rows), *(idle_job(*each) for each in idle.items())],
            queues=self.faulty.queues(),
            weights=self.job_cache.weights,
            past={},
            whole=_offered(nodes, Counter(usage(holders, idle)) + self._coming(nodes), self.job_cache.held_on),
            allowed=budgets.allowed if budgets is not None else (),
            node_rows=nodes.rows,
        )

    def _coming(self, nodes: NodeState) -> Counter[str]:
        """What pods that are leaving open nodes still hold there."""
        sums: Counter[str] = Counter()
        for pod in self.job_cache.leaving.values():
            row = nodes.rows.get(pod.node)
            if row is not None and not nodes.unschedulable[row]:
                sums.update(dict(pod.request))
        return sums

    def cover(self, pod: PodRecord) -> Cover | None:
        """The disruption budget over a pod."""
        return self._covers(pod)


def _asks_for_its_minimum(job: LiveJob) -> bool:
    """Whether pods of the job ask for as much as must be free before it starts: if all fit, that is free too."""
    sums: Counter[str] = Counter()
    for role in job.roles:
        pods = [*role.waiting, *(pod for pod, _ in role.running)]
        sums.update({name: amount * len(pods) for name, amount in pods[0].request})
        sums[PODS] += len(pods)
    return all(sums[name] >= amount for name, amount in job.min_resources.items())


def _offered(
    nodes: NodeState,
    held: Mapping[str, int],
    held_on: Callable[[Collection[str]], Mapping[str, Mapping[str, int]]],
) -> dict[str, int]:
    """What is free on open nodes and what our own pods hold: in sum, and by node where others hold too much.

    Such a node offers us nothing, or what we hold there. It does not lessen what other nodes offer.
    """
    open_rows = ~nodes.unschedulable
    free = nodes.allocatable - nodes.used
    full = np.flatnonzero(open_rows & (free < 0).any(axis=1)).tolist()
    own = held_on([nodes.names[row] for row in full]) if full else {}
    for row in full:
        mine = own.get(nodes.names[row], {})
        free[row] = np.maximum(free[row], [-mine.get(name, 0) for name in nodes.resources])
    sums = zip(nodes.resources, totals(free[open_rows]), strict=True)
    return {name: max(0, amount + held.get(name, 0)) for name, amount in sums}
