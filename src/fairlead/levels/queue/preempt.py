"""Room for gangs that found none: whom to evict, if anybody. Inside the queue first, then from other queues.

Only a job that is not ready evicts, and only if it then starts. Candidates are those that every rule lets go; a job keeps its
gang or is taken as a whole. They are tried cheapest first, the choice is trimmed until nothing can be spared, and only
then is it asked whether the allocation becomes better (`potential`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fairlead.levels.queue.fits import Fits
from fairlead.levels.queue.gang import Step
from fairlead.levels.queue.grant import Block
from fairlead.levels.queue.potential import Change, Standing
from fairlead.levels.queue.state import State
from fairlead.levels.queue.victims import FRESH, Claim, Group, groups_of, over, votes
from fairlead.model.jobs import RunningTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """Replicas that make room: rows of jobs, and of the running table (FRESH: granted just now, not yet started)."""

    job: int
    role: int
    row: int
    node: int
    count: int
    beneficiary: int
    action: str
    """`preempt` inside a queue, `reclaim` across queues."""


@dataclass(slots=True)
class Bite:
    """Replicas that are evicted together or not at all (`whole`), or as many as needed."""

    parts: list[tuple[Group, int]]
    whole: bool

    @property
    def count(self) -> int:
        """Replicas in it."""
        return sum(count for _, count in self.parts)


class Preemption:
    """One pass over the jobs that wait."""

    def __init__(self, state: State, fits: Fits | None, running: RunningTable) -> None:
        self.state = state
        self.fits = fits
        self.allowed: list[int] = running.allowed.tolist()
        self.groups = groups_of(state, running, state.fresh())
        self.evictions: list[Eviction] = []

    def run(self, blocks: dict[int, Block]) -> list[int]:
        """Try every blocked job that is not ready, in order; those that started."""
        state, jobs = self.state, self.state.world.jobs
        starving = [job for job in blocks if jobs.preempts[job] and not state.members.ready(job)]
        return [job for job in sorted(starving, key=state.job_key) if self._attempt(job)]

    def _attempt(self, job: int) -> bool:
        state = self.state
        step = state.members.step(job)
        assert step is not None  # a blocked job has pending replicas
        queue = state.queue_of[job]
        claim = Claim(job, queue, int(state.world.jobs.priority[job]), step, self._lacking(queue, step))
        limits = votes(state, claim, self.groups, self.allowed)
        scopes: tuple[Callable[[int], bool], ...] = (
            lambda other: other == queue,
            lambda other: other != queue,
            lambda other: True,
        )
        standing = self._standing(claim.priority)
        for scope in scopes:
            chosen = self._choose(
                claim,
                [
                    limit if scope(state.queue_of[group.job]) else 0
                    for group, limit in zip(self.groups, limits, strict=True)
                ],
            )
            if chosen is not None and standing.better(self._change(claim, chosen), job):
                self._carry_out(claim, chosen)
                return True
        return False

    def _lacking(self, queue: int, step: Step) -> tuple[int, ...]:
        """The resources that are short in sum; where none is (a queue's bound, or nodes), all that are needed."""
        needed = [resource for resource, amount in enumerate(step.need) if amount]
        short = []
        for resource in needed:
            lack = self.state.ledger.lack(queue, [n if r == resource else 0 for r, n in enumerate(step.need)])
            if lack is not None:
                short.append(resource)
        return tuple(short or needed)

    def _standing(self, least: int) -> Standing:
        """What everybody holds in replicas of this priority and above."""
        held: dict[int, list[int]] = {}
        requests = self.state.members.requests
        for group in self.groups:
            if group.priority >= least and group.count:
                sums = held.setdefault(group.job, [0] * len(requests[group.role]))
                for resource, amount in enumerate(requests[group.role]):
                    sums[resource] += amount * group.count
        return Standing(self.state, held)

    def _choose(self, claim: Claim, limits: list[int]) -> list[Bite] | None:
        """The cheapest choice that makes room: lowest top priority, then fewest replicas. None where none does."""
        plans = []
        for key in (self._cheapest, self._largest):
            bites = self._bites(claim, limits, lambda number, key=key: key(claim, number))
            if (chosen := self._enough(claim, bites)) is not None:
                plans.append(chosen)
        return min(plans, key=_cost, default=None)

    def _cheapest(self, claim: Claim, number: int) -> tuple[object, ...]:
        """Not yet started first, then low priority, the best served queue, namespace and job, the youngest."""
        state, group = self.state, self.groups[number]
        pair, queue = state.pair_of[group.job], state.queue_of[group.job]
        used = state.ledger.used[queue]
        return (
            group.row != FRESH,
            group.priority,
            -state.queue_measures[queue].share(used),
            -state.pair_measures[pair].share(state.pair_used[pair]),
            -state.job_share(group.job),
            -int(state.world.jobs.age[group.job]),
            number,
        )

    def _largest(self, claim: Claim, number: int) -> tuple[object, ...]:
        """Low priority first, then those of which fewest are needed."""
        group = self.groups[number]
        request = self.state.members.requests[group.role]
        relief = max((request[r] * self.state.below // max(1, claim.step.need[r]) for r in claim.lacking), default=0)
        return group.priority, group.row != FRESH, -relief, self._cheapest(claim, number)

    def _bites(self, claim: Claim, limits: Sequence[int], key: Callable[[int], tuple[object, ...]]) -> list[Bite]:
        """Everything that may be taken, in order: at each priority what is above the gangs, then whole gangs."""
        state = self.state
        spare = {group.job: state.members.count(group.job) - state.members.minimum(group.job) for group in self.groups}
        left = list(limits)
        taken: dict[int, list[int]] = {}
        spent = [0] * len(self.allowed)
        bites: list[Bite] = []
        order = sorted((number for number, limit in enumerate(limits) if limit), key=key)  # type: ignore[arg-type]
        for level in sorted({self.groups[number].priority for number in order}):
            here = [number for number in order if self.groups[number].priority == level]
            for number in here:
                group = self.groups[number]
                most = min(left[number], spare[group.job], self._reclaimable(claim, group, taken))
                if group.budget >= 0:
                    most = min(most, self.allowed[group.budget] - spent[group.budget])
                if most > 0:
                    bites.append(Bite([(group, most)], False))
                    left[number] -= most
                    spare[group.job] -= most
                    self._count(group, most, taken, spent)
            for job in dict.fromkeys(self.groups[number].job for number in here):
                parts = self._whole_gang(claim, job, limits, left, level, taken, spent)
                if parts:
                    bites.append(Bite(parts, True))
                    for group, count in parts:
                        self._count(group, count, taken, spent)
        return bites

    def _count(self, group: Group, count: int, taken: dict[int, list[int]], spent: list[int]) -> None:
        """Remember what a choice takes from each queue and each budget."""
        sums = taken.setdefault(self.state.queue_of[group.job], [0] * len(self.state.world.whole))
        for resource, amount in enumerate(self.state.members.requests[group.role]):
            sums[resource] += amount * count
        if group.budget >= 0:
            spent[group.budget] += count

    def _whole_gang(
        self,
        claim: Claim,
        job: int,
        limits: Sequence[int],
        left: list[int],
        level: int,
        taken: dict[int, list[int]],
        spent: list[int],
    ) -> list[tuple[Group, int]]:
        """What is left of a job, if all of it may go and none of it has a higher priority."""
        numbers = [number for number, group in enumerate(self.groups) if group.job == job and group.count]
        groups = [self.groups[number] for number in numbers]
        if max(group.priority for group in groups) != level or any(limits[n] < self.groups[n].count for n in numbers):
            return []
        if not self._reclaimable(claim, groups[0], taken):
            return []
        parts = [(self.groups[number], left[number]) for number in numbers if left[number]]
        for group, count in parts:
            if group.budget >= 0 and spent[group.budget] + count > self.allowed[group.budget]:
                return []
        for number in numbers:
            left[number] = 0
        return parts

    def _reclaimable(self, claim: Claim, group: Group, taken: dict[int, list[int]]) -> int:
        """Replicas of the group until its queue's branch holds no more than its right; no bound in the own queue."""
        queue = self.state.queue_of[group.job]
        if queue == claim.queue:
            return group.count
        gone = taken.get(queue, [0] * len(self.state.world.whole))
        request = self.state.members.requests[group.role]
        bounds = [
            -(-(surplus - gone[r]) // request[r])
            for r, surplus in over(self.state, claim, queue)
            if request[r] and surplus > gone[r]
        ]
        return max(bounds, default=0)

    def _enough(self, claim: Claim, bites: list[Bite]) -> list[Bite] | None:
        """The shortest beginning that makes room, trimmed: without any part of it the gang would not fit."""
        if not self._fits(claim, bites):
            return None
        low, high = 0, len(bites)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fits(claim, bites[:middle]) else (middle, high)
        chosen = _merged(bites[:high])
        for place in range(len(chosen) - 1, -1, -1):
            chosen[place] = self._trimmed(claim, chosen, place)
        return [bite for bite in chosen if bite.count]

    def _trimmed(self, claim: Claim, chosen: list[Bite], place: int) -> Bite:
        """The bite at `place` with only as many replicas as are needed beside the others."""
        bite = chosen[place]
        others = [each for number, each in enumerate(chosen) if number != place]
        empty = Bite([], bite.whole)
        if self._fits(claim, others):
            return empty
        if bite.whole:
            return bite
        group, high = bite.parts[0]
        low = 0
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if self._fits(claim, [*others, Bite([(group, middle)], False)]) else (middle, high)
            )
        return Bite([(group, high)], False)

    def _fits(self, claim: Claim, bites: Sequence[Bite]) -> bool:
        """Whether the gang finds room once these are gone."""
        self._move(bites, -1)
        fits = self.state.ledger.lack(claim.queue, claim.step.need) is None
        if fits and self.fits is not None:
            fits = sum(self.fits.room(dict(claim.step.roles)).values()) == claim.step.count
        self._move(bites, 1)
        return fits

    def _move(self, bites: Sequence[Bite], sign: int) -> None:
        """Take the replicas out of the ledger and off the nodes, or put them back."""
        for bite in bites:
            for group, count in bite.parts:
                use = [amount * count for amount in self.state.members.requests[group.role]]
                self.state.ledger.add(self.state.queue_of[group.job], use, sign)
                if self.fits is not None:
                    (self.fits.give if sign < 0 else self.fits.put)(group.role, {group.node: count})

    def _change(self, claim: Claim, chosen: Sequence[Bite]) -> Change:
        """What the choice changes for replicas of the claimant's priority and above."""
        change = Change()
        change.add(claim.job, list(claim.step.use), claim.step.count)
        for bite in chosen:
            for group, count in bite.parts:
                if group.priority >= claim.priority:
                    use = [-amount * count for amount in self.state.members.requests[group.role]]
                    change.add(group.job, use, -count)
        return change

    def _carry_out(self, claim: Claim, chosen: Sequence[Bite]) -> None:
        """Evict, and grant the gang."""
        state = self.state
        for bite in chosen:
            for group, count in bite.parts:
                use = [amount * count for amount in state.members.requests[group.role]]
                state.grant(group.job, Step(((group.role, count),), count, use, use), -1)
                if group.row == FRESH:
                    state.lift(group.role, group.node, count)
                if self.fits is not None:
                    self.fits.give(group.role, {group.node: count})
                group.count -= count
                if group.budget >= 0:
                    self.allowed[group.budget] -= count
                action = "preempt" if state.queue_of[group.job] == claim.queue else "reclaim"
                self.evictions.append(
                    Eviction(
                        job=group.job,
                        role=group.role,
                        row=group.row,
                        node=group.node,
                        count=count,
                        beneficiary=claim.job,
                        action=action,
                    )
                )
        spots = state.place(claim.job, claim.step, self.fits)
        for role, nodes in spots.items():
            # Started at somebody's cost: not taken away again in the same pass.
            self.groups.extend(
                Group(FRESH, claim.job, role, node, n, claim.priority, preemptable=False) for node, n in nodes.items()
            )


def _merged(bites: Sequence[Bite]) -> list[Bite]:
    """Where a job is taken as a whole, what was taken of it before belongs to the whole."""
    wholes = {bite.parts[0][0].job for bite in bites if bite.whole}
    apart = [bite for bite in bites if not bite.whole]
    merged = [bite for bite in apart if bite.parts[0][0].job not in wholes]
    for bite in bites:
        if bite.whole:
            job = bite.parts[0][0].job
            earlier = [part for each in apart for part in each.parts if part[0].job == job]
            merged.append(Bite([*earlier, *bite.parts], True))
    return merged


def _cost(chosen: Sequence[Bite]) -> tuple[int, int, int]:
    """Highest priority that is evicted, replicas that are evicted while running, replicas in all."""
    parts = [part for bite in chosen for part in bite.parts]
    running = [(group, count) for group, count in parts if group.row != FRESH]
    return (
        max((group.priority for group, _ in running), default=-(2**63)),
        sum(count for _, count in running),
        sum(count for _, count in parts),
    )
