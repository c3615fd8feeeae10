"""Which evictions to try, in which order: bites, from the cheapest on."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.queue.preemption.victims import FRESH, Claim, Standing, VictimGroup, branch_of, over
from fairlead.levels.queue.state import State

Key = tuple[int | Fraction, ...]


@dataclass(slots=True)
class Bite:
    """Replicas that are evicted together or not at all (`whole`), or as many as needed."""

    parts: list[tuple[VictimGroup, int]]
    whole: bool

    @property
    def count(self) -> int:
        """Replicas in it."""
        return sum(count for _, count in self.parts)


class Candidates:
    """The groups that may be taken from for one claim; `limits` is how many replicas of each group at most."""

    def __init__(
        self, state: State, claim: Claim, groups: Sequence[VictimGroup], limits: Sequence[int], allowed: Sequence[int]
    ) -> None:
        self.state = state
        self.claim = claim
        self.groups = groups
        self.limits = limits
        self.allowed = allowed
        self._over: dict[int, tuple[tuple[int, int], ...]] = {}
        self._orders: dict[Standing, list[int]] = {}
        self.of_job: dict[int, list[int]] = {}
        """By job the numbers of its groups that hold anything."""
        for number, group in enumerate(groups):
            if group.count:
                self.of_job.setdefault(group.job, []).append(number)
        self.served = self._served()
        """Jobs by how well they are served, the best first: queue, namespace, job, the youngest; ties are equal."""

    def _served(self) -> dict[int, int]:
        """The place of each job that may lose something."""
        jobs = {group.job for group, limit in zip(self.groups, self.limits, strict=True) if limit}
        state, ages = self.state, self.state.world.jobs.age.tolist()
        queues = _ranks(
            {
                row: state.queue_measures[row].share(state.ledger.used[row])
                for row in {state.queue_of[job] for job in jobs}
            }
        )
        pairs = _ranks(
            {row: state.pair_measures[row].share(state.pair_used[row]) for row in {state.pair_of[job] for job in jobs}}
        )
        keys = {
            job: (queues[state.queue_of[job]], pairs[state.pair_of[job]], -state.job_share(job), -ages[job])
            for job in jobs
        }
        places = {key: place for place, key in enumerate(sorted(set(keys.values())))}
        return {job: places[key] for job, key in keys.items()}

    def over(self, queue: int) -> tuple[tuple[int, int], ...]:
        """What may be reclaimed from the queue, see `victims.over`; nothing changes while bites are laid out."""
        if queue not in self._over:
            self._over[queue] = over(self.state, self.claim, queue)
        return self._over[queue]

    def bites(self, *, largest: bool = False, rights_kept: bool = False) -> Iterator[Bite]:
        """Everything that may be taken, in order: at each priority what is above the gangs, then whole gangs.

        The cheapest come first; with `largest` those of which fewest are needed. They are laid out as they are asked
        for: mostly a few are enough. The last bite from a queue may take it below its right, unless `rights_kept`.
        """
        tally = _Tally(self, rights_kept)
        levels: dict[Standing, list[int]] = {}
        for number, limit in enumerate(self.limits):
            if limit:
                levels.setdefault(self.groups[number].standing, []).append(number)
        for level in sorted(levels):
            here = self._ordered(levels[level], largest=largest)
            jobs = [self.groups[number].job for number in here]
            for number, job in zip(here, jobs, strict=True):
                if tally.above[job] > 0 and (most := tally.spare(number)) > 0:
                    yield tally.take([(number, most)], whole=False)
            for job in dict.fromkeys(() if self.claim.elastic else jobs):
                if parts := tally.rest(job, level):
                    yield tally.take(parts, whole=True)

    def _ordered(self, numbers: list[int], *, largest: bool) -> list[int]:
        """Groups of one standing: not yet started first, then the largest where asked for, the best served, the
        youngest.
        """
        standing = self.groups[numbers[0]].standing
        if standing not in self._orders:
            groups = [self.groups[number] for number in numbers]
            keys = [(group.row != FRESH, self.served[group.job], group.youngest) for group in groups]
            order = np.lexsort(np.array(keys, dtype=np.int64).T[::-1]).tolist()
            self._orders[standing] = [numbers[place] for place in order]
        ordered = self._orders[standing]
        if largest and len({tuple(self.request(number)) for number in numbers}) > 1:
            ordered = sorted(ordered, key=lambda number: (self.groups[number].row != FRESH, -relief(self, number)))
        return ordered

    def request(self, number: int) -> list[int]:
        """What one replica of a group uses."""
        return self.state.members.requests[self.groups[number].role]


def _ranks(shares: Mapping[int, Fraction]) -> dict[int, int]:
    """Places by share, the highest first; equal ones share a place."""
    places = {share: place for place, share in enumerate(sorted(set(shares.values()), reverse=True))}
    return {row: places[share] for row, share in shares.items()}


def cheapest(candidates: Candidates, number: int) -> Key:
    """Not yet started first, then low priority of replicas and of queues, the best served, the youngest."""
    group = candidates.groups[number]
    return int(group.row != FRESH), *group.standing, candidates.served[group.job], group.youngest, number


def relief(candidates: Candidates, number: int) -> Fraction:
    """The largest part of what is lacking that one replica of the group frees."""
    claim, request = candidates.claim, candidates.request(number)
    return max((Fraction(request[r], max(1, claim.step.need[r])) for r in claim.lacking), default=Fraction(0))


class _Tally:
    """What is left to take while bites are laid out: of groups, above gangs, from queues, of budgets."""

    def __init__(self, candidates: Candidates, rights_kept: bool) -> None:
        self.all = candidates
        self.rights_kept = rights_kept
        self.left = list(candidates.limits)
        members = candidates.state.members
        self.above = {job: members.count(job) - members.minimum(job) for job in candidates.served}
        self.gone: dict[int, list[int]] = {}
        self.spent = [0] * len(candidates.allowed)

    def spare(self, number: int) -> int:
        """Replicas of a group above the gang that may go one by one."""
        group = self.all.groups[number]
        most = min(self.left[number], self.above[group.job])
        return min(most, self._surplus(number), self._budget(group)) if most > 0 else 0

    def rest(self, job: int, level: Standing) -> list[tuple[int, int]]:
        """All that is left of a job, if all of it may go, none of it with a higher priority; else nothing."""
        numbers = self.all.of_job[job]
        groups = [self.all.groups[number] for number in numbers]
        complete = all(self.all.limits[number] == self.all.groups[number].count for number in numbers)
        if not complete or max(group.standing for group in groups) != level or not self._surplus(numbers[0]):
            return []
        parts = [(number, self.left[number]) for number in numbers if self.left[number]]
        budgets: dict[int, int] = {}
        for number, count in parts:
            budget = self.all.groups[number].budget
            if budget >= 0:
                budgets[budget] = budgets.get(budget, 0) + count
        within = all(self.spent[row] + count <= self.all.allowed[row] for row, count in budgets.items())
        return parts if parts and within and self._allowed(parts) else []

    def _allowed(self, parts: Sequence[tuple[int, int]]) -> bool:
        """Whether the queue's branch keeps its right of what is lacking, where it has to."""
        state, claim = self.all.state, self.all.claim
        group = self.all.groups[parts[0][0]]
        if not self.rights_kept or state.queue_of[group.job] == claim.queue:
            return True
        gone = self._gone(group)
        frees = {r: sum(self.all.request(number)[r] * count for number, count in parts) for r in claim.lacking}
        return all(gone[r] + frees[r] <= surplus for r, surplus in self.all.over(state.queue_of[group.job]))

    def take(self, parts: Sequence[tuple[int, int]], *, whole: bool) -> Bite:
        """Lay out a bite and count it."""
        for number, count in parts:
            group = self.all.groups[number]
            self.left[number] -= count
            self.above[group.job] -= count
            sums = self.gone.setdefault(self._branch(group), [0] * len(self.all.state.world.whole))
            for resource, amount in enumerate(self.all.request(number)):
                sums[resource] += amount * count
            if group.budget >= 0:
                self.spent[group.budget] += count
        return Bite([(self.all.groups[number], count) for number, count in parts], whole)

    def _surplus(self, number: int) -> int:
        """Replicas until the queue's branch holds no more than its right; no bound inside the claimant's queue."""
        state, claim = self.all.state, self.all.claim
        queue = state.queue_of[self.all.groups[number].job]
        if queue == claim.queue:
            return self.all.groups[number].count
        gone = self._gone(self.all.groups[number])
        request = self.all.request(number)
        return max(
            (
                (surplus - gone[r]) // request[r] if self.rights_kept else -(-(surplus - gone[r]) // request[r])
                for r, surplus in self.all.over(queue)
                if request[r] and surplus > gone[r]
            ),
            default=0,
        )

    def _gone(self, group: VictimGroup) -> list[int]:
        """What is laid out already of the group's branch."""
        return self.gone.get(self._branch(group), [0] * len(self.all.state.world.whole))

    def _branch(self, group: VictimGroup) -> int:
        """Whose right it is that a group counts against; the claimant's own queue is its own branch."""
        queue, claim = self.all.state.queue_of[group.job], self.all.claim
        return queue if queue == claim.queue else branch_of(self.all.state, claim, queue)

    def _budget(self, group: VictimGroup) -> int:
        if group.budget < 0:
            return group.count
        return self.all.allowed[group.budget] - self.spent[group.budget]


def merged(bites: Sequence[Bite]) -> list[Bite]:
    """Where a job is taken as a whole, what was taken of it before belongs to the whole."""
    wholes = {bite.parts[0][0].job for bite in bites if bite.whole}
    apart = [bite for bite in bites if not bite.whole]
    result = [bite for bite in apart if bite.parts[0][0].job not in wholes]
    for bite in bites:
        if bite.whole:
            job = bite.parts[0][0].job
            earlier = [part for each in apart for part in each.parts if part[0].job == job]
            result.append(Bite([*earlier, *bite.parts], True))
    return result


NO_STANDING: Standing = (-(2**63),)
"""The standing of a choice that evicts no running replica."""


def cost(chosen: Sequence[Bite]) -> tuple[Standing, int, int]:
    """Highest standing that is evicted, replicas that are evicted while running, replicas in all."""
    parts = [part for bite in chosen for part in bite.parts]
    running = [(group, count) for group, count in parts if group.row != FRESH]
    return (
        max((group.standing for group, _ in running), default=NO_STANDING),
        sum(count for _, count in running),
        sum(count for _, count in parts),
    )
