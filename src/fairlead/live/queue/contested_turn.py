"""One turn.

1. what was promised   goes to the pods it was promised to, where it fits; else the places stay out of reach of others
2. share and place     queue, then namespace, then job, and where they go (`engine.share_and_place`)
3. grants              pods in natural order to the places found; those that others must leave first become promises
4. the others          are told the stage that stops them, and what nodes say
"""

from collections import defaultdict
from collections.abc import Collection, Iterator

import numpy as np

from fairlead.engine.collector import held
from fairlead.engine.share_and_place import share_and_place
from fairlead.levels.queue import reasons
from fairlead.levels.queue.result import Sharing
from fairlead.live.cluster.identity import JobKey, PodKey
from fairlead.live.cluster.pod_sets import PodSet, PodSetKey, PodSetOutcome
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import (
    EvictionOrder,
    Grant,
    LiveJob,
    LiveRole,
    Place,
    Promise,
    QueueTurn,
    TurnTerms,
)
from fairlead.live.queue.node_fits import TurnSite, node_fits
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.tables import Budgets, Row, settled
from fairlead.model.jobs import RunningTable
from fairlead.model.reasons import Finding, because

Places = dict[PodKey, str]


def take_turn(
    promises: Promises, site: TurnSite, awake: Collection[str] | None, now: float, terms: TurnTerms | None = None
) -> tuple[QueueTurn, list[PodSetOutcome]]:
    """Decide; nothing is written. Only jobs of `awake` (None: all) get anything; `now` is in wall-clock seconds.

    `terms` replaces those of `promises`, for a what-if. A job that makes the turn fail is left out with a reason, and
    the turn is taken without it.
    """
    with held():
        turn, outcomes = promises.faulty.guarded(
            lambda: _Turn(promises, site, awake, now, terms or promises.terms()).run()
        )
    return turn, [*outcomes, *promises.faulty.outcomes(awake, len(site.view.nodes.rows))]


