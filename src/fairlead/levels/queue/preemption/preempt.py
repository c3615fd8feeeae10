"""Room for gangs that found none: whom to evict, if anybody. Inside the queue first, then from other queues.

Only a job that is not ready evicts, and only if it then starts. Candidates are those that every rule lets go; a job
keeps its gang or is taken as a whole. They are tried cheapest first, the choice is trimmed until nothing can be spared,
and only then is it asked whether the allocation becomes better (`potential`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairlead.levels.queue.fits import Emptied, Fits
from fairlead.levels.queue.grants.gang import GangStep, step_of
from fairlead.levels.queue.grants.grant import Block
from fairlead.levels.queue.preemption.potential import AllocationChange, AllocationView, Gain
from fairlead.levels.queue.preemption.victim_order import Bite, Candidates, cheapest, cost, largest, merged
from fairlead.levels.queue.preemption.victim_search import Fewest
from fairlead.levels.queue.preemption.victims import FRESH, Claim, VictimGroup, groups_of, votes
from fairlead.levels.queue.state import State
from fairlead.model.jobs import RunningTable

Moves = Mapping[int, tuple[int, Mapping[int, int]]]
"""By role: its job, and how many of its replicas on which node."""


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


class Preemption:
    """One pass over the jobs that wait."""

    def __init__(self, state: State, fits: Fits | None, running: RunningTable, patience: int) -> None:
        self.state = state
        self.fits = fits
        self.allowed: list[int] = running.allowed.tolist()
        self.groups = groups_of(state, running, state.fresh())
        self.evictions: list[Eviction] = []
        self.gains: dict[int, Gain | None] = {}
        """By what the allocation became better, for each job that others made room for."""
        self.unsearched: list[int] = []
        """Jobs whose victims may not be the fewest: the search for them was too long."""
        self.patience = patience

    def run(self, blocks: dict[int, Block]) -> list[int]:
        """Try every blocked job that is not ready, in order; those that started."""
        state, jobs = self.state, self.state.world.jobs
        starving = [job for job in blocks if jobs.preempts[job] and not state.members.ready(job)]
        return [job for job in sorted(starving, key=state.job_key) if self._ever(job) and self._attempt(job)]

    def _ever(self, job: int) -> bool:
        """Whether evictions could help at all: every role of the next step might find a node if nobody were there."""
        step = self.state.members.step(job)
        if step is None or not isinstance(self.fits, Emptied):
            return True
        return all(self.fits.ever(role) for role, _ in step.roles)

    def _attempt(self, job: int) -> bool:
        state = self.state
        step = state.members.step(job)
        assert step is not None  # a blocked job has pending replicas
        queue = state.queue_of[job]
        claim = Claim(job, queue, int(state.world.jobs.priority[job]), step, self._lacking(queue, step))
        limits = votes(state, claim, self.groups, self.allowed)
        standing = self._standing(claim.priority)
        inside = [limit if state.queue_of[g.job] == queue else 0 for g, limit in zip(self.groups, limits, strict=True)]
        outside = [limit - mine for limit, mine in zip(limits, inside, strict=True)]
        # Inside the queue, outside it, both; what is nobody or has been tried is left out.
        for scope in (inside, outside, limits) if any(inside) and any(outside) else (limits,):
            choices, complete = self._choices(claim, scope) if self._hopeful(claim, scope, standing) else ([], True)
            for chosen in choices:
                change = self._change(claim, chosen)
                if standing.better(change, job):
                    self.gains[job] = standing.gain(change)
                    self._carry_out(claim, chosen)
                    self.unsearched.extend(() if complete else (job,))
                    return True
        return False

    def _hopeful(self, claim: Claim, limits: list[int], standing: AllocationView) -> bool:
        """Whether there would be room in sum if all went whose loss can be fair; if not, no choice has to be tried."""
        fair: dict[int, bool] = {}
        going: list[tuple[VictimGroup, int]] = []
        for group, limit in zip(self.groups, limits, strict=True):
            if limit and group.priority == claim.priority and group.job not in fair:
                fair[group.job] = standing.may_lose(claim.job, group.job)
            if limit and (group.priority < claim.priority or fair[group.job]):
                going.append((group, limit))
        moves = _by_role(going)
        self._count(moves, -1)
        room = self.state.ledger.lack(claim.queue, claim.step.need) is None
        self._count(moves, 1)
        return room and any(limits)

    def _lacking(self, queue: int, step: GangStep) -> tuple[int, ...]:
        """The resources that are short in sum; where none is (a queue's bound, or nodes), all that are needed."""
        needed = [resource for resource, amount in enumerate(step.need) if amount]
        short = []
        for resource in needed:
            lack = self.state.ledger.lack(queue, [n if r == resource else 0 for r, n in enumerate(step.need)])
            if lack is not None:
                short.append(resource)
        return tuple(short or needed)

    def _standing(self, least: int) -> AllocationView:
        """What everybody holds in replicas of this priority and above."""
        held: dict[int, list[int]] = {}
        requests = self.state.members.requests
        for group in self.groups:
            if group.priority >= least and group.count:
                sums = held.setdefault(group.job, [0] * len(requests[group.role]))
                for resource, amount in enumerate(requests[group.role]):
                    sums[resource] += amount * group.count
        return AllocationView(self.state, held)

    def _choices(self, claim: Claim, limits: list[int]) -> tuple[list[list[Bite]], bool]:
        """Choices that make room, the cheapest first: the one that a search finds, then those found in two orders.

        The cheapest has the lowest top priority, then the fewest running replicas, then the fewest replicas; that is
        sure where the second value is True.
        """
        candidates = Candidates(self.state, claim, self.groups, limits, self.allowed)
        tried = [self._enough(claim, candidates.bites(key)) for key in (cheapest, largest)]
        found = [choice for choice in tried if choice is not None]
        excess = self.state.ledger.excess(claim.queue, claim.step.need)
        search = Fewest(candidates, lambda bites: self._fits(claim, bites), excess, self.patience)
        best, complete = search.run(found)
        self.patience -= search.moved
        others = sorted((choice for choice in found if choice is not best), key=cost)
        return ([best, *others] if best is not None else []), complete

    def _enough(self, claim: Claim, bites: list[Bite]) -> list[Bite] | None:
        """The shortest beginning that makes room, trimmed: without any part of it the gang would not fit."""
        if not self._fits(claim, bites):
            return None
        low, high = 0, len(bites)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._fits(claim, bites[:middle]) else (middle, high)
        chosen = merged(bites[:high])
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
        """Whether the gang finds room once these are gone; nodes are asked only where there is room in sum."""
        moves = _by_role(part for bite in bites for part in bite.parts)
        self._count(moves, -1)
        fits = self.state.ledger.lack(claim.queue, claim.step.need) is None
        self._count(moves, 1)
        if not fits or self.fits is None:
            return fits
        for role, (_, spots) in moves.items():
            self.fits.give(role, spots)
        placed = sum(self.fits.room(dict(claim.step.roles)).values())
        for role, (_, spots) in moves.items():
            self.fits.put(role, spots)
        return placed == claim.step.count

    def _count(self, moves: Moves, sign: int) -> None:
        """Take the replicas out of the ledger (sign −1), or put them back."""
        for role, (job, spots) in moves.items():
            count = sum(spots.values())
            use = [amount * count for amount in self.state.members.requests[role]]
            self.state.ledger.add(self.state.queue_of[job], use, sign)

    def _change(self, claim: Claim, chosen: Sequence[Bite]) -> AllocationChange:
        """What the choice changes for replicas of the claimant's priority and above."""
        change = AllocationChange()
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
                state.grant(group.job, step_of(((group.role, count),), use), -1)
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
                VictimGroup(FRESH, claim.job, role, node, n, claim.priority, preemptable=False)
                for node, n in nodes.items()
            )


def _by_role(parts: Iterable[tuple[VictimGroup, int]]) -> Moves:
    """Everything that goes, role by role: nodes are told of a role at once, however many it is on."""
    moves: dict[int, tuple[int, dict[int, int]]] = {}
    for group, count in parts:
        spots = moves.setdefault(group.role, (group.job, {}))[1]
        spots[group.node] = spots.get(group.node, 0) + count
    return moves
