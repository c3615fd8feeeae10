"""Room for gangs that found none: which replicas to evict, if any. Inside the queue first, then from other queues.

A job that is not ready evicts only if it then starts. One that is may take, replica by replica, what others hold above
their gangs (docs/decisions/0281). Candidates are those that every rule lets go; a job keeps its gang or is taken as a
whole. They are tried cheapest first, the choice is trimmed until nothing can be spared, and only then is it asked
whether the allocation becomes better (`potential`).
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from heapq import heapify, heappop, heappush, heapreplace
from itertools import chain, islice

from fairlead.dataclass import dataclass
from fairlead.levels.queue.fits import Emptied, Fits, Kinds
from fairlead.levels.queue.grants.gang import GangStep, step_of
from fairlead.levels.queue.grants.grant import Block
from fairlead.levels.queue.preemption.potential import INSIDE, AllocationChange, AllocationView, Gain
from fairlead.levels.queue.preemption.victim_order import Bite, Candidates, cost, merged
from fairlead.levels.queue.preemption.victim_search import ASKING, VictimSearch
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

    def __init__(
        self,
        state: State,
        fits: Fits | None,
        running: RunningTable,
        patience: int,
        budget: int | None = None,
        elastic: int | None = None,
    ) -> None:
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
        self.budget = budget
        self.spent = 0
        """Candidates looked at: groups of running replicas, once for each question about them."""
        self.cursor: frozenset[str] = frozenset()
        """Jobs that were tried, while others are left for which the budget did not last."""
        self.elastic = elastic
        """Replicas that may still be evicted for others that are above a gang; None: as many as it takes."""
        self._vain: dict[Hashable, int] = {}
        """The kinds of jobs for which no room could be made, each with the job that was tried."""
        self.losers: set[int] = set()
        """Jobs that lost replicas."""
        self.untried: set[int] = set()
        """Jobs for which the budget did not last."""
        self.outvoted: set[int] = set()
        """Jobs for which room could be made, but the allocation would not become better."""

    def run(self, blocks: dict[int, Block], tried: Collection[str] = ()) -> list[int]:
        """Try every blocked job that was not tried before, in order; those that gained something.

        With a budget at least one is tried, so the search comes to its end after some decisions. Where all were tried
        before, it begins again.
        """
        state, jobs = self.state, self.state.world.jobs
        waiting = [job for job in blocks if jobs.preempts[job] and (self.elastic != 0 or not state.members.ready(job))]
        before = {job for job in waiting if jobs.names[job] in tried}
        if len(before) == len(waiting):
            before = set()
        order = [self._key(job) for job in waiting if job not in before]
        heapify(order)
        started: dict[int, None] = {}
        while order:
            if self.spent and self.budget is not None and self.spent >= self.budget:
                self.cursor = frozenset(jobs.names[each] for each in before)
                self.untried = {int(key[-1]) for key in order} - before
                break
            job = int(order[0][-1])
            if (key := self._key(job)) > order[0]:
                heapreplace(order, key)
                continue
            heappop(order)
            before.add(job)
            if self._may(job) and self._tried(job):
                started[job] = None
                # What is above a gang has a later turn where evictions are bounded: those of one job go together.
                if state.members.pending(job) and (self.elastic is None or not blocks[job].gang):
                    heappush(order, self._key(job))
        return list(started)

    def _key(self, job: int) -> tuple[int | Fraction, ...]:
        """The place of a job: that of the grants; among those that are ready the worst served queue, then namespace."""
        state = self.state
        first, ready, *rest = state.job_key(job)
        if not ready:
            return first, ready, *rest
        queue, pair = state.queue_of[job], state.pair_of[job]
        share = state.queue_measures[queue].share(state.ledger.used[queue])
        return first, ready, share, state.pair_measures[pair].share(state.pair_used[pair]), *rest

    def _may(self, job: int) -> bool:
        """Whether the job may evict. One that lost replicas in this pass takes none for those above its gang."""
        return not self.state.members.ready(job) or (self.elastic != 0 and job not in self.losers)

    def _tried(self, job: int) -> bool:
        """Whether evictions make room for the job. No search is made for one that is like a job without victims."""
        like = self._like(job)
        if like in self._vain:
            self.outvoted |= {job} if self._vain[like] in self.outvoted else set()
            return False
        found = self._ever(job) and self._attempt(job)
        if found:
            self._vain.clear()
        elif like is not None:
            self._vain[like] = job
        return found

    def _like(self, job: int) -> Hashable:
        """Equal for jobs that get the same answer; None where that cannot be told: one that holds a part of its gang
        would be asked for its own replicas by others."""
        state, members = self.state, self.state.members
        step = members.step(job)
        used = tuple(state.job_used[job])
        if step is None or (any(used) and not members.ready(job)):
            return None
        if self.fits is None:
            kinds: tuple[Hashable, ...] = ()
        elif isinstance(self.fits, Kinds):
            kinds = tuple((self.fits.kind(role), count) for role, count in step.roles)
        else:
            return None
        where = state.queue_of[job], state.pair_of[job], int(state.world.jobs.priority[job])
        return where, used, step.size, tuple(step.use), tuple(step.need), kinds

    def _ever(self, job: int) -> bool:
        """Whether evictions could help at all: every role of the next step might find a node if all were empty."""
        step = self.state.members.step(job)
        if step is None or not isinstance(self.fits, Emptied):
            return True
        return all(self.fits.ever(role) for role, _ in step.roles)

    def claim(self, job: int) -> Claim:
        """What the job wants now."""
        state, queue = self.state, self.state.queue_of[job]
        step = state.members.step(job)
        assert step is not None  # a blocked job has pending replicas
        elastic = state.members.ready(job)
        return Claim(job, queue, int(state.world.jobs.priority[job]), step, self._lacking(queue, step), elastic)

    def _attempt(self, job: int) -> bool:
        state, claim = self.state, self.claim(job)
        queue = claim.queue
        self.spent += len(self.groups)
        limits = votes(state, claim, self.groups, self.allowed)
        if claim.elastic:
            limits = [0 if group.job in self.gains else limit for group, limit in zip(self.groups, limits, strict=True)]
        standing = self._standing(claim)
        inside = [limit if state.queue_of[g.job] == queue else 0 for g, limit in zip(self.groups, limits, strict=True)]
        outside = [limit - mine for limit, mine in zip(limits, inside, strict=True)]
        for scope in _scopes(claim, inside, outside, limits):
            choices, complete = self._choices(claim, scope) if self._hopeful(claim, scope, standing) else ([], True)
            for chosen in chain(choices, self._rights_kept(claim, scope) if choices else ()):
                change = self._change(claim, chosen)
                gain = standing.gain(change)
                if standing.better(change, job) and gain is not None and not (claim.elastic and gain.part in INSIDE):
                    self.gains[job] = gain
                    self._carry_out(claim, chosen)
                    self.unsearched.extend(() if complete else (job,))
                    return True
                self.outvoted.add(job)
        return False

    def _hopeful(self, claim: Claim, limits: list[int], standing: AllocationView) -> bool:
        """Whether there would be room in sum if all went whose loss can be fair; if not, no choice has to be tried."""
        fair: dict[int, bool] = {}
        going: list[tuple[VictimGroup, int]] = []
        for group, limit in zip(self.groups, limits, strict=True):
            if limit:
                if group.priority >= claim.priority and group.job not in fair:
                    fair[group.job] = standing.may_lose(claim.job, group.job)
                if group.priority < claim.priority or fair[group.job]:
                    going.append((group, limit))
        return any(limits) and self.room_without(claim, going)

    def room_without(self, claim: Claim, going: Iterable[tuple[VictimGroup, int]]) -> bool:
        """Whether there would be room in sum if these went."""
        moves = _by_role(going)
        self._count(moves, -1)
        room = self.state.ledger.lack(claim.queue, claim.step.need) is None
        self._count(moves, 1)
        return room

    def _lacking(self, queue: int, step: GangStep) -> tuple[int, ...]:
        """The resources that are short in sum; where none is (a queue's bound, or nodes), all that are needed."""
        needed = [resource for resource, amount in enumerate(step.need) if amount]
        short = []
        for resource in needed:
            lack = self.state.ledger.lack(queue, [n if r == resource else 0 for r, n in enumerate(step.need)])
            if lack is not None:
                short.append(resource)
        return tuple(short or needed)

    def _standing(self, claim: Claim) -> AllocationView:
        """What all jobs hold in replicas of the claimant's priority and above."""
        held: dict[int, list[int]] = {}
        requests = self.state.members.requests
        for group in self.groups:
            if group.priority >= claim.priority and group.count:
                sums = held.setdefault(group.job, [0] * len(requests[group.role]))
                for resource, amount in enumerate(requests[group.role]):
                    sums[resource] += amount * group.count
        return AllocationView(self.state, held, claim.lacking)

    def _choices(self, claim: Claim, limits: list[int]) -> tuple[list[list[Bite]], bool]:
        """Choices that make room, the cheapest first: the one that a search finds, then those found in two orders.

        The cheapest has the lowest top priority, then the fewest running replicas, then the fewest replicas; that is
        sure where the second value is True.
        """
        candidates = Candidates(self.state, claim, self.groups, limits, self.allowed)
        tried = [self._enough(claim, candidates.bites(largest=largest)) for largest in (False, True)]
        found = [choice for choice in tried if choice is not None]
        excess = self.state.ledger.excess(claim.queue, claim.step.need)
        search = VictimSearch(candidates, lambda bites: self._fits(claim, bites), excess, self._patience())
        best, complete = search.run(found)
        self.patience -= search.moved
        others = sorted((choice for choice in found if choice is not best), key=cost)
        return ([best, *others] if best is not None else []), complete

    def _rights_kept(self, claim: Claim, limits: list[int]) -> Iterator[list[Bite]]:
        """A choice that leaves every other queue its right: for a queue that is short it is always better."""
        candidates = Candidates(self.state, claim, self.groups, limits, self.allowed)
        found = self._enough(claim, candidates.bites(rights_kept=True))
        if found is not None:
            yield found

    def _patience(self) -> int:
        """What is left for the search for the fewest."""
        return self.patience if self.budget is None else max(0, min(self.patience, self.budget - self.spent))

    def _enough(self, claim: Claim, source: Iterator[Bite]) -> list[Bite] | None:
        """The shortest beginning that makes room, trimmed: without any part of it the gang would not fit."""
        low, high = 0, 1
        bites = list(islice(source, high))
        while not self._fits(claim, bites):
            bites += islice(source, high)
            if len(bites) <= high:
                return None
            low, high = high, len(bites)
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
        self.spent += sum(len(spots) for _, spots in moves.values())
        self._count(moves, -1)
        fits = self.state.ledger.lack(claim.queue, claim.step.need) is None
        self._count(moves, 1)
        if not fits or self.fits is None:
            return fits
        self.spent += ASKING
        for role, (_, spots) in moves.items():
            self.fits.give(role, spots)
        placed = sum(self.fits.room(dict(claim.step.roles)).values())
        for role, (_, spots) in moves.items():
            self.fits.put(role, spots)
        return placed == claim.step.size

    def _count(self, moves: Moves, sign: int) -> None:
        """Take the replicas out of the ledger (sign −1), or put them back; it is told of a queue at once."""
        sums: dict[int, list[int]] = {}
        for role, (job, spots) in moves.items():
            count, request = sum(spots.values()), self.state.members.requests[role]
            use = sums.setdefault(self.state.queue_of[job], [0] * len(request))
            for resource, amount in enumerate(request):
                use[resource] += amount * count
        for queue, use in sums.items():
            self.state.ledger.add(queue, use, sign)

    def _change(self, claim: Claim, chosen: Sequence[Bite]) -> AllocationChange:
        """What the choice changes for replicas of the claimant's priority and above."""
        change = AllocationChange()
        change.add(claim.job, list(claim.step.use), claim.step.size)
        for bite in chosen:
            for group, count in bite.parts:
                if group.priority >= claim.priority:
                    use = [-amount * count for amount in self.state.members.requests[group.role]]
                    change.add(group.job, use, -count)
        return change

    def _carry_out(self, claim: Claim, chosen: Sequence[Bite]) -> None:
        """Evict, and grant the gang."""
        state = self.state
        if claim.elastic and self.elastic is not None:
            self.elastic -= sum(bite.count for bite in chosen)
        for bite in chosen:
            for group, count in bite.parts:
                use = [amount * count for amount in state.members.requests[group.role]]
                state.grant(group.job, step_of(((group.role, count),), use), -1)
                self.losers.add(group.job)
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
            # Started in room that victims left: not taken away again in the same pass.
            self.groups.extend(
                VictimGroup(FRESH, claim.job, role, node, n, claim.priority, (claim.priority,), preemptable=False)
                for node, n in nodes.items()
            )


def _scopes(claim: Claim, inside: list[int], outside: list[int], everybody: list[int]) -> Iterator[list[int]]:
    """Where victims are looked for: inside the queue, outside it, both; what is nobody or has been tried is left out.

    For a replica above a gang outside first: what its queue is short of would only be taken from others of the queue,
    who then take it outside.
    """
    if any(inside) and any(outside):
        yield from (outside, inside) if claim.elastic else (inside, outside)
    yield everybody


def _by_role(parts: Iterable[tuple[VictimGroup, int]]) -> Moves:
    """Everything that goes, role by role: nodes are told of a role at once, however many it is on."""
    moves: dict[int, tuple[int, dict[int, int]]] = {}
    for group, count in parts:
        spots = moves.setdefault(group.role, (group.job, {}))[1]
        spots[group.node] = spots.get(group.node, 0) + count
    return moves