class _Turn:
    """The working copy of one turn; used once."""

    def __init__(
        self, promises: Promises, site: TurnSite, awake: Collection[str] | None, now: float, terms: TurnTerms
    ) -> None:
        self.promises = promises
        self.terms = terms
        self.policy = terms.policy
        self.now = now
        self.moment = promises.job_cache.clock()
        """The time that promises go by."""
        self.unbound: set[int] = set()
        """Jobs whose intent is recorded and of which nothing is bound: all of it goes, or nothing."""
        self.void: list[JobKey] = []
        self.jobs = promises.faulty.jobs()
        self.nodes = site.view.nodes
        self.budgets = Budgets(promises.cover, now) if terms.policy.preempt else None
        self.rows = [self._row(job, terms.spared) for job in self.jobs]
        self.first: list[int] = np.cumsum([0, *(len(row.likes) for row in self.rows)]).tolist()
        """The row of each job's first role."""
        self.asleep = self._sleepers(awake)
        likes = [pod for row in self.rows for pod in row.likes]
        self.fits = node_fits(site, likes, frozenset(self._roles(self.asleep)))
        self.going: dict[int, Places] = {}
        """Promised pods that go now, by job."""
        self.kept: dict[int, Places] = {}
        """Promised pods whose places are only kept."""

    def run(self) -> tuple[QueueTurn, list[PodSetOutcome]]:
        """The phases of the module's docstring."""
        released = self._overdue()
        for number, promise in self._open_promises(released):
            self._keep(number, promise)
        if self.terms.yielding:
            self.fits.rest(self._roles([number for number, job in enumerate(self.jobs) if self._yields(job)]))
        jobs, rows = list(self.jobs), list(self.rows)
        for number in {**self.going, **self.kept}:
            jobs[number] = settled(self.jobs[number], self._settled(number))
            rows[number] = self._row(jobs[number], self._fixed(number))
        state = self.promises.tables(rows, self.nodes, self.jobs, self.budgets)
        shared = share_and_place(
            state,
            self.fits,
            running=state.running if self.budgets is not None else None,
            policy=self.policy,
            now=int(self.now),
            tried=self.terms.tried,
        )
        evictions = list(self._victims(shared, jobs, state.running))
        # A job that starts in a turn with evictions may use room that is not free yet.
        grants, new_promises = self._grants(shared, jobs, shared.gains.keys() if evictions else ())
        turn = QueueTurn(
            sharing=shared,
            jobs=tuple(self.jobs),
            grants=tuple(grants),
            evictions=(*evictions, *(each for number in released for each in _leavers(self.jobs[number]))),
            promises=tuple(new_promises),
            reserved=shared.reserved or "",
            released=tuple(self.jobs[number] for number in released),
            void=tuple(self.void),
            at=self.moment,
        )
        return turn, self._outcomes(turn)

    def _row(self, job: LiveJob, fixed: Collection[str]) -> Row:
        return self.promises.row(job, self.budgets, fixed, self.terms.barred)

    def _sleepers(self, awake: Collection[str] | None) -> set[int]:
        """Jobs that cannot have become able to start. One that may evict, or have room kept, is always asked."""
        if awake is None:
            return set()
        always = self.policy.preempt or self.policy.reserve_after is not None
        return {
            number
            for number, job in enumerate(self.jobs)
            if job.key not in awake and not (always and job.running < max(1, job.min_member))
        }

    def _roles(self, jobs: Collection[int]) -> Iterator[int]:
        for number in jobs:
            yield from range(self.first[number], self.first[number + 1])

    def _overdue(self) -> list[int]:
        """Gangs that were begun too long ago and are not complete."""
        late = {
            key
            for key, begun in self.promises.job_cache.intents.items()
            if self.moment - begun.at >= self.promises.deadline
        }
        return [
            number
            for number, job in enumerate(self.jobs if late else ())
            if job.key in late and job.waiting > 0 and job.running < job.min_member
        ]

    def _yields(self, job: LiveJob) -> bool:
        """Whether pods of the job are about to go."""
        return any(pod.key in self.terms.yielding for pod, _ in _running(job))

    def _open_promises(self, released: Collection[int]) -> list[tuple[int, Promise]]:
        """Promises whose pods still wait, the oldest first."""
        promises = self.promises.by_job
        found = [
            (number, promises[job.key])
            for number, job in enumerate(self.jobs if promises else ())
            if job.key in promises and job.waiting and number not in released
        ]
        return sorted(found, key=lambda each: (each[1].at, each[1].job))

    def _keep(self, number: int, promise: Promise) -> None:
        """Give the promised places to their pods as far as they fit; keep the rest from other pods."""
        wanted = [
            (self.first[number] + place, pod, promise.places[pod.key])
            for place, role in enumerate(self.jobs[number].roles)
            for pod in role.waiting
            if pod.key in promise.places
        ]
        rows = self.nodes.rows
        fitting = [(role, pod, node) for role, pod, node in wanted if node in rows and self.fits.at(role, rows[node])]
        if promise.begun or len(fitting) == len(wanted):
            # What began and does not fit its node any more is decided anew, with all the others.
            if fitting:
                self.going[number] = {pod.key: node for _, pod, node in fitting}
            if promise.begun and not self.jobs[number].running:
                self.unbound.add(number)
            return
        there = {pod.key for _, pod, _ in fitting}
        for role, pod, node in wanted:
            if pod.key not in there and node in rows:
                self.fits.put(role, {rows[node]: 1})
        self.kept[number] = {pod.key: node for _, pod, node in wanted}
        # What is above the gang has its turn after the gang has started.
        self.fits.rest(self._roles((number,)))

    def _settled(self, number: int) -> Places:
        return {**self.going.get(number, {}), **self.kept.get(number, {})}

    def _fixed(self, number: int) -> Collection[str]:
        """Uids of pods that stay: those promised a place, and those that may not be chosen."""
        places = self._settled(number)
        if not places:
            return self.terms.spared
        mine = {pod.metadata.uid for role in self.jobs[number].roles for pod in role.waiting if pod.key in places}
        return mine.union(self.terms.spared)

    def _victims(self, shared: Sharing, jobs: list[LiveJob], running: RunningTable) -> Iterator[EvictionOrder]:
        by_key: dict[str, LiveJob] = {job.key: job for job in jobs if shared.victims}
        used: dict[int, int] = defaultdict(int)
        for victim in shared.victims:
            there = {"/".join(pod.key): (pod, node) for pod, node in _running(by_key[victim.job])}
            names = running.names[victim.row][used[victim.row] : used[victim.row] + victim.count]
            used[victim.row] += victim.count
            for name in names:
                pod, node = there[name]
                yield EvictionOrder(pod=pod, node=node, beneficiary=victim.beneficiary, action=victim.action)

    def _grants(
        self, shared: Sharing, jobs: list[LiveJob], later: Collection[str]
    ) -> tuple[list[Grant], list[Promise]]:
        names, rank = self.nodes.names, self.fits.nodes.rank
        grants: list[Grant] = []
        promises: list[Promise] = []
        for number in self._touched(shared, later):
            job = self.jobs[number]
            places: list[Place] = []
            for place, role in enumerate(jobs[number].roles):
                spots = shared.spots.get(self.first[number] + place, {})
                found = [row for row in sorted(spots, key=lambda row: int(rank[row])) for _ in range(spots[row])]
                places += [(pod, names[row]) for pod, row in zip(role.waiting, found, strict=False)]
            going = self.going.get(number, {})
            mine = [(pod, going[pod.key]) for role in job.roles for pod in role.waiting if pod.key in going]
            if number in self.unbound and (job.key in later or len(mine) + len(places) < job.min_member):
                # Nothing is bound, so nothing forces half a gang (docs/decisions/0207).
                self.void.append(job.key)
                mine, places = [], [*mine, *places] if job.key in later else []
            if job.key in later:
                promises.append(Promise(job=job.key, places={pod.key: node for pod, node in places}, at=self.moment))
                continue
            if mine or places:
                grants.append(Grant(job=job, places=(*mine, *places)))
        return grants, promises

    def _touched(self, shared: Sharing, later: Collection[str]) -> list[int]:
        """Jobs that get anything, or lose an intent."""
        placed = (np.searchsorted(self.first, list(shared.spots), side="right") - 1).tolist()
        gaining = (number for number, job in enumerate(self.jobs if later else ()) if job.key in later)
        return sorted({*placed, *gaining, *self.going, *self.unbound})

    def _outcomes(self, turn: QueueTurn) -> list[PodSetOutcome]:
        """What became of every group that was looked at; pods of one group are told the same.

        Pods with claims or bound cores are not among those placed: what they get is chosen one pod at a time.
        """
        places = {pod.key: node for grant in turn.grants for pod, node in grant.places}
        coming = {promise.job for promise in turn.promises} | {self.jobs[number].key for number in self.kept}
        outcomes: dict[PodSetKey, list[PodSetOutcome]] = defaultdict(list)
        for number, job in enumerate(self.jobs):
            if number in self.asleep and number not in self.going:
                continue
            astray = self.promises.job_cache.why_astray(job.key) if self.rows[number].astray else None
            if astray is not None:
                finding: Finding | None = astray
            elif job.key in coming:
                finding = because(reasons.NEXT_CYCLE)
            else:
                finding = turn.sharing.jobs[number].finding
            for place, role in enumerate(job.roles):
                if not role.waiting:
                    continue
                left = tuple(pod for pod in role.waiting if pod.key not in places) if places else role.waiting
                refusals = self.fits.refusals(self.first[number] + place) if left and not astray else ()
                made = PodSetOutcome(
                    group=PodSet(controller=role.waiting[0].controller, shape=role.waiting[0].shape, pods=role.waiting),
                    placed=tuple((pod, places[pod.key]) for pod in _unclaimed(role) if pod.key in places)
                    if len(left) < len(role.waiting)
                    else (),
                    waiting=left,
                    considered=len(self.nodes.rows),
                    rejected=refusals,
                    finding=finding if left else None,
                )
                outcomes[role.key].append(made)
        return [_merged(made) for made in outcomes.values()]


