"""Carries out the evictions of a turn: room for a job that waits, made by the pods that its turn names.

1 the places are promised at once, so that no other job gets them; 2 the API server is asked whether it would agree to
every one; 3 all are charged to the budget together; 4 the waiting pods are nominated; 5 the victims are marked and
evicted. Where any step is refused, the promise is withdrawn and victims are chosen again, without those refused.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field
from typing import Protocol

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.errors import KubeError, NotLeadingError
from fairlead.kube.retry import may_have_acted
from fairlead.levels.queue.preemption.potential import Gain
from fairlead.live.cluster.identity import JobKey, PodKey, Uid
from fairlead.live.cluster.turn_types import EvictionOrder, Promise, QueueTurn
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.queue.pod_status import PodStatusWriter
from fairlead.live.runtime.evictions import Evictions, Refusal
from fairlead.live.runtime.outbox import together
from fairlead.live.runtime.pulse import Pulse

REST = {Refusal.STOPPED: 5.0, Refusal.BUDGET: 5.0, Refusal.BUSY: 5.0, Refusal.OFF: 60.0}
"""Seconds without any preemption after such a refusal; granting goes on meanwhile."""
BARRED = 60.0
"""Seconds for which a job evicts no pod after a refusal of its own."""
SPARED = 30.0
"""Seconds for which a pod is left out of the choice after a disruption budget refused its eviction."""

IN_FLIGHT = 8
"""Questions to the server at a time."""
AT_ONCE = 8
"""Evictions at a time; a refusal stops those that have not begun."""

log = structlog.get_logger("evictor")


class Holds(Protocol):
    """What is asked of the store of promises."""

    @property
    def by_job(self) -> Mapping[JobKey, Promise]: ...

    def withdraw(self, job: JobKey) -> None: ...

    def waits(self, promise: Promise) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One job and its victims; no victims when it uses room freed by another preemption."""

    job: JobKey
    victims: tuple[EvictionOrder, ...]
    promise: Promise
    gain: Gain | None