def _merged(made: list[PodSetOutcome]) -> PodSetOutcome:
    """Roles of one shape, of one job or of several bare pods, told as one group: the first that waits says why."""
    first = made[0]
    if len(made) == 1:
        return first
    worse = next((each for each in made if each.waiting), first)
    pods = tuple(pod for each in made for pod in each.group.pods)
    return PodSetOutcome(
        group=PodSet(controller=first.group.controller, shape=first.group.shape, pods=pods),
        placed=tuple(place for each in made for place in each.placed),
        waiting=tuple(pod for each in made for pod in each.waiting),
        considered=first.considered,
        rejected=worse.rejected,
        finding=worse.finding,
    )


def _unclaimed(role: LiveRole) -> Iterator[PodRecord]:
    return (pod for pod in role.waiting if not pod.alone)


def _running(job: LiveJob) -> Iterator[Place]:
    for role in job.roles:
        yield from role.running


def _leavers(job: LiveJob) -> Iterator[EvictionOrder]:
    """The members of a gang that is given up, as far as a controller will create them again."""
    for pod, node in _running(job):
        if not bare(pod):
            yield EvictionOrder(pod=pod, node=node, beneficiary="", action="release")


def bare(pod: PodRecord) -> bool:
    """Whether no controller would create the pod again."""
    return pod.owner is None