@dataclass(slots=True, eq=False)
class Evictor:
    """One case at a time. Time is that of `clock`, in seconds of any kind."""

    holds: Holds
    evictions: Evictions
    pod_status: PodStatusWriter
    measures: QueueMetrics
    _: KW_ONLY
    clock: Callable[[], float]
    nudge: Callable[[], None]
    pulse: Pulse
    leads: Callable[[], bool] = lambda: True
    shadow: bool = False
    _queue: asyncio.Queue[list[Case] | EvictionOrder] = field(default_factory=asyncio.Queue, init=False)
    _busy: bool = field(default=False, init=False)
    yielding: frozenset[PodKey] = field(default=frozenset(), init=False)
    """Pods about to be evicted."""
    _rests: dict[tuple[str, str], float] = field(default_factory=dict, init=False)
    _reported: dict[str, frozenset[str]] = field(default_factory=dict, init=False)

    def took_turn(self, turn: QueueTurn) -> Sequence[Promise]:
        """Begin what the turn asks for; the promises that are to be kept meanwhile.

        While an earlier turn is being carried out the new one is let pass.
        """
        if self.shadow:
            self.would(turn)
            return ()
        self._release(turn)
        cases = cases_of(turn)
        if self._busy or not cases:
            return ()
        self._busy = True
        self.yielding = frozenset(wanted.pod.key for case in cases for wanted in case.victims)
        self._queue.put_nowait(cases)
        return [case.promise for case in cases]

    def would(self, turn: QueueTurn) -> None:
        """Log what would be evicted; once, until the victims change."""
        wanted: dict[str, list[EvictionOrder]] = defaultdict(list)
        for each in turn.evictions:
            wanted[each.beneficiary].append(each)
        for job, victims in wanted.items():
            uids = frozenset(each.pod.metadata.uid for each in victims)
            if self._reported.get(job) != uids:
                for each in victims:
                    log.info("would evict", **_facts(each, turn.sharing.gains.get(job)))
            self._reported[job] = uids
        self._reported = {job: uids for job, uids in self._reported.items() if job in wanted}

    @property
    def idle(self) -> bool:
        """Whether no pod is being evicted, nor about to be."""
        return not self._busy

    @property
    def able(self) -> bool:
        """Whether evictions can be carried out. Turns search for victims only then: that is most of their work."""
        return not self._busy and ("all", "") not in self._rests

    @property
    def spared(self) -> frozenset[Uid]:
        """Uids of pods that may not be chosen now."""
        return frozenset(Uid(name) for kind, name in self._rests if kind == "pod")

    @property
    def barred(self) -> frozenset[JobKey]:
        """Keys of jobs that may not evict now."""
        return frozenset(JobKey(name) for kind, name in self._rests if kind == "job")

    def bar(self, job: JobKey) -> None:
        """The room that was made for the job did not come in time: it evicts no other pod for a while."""
        self._rest("job", job, BARRED)

    def rested(self) -> None:
        """End the rests that are over; the jobs that waited for that are looked at again."""
        now = self.clock()
        over = [what for what, until in self._rests.items() if until <= now]
        for what in over:
            del self._rests[what]
        if over:
            self.nudge()

    async def run(self) -> None:
        """Carry out cases until cancelled."""
        while True:
            work = await self._queue.get()
            with self.pulse.under_way("evictions"):
                if isinstance(work, EvictionOrder):
                    await self._let_go(work)
                    continue
                try:
                    await self._carry_out_all(work)
                finally:
                    self._done()

    def lost(self) -> None:
        """This instance leads no longer: what has not begun is given up, and nothing is promised on its account."""
        while not self._queue.empty():
            work = self._queue.get_nowait()
            if not isinstance(work, EvictionOrder):
                for case in work:
                    self.holds.withdraw(case.job)
                self._done()

    def _done(self) -> None:
        self._busy = False
        self.yielding = frozenset()
        self.nudge()

    async def _carry_out_all(self, cases: Sequence[Case]) -> None:
        """In order; each was chosen as if those before it had happened, so that after a refusal the rest is dropped."""
        term = self.evictions.client.term
        for number, case in enumerate(cases):
            try:
                done = await self._carry_out(case, cases, term)
            except NotLeadingError as error:
                # Not the job's fault: it may evict as soon as this instance leads again.
                log.warning("not evicted", beneficiary=case.job, why=error)
                done = False
            except KubeError as error:
                log.warning("not evicted", beneficiary=case.job, why=error)
                self._rest("job", case.job, BARRED)
                done = False
            if not done:
                for other in cases[number:]:
                    self.holds.withdraw(other.job)
                await self.pod_status.unnominate(case.promise.places)
                return

    async def _carry_out(self, case: Case, cases: Sequence[Case], term: int) -> bool:
        """Whether all of it happened. What was decided in one term is not carried out in another."""
        if case.gain is None or not case.gain.better:
            self.measures.skipped.inc()
            log.error("preemption skipped: it would not improve the allocation", beneficiary=case.job)
            self._rest("job", case.job, BARRED)
            return False
        if not case.victims:
            await self.pod_status.nominate(case.promise.places)
            return True
        objections = await together(self._objection, case.victims, in_flight=IN_FLIGHT)
        for wanted, refusal in zip(case.victims, objections, strict=True):
            if refusal is not None:
                self._refused(case, wanted, refusal)
                return False
        # One may have started in room that another made: evictions are needless only when none of them waits any more.
        if not self._leads_since(term) or not any(self.holds.waits(each.promise) for each in cases):
            return False
        spent = await self.evictions.spend(len(case.victims))
        if isinstance(spent, Refusal):
            self._refused(case, case.victims[0], spent)
            return False
        await self.pod_status.nominate(case.promise.places)
        left = case.victims
        while left:
            if not self._leads_since(term):
                await self.evictions.give_back(spent, len(left))
                return False
            now, left = left[:AT_ONCE], left[AT_ONCE:]
            answers = await asyncio.gather(*(self._evict(case, wanted) for wanted in now))
            failed = [each for each in answers if isinstance(each, KubeError)]
            refused = [
                (wanted, why)
                for wanted, why in zip(now, answers, strict=True)
                if isinstance(why, Refusal) and why is not Refusal.GONE
            ]
            for wanted, why in refused:
                await self.pod_status.pardon(wanted.pod)
                self._refused(case, wanted, why)
            # One that failed stays paid where it may have been carried out all the same.
            sure = sum(not may_have_acted(error) for error in failed)
            vain = answers.count(Refusal.GONE) + len(refused) + sure + (len(left) if refused or failed else 0)
            if vain:
                await self.evictions.give_back(spent, vain)
            if failed:
                raise failed[0]
            if refused:
                return False
        return True

    def _leads_since(self, term: int) -> bool:
        """Whether this instance still leads, in the same term as then."""
        return self.leads() and self.evictions.client.term == term

    async def _evict(self, case: Case, wanted: EvictionOrder) -> Refusal | KubeError | None:
        meta = wanted.pod.metadata
        await self.pod_status.condemn(wanted.pod, case.job)
        try:
            refusal = await self.evictions.carry_out(meta.namespace, meta.name, meta.uid)
        except KubeError as error:
            await self.pod_status.pardon_if_it_stays(wanted.pod)
            return error
        if refusal is None:
            self._evicted(wanted, case.gain)
        return refusal

    async def _objection(self, wanted: EvictionOrder) -> Refusal | None:
        """What the server would say to the eviction."""
        meta = wanted.pod.metadata
        return await self.evictions.possible(meta.namespace, meta.name, meta.uid)

    def _release(self, turn: QueueTurn) -> None:
        """Evict members of a gang that cannot be completed, one by one; no job gets their room."""
        for wanted in turn.evictions:
            uid = wanted.pod.metadata.uid
            if wanted.action == "release" and ("release", uid) not in self._rests:
                self._rests["release", uid] = self.clock() + SPARED
                self._queue.put_nowait(wanted)

    async def _let_go(self, wanted: EvictionOrder) -> None:
        meta = wanted.pod.metadata
        try:
            refusal = await self.evictions.evict(meta.namespace, meta.name, meta.uid)
        except KubeError as error:
            log.warning("not released", pod="/".join(wanted.pod.key), why=error)
            return
        if refusal is None:
            self._evicted(wanted, None)
        else:
            self.measures.refused.labels(refusal.name).inc()
            log.info("not released", pod="/".join(wanted.pod.key), why=refusal.value)

    def _evicted(self, wanted: EvictionOrder, gain: Gain | None) -> None:
        self.measures.evicted.labels(wanted.action).inc()
        self.pod_status.evicted(wanted)
        log.info("evicted", **_facts(wanted, gain))

    def _refused(self, case: Case, wanted: EvictionOrder, refusal: Refusal) -> None:
        self.measures.refused.labels(refusal.name).inc()
        log.info("not evicted", **_facts(wanted, case.gain), why=refusal.value)
        self.pod_status.refused(case.promise.places, refusal.value)
        if refusal in REST:
            self._rest("all", "", REST[refusal])
        elif refusal is Refusal.TOO_MANY:
            self._rest("job", case.job, BARRED)
        else:
            self._rest("pod", wanted.pod.metadata.uid, SPARED)

    def _rest(self, kind: str, name: str, seconds: float) -> None:
        self._rests[kind, name] = self.clock() + seconds


def cases_of(turn: QueueTurn) -> list[Case]:
    """The promises of a turn with the evictions that they need; last those that need none of their own."""
    victims: dict[JobKey, list[EvictionOrder]] = defaultdict(list)
    for wanted in turn.evictions:
        if wanted.beneficiary:
            victims[JobKey(wanted.beneficiary)].append(wanted)
    places = {promise.job: promise for promise in turn.promises}
    gains = turn.sharing.gains
    order = [*victims, *(job for job in places if job not in victims)]
    return [
        Case(job=job, victims=tuple(victims.get(job, ())), promise=places[job], gain=gains.get(job))
        for job in order
        if job in places
    ]


def _facts(wanted: EvictionOrder, gain: Gain | None) -> dict[str, object]:
    """An eviction as the fields of a log line. Of the potential it tells the part that decides, lowest value first."""
    facts: dict[str, object] = {
        "pod": "/".join(wanted.pod.key),
        "node": wanted.node,
        "action": wanted.action,
        "beneficiary": wanted.beneficiary,
    }
    if gain is not None:
        before, after = ([round(float(each), 9) for each in values] for values in (gain.before, gain.after))
        facts |= {"potential": gain.part, "before": before, "after": after}
    return facts
