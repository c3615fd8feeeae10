"""What a preemption has to improve: an order on allocations alone, so that evictions can never go round in circles.

Only replicas of the preemptor's priority and above count; what is below may be taken from at will. Of two
allocations the better one has, in this order: the queues' shares more even from the bottom (a share above 1 counts as
1), then the smaller shortfalls of what is contended; the namespaces' weighted shares more even from the bottom; the
jobs' shares likewise; more replicas. "More even from the bottom" compares the sorted shares, lowest first; the first
difference decides.
Every grant makes an allocation better too, and there are finitely many allocations, so a fixed point is reached.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field
from fractions import Fraction

from fairlead.dataclass import dataclass
from fairlead.levels.queue.state import State

ONE = Fraction(1)
JOBS, REPLICAS = "jobs' shares", "replicas"
INSIDE = (JOBS, REPLICAS)
"""Parts of the order that decide only inside a namespace."""


@dataclass(slots=True)
class AllocationChange:
    """Amounts (and replicas) that jobs at or above one priority gain or lose."""

    by_job: dict[int, list[int]] = field(default_factory=dict)
    replicas: int = 0

    def add(self, job: int, amounts: list[int], replicas: int) -> None:
        """Count a gain; negative amounts are a loss."""
        sums = self.by_job.setdefault(job, [0] * len(amounts))
        for resource, amount in enumerate(amounts):
            sums[resource] += amount
        self.replicas += replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """The first part of the order in which two allocations differ, as it was before and after, lowest value first."""

    part: str
    before: tuple[Fraction, ...]
    after: tuple[Fraction, ...]

    @property
    def better(self) -> bool:
        """Whether the later allocation is the better one."""
        return self.after > self.before


class AllocationView:
    """The allocation of replicas of some priority and above: by queue, by namespace in a queue, by job."""

    def __init__(self, state: State, held: Mapping[int, list[int]], lacking: Collection[int]) -> None:
        """`held`: amounts by job; `lacking`: the resources that the preemptor cannot have without an eviction."""
        self.state = state
        self.lacking = lacking
        self.jobs = held
        self._may_lose: dict[tuple[int, ...], bool] = {}
        width = len(state.world.whole)
        self.pairs = [[0] * width for _ in state.world.pairs]
        self.queues = [[0] * width for _ in range(len(state.world.queues) + 1)]
        for job, amounts in held.items():
            _add(self.pairs[state.pair_of[job]], amounts)
        for (queue, _), pair in state.world.pairs.items():
            for row in state.ledger.paths.get(queue, ()):
                _add(self.queues[row], self.pairs[pair])

    def better(self, change: AllocationChange, winner: int) -> bool:
        """Whether the allocation after the change is better than the one before, and no mere swap of equals."""
        if not all(self._fair(change, winner, loser) for loser in change.by_job if loser != winner):
            return False
        gain = self.gain(change)
        return gain is not None and gain.better

    def may_lose(self, winner: int, loser: int) -> bool:
        """Whether the loser, of equal priority, could lose the least it can to the winner: nothing less than its gang
        where it holds no more than that. Jobs that hold the same in one place are asked about once.
        """
        state, members = self.state, self.state.members
        held = self.jobs.get(loser, [0] * len(state.world.whole))
        gang = members.count(loser) <= members.minimum(loser)
        like = winner, state.queue_of[loser], state.pair_of[loser], gang, *held
        if like not in self._may_lose:
            least = AllocationChange()
            if gang:
                least.add(loser, [-amount for amount in held], 0)
            self._may_lose[like] = self._fair(least, winner, loser)
        return self._may_lose[like]

    def gain(self, change: AllocationChange) -> Gain | None:
        """What the change alters first; None where it alters nothing that counts."""
        for part, before, after in self._tiers(change):
            if before != after:
                return Gain(part=part, before=tuple(before), after=tuple(after))
        return None

    def _fair(self, change: AllocationChange, winner: int, loser: int) -> bool:
        """Whether the loser, of equal priority, is still better off than the winner was, where the two part.

        Between queues: its branch is short of less of something that the winner lacks. Between namespaces of a queue:
        it has the higher weighted share. Inside a namespace: the job has.
        """
        state = self.state
        mine, theirs = state.ledger.paths[state.queue_of[winner]], state.ledger.paths[state.queue_of[loser]]
        if mine[0] != theirs[0]:
            common = next(row for row in mine if row in theirs)
            branch, other = mine[mine.index(common) - 1], theirs[theirs.index(common) - 1]
            keeps = self._after(change, self.queues[other], lambda job: other in _path(state, job))
            # A resource of which there is enough for all says nothing (docs/decisions/0246).
            counts = [r for r in state.world.contended[branch] if r in self.lacking] or self.lacking
            had = self.queues[branch]
            return any(self._short(keeps, other, r) < self._short(had, branch, r) for r in counts)
        pair, there = state.pair_of[winner], state.pair_of[loser]
        if pair != there:
            keeps = self._after(change, self.pairs[there], lambda job: state.pair_of[job] == there)
            return self._pair(keeps, there) > self._pair(self.pairs[pair], pair)
        zero = [0] * len(state.world.whole)
        keeps = self._after(change, self.jobs.get(loser, zero), lambda job: job == loser)
        return self._job(keeps) > self._job(self.jobs.get(winner, zero))

    def _after(self, change: AllocationChange, held: list[int], counts: Callable[[int], bool]) -> list[int]:
        """What is held after the change of those jobs that count."""
        result = held
        for job, amounts in change.by_job.items():
            if counts(job):
                result = _sum(result, amounts)
        return result

    def _tiers(self, change: AllocationChange) -> list[tuple[str, list[Fraction], list[Fraction]]]:
        """Before and after, tier by tier, sorted; what does not change cannot decide and is left out."""
        state = self.state
        queues: dict[int, list[int]] = {}
        pairs: dict[int, list[int]] = {}
        for job, amounts in change.by_job.items():
            _add(pairs.setdefault(state.pair_of[job], [0] * len(amounts)), amounts)
            for row in state.ledger.paths.get(state.queue_of[job], ())[:-1]:
                _add(queues.setdefault(row, [0] * len(amounts)), amounts)
        depths: dict[int, list[int]] = {}
        for row in queues:
            depths.setdefault(-len(state.ledger.paths[row]), []).append(row)
        tiers: list[tuple[str, list[Fraction], list[Fraction]]] = []
        for depth in sorted(depths, reverse=True):
            rows = depths[depth]
            both = [(self.queues[row], _sum(self.queues[row], queues[row]), row) for row in rows]
            shares = _sorted((self._queue(old, row), self._queue(new, row)) for old, new, row in both)
            short = _sorted((-self._deficit(old, row), -self._deficit(new, row)) for old, new, row in both)
            tiers += [("queues' shares", *shares), ("queues' shortfalls", *short)]
        held = _sorted(
            (self._pair(self.pairs[pair], pair), self._pair(_sum(self.pairs[pair], gain), pair))
            for pair, gain in pairs.items()
        )
        zero = [0] * len(state.world.whole)
        own = _sorted(
            (self._job(self.jobs.get(job, zero)), self._job(_sum(self.jobs.get(job, zero), gain)))
            for job, gain in change.by_job.items()
        )
        tiers += [("namespaces' shares", *held), (JOBS, *own)]
        tiers.append((REPLICAS, [Fraction(0)], [Fraction(change.replicas)]))
        return tiers

    def _queue(self, amounts: list[int], row: int) -> Fraction:
        return min(ONE, self.state.queue_measures[row].share(amounts))

    def _deficit(self, amounts: list[int], row: int) -> Fraction:
        """The largest part of the whole that the queue is short of, among the resources that are contended there."""
        return max((self._short(amounts, row, r) for r in self.state.world.contended[row]), default=Fraction(0))

    def _short(self, amounts: list[int], row: int, resource: int) -> Fraction:
        """The part of the whole of one resource that the queue is short of what it deserves."""
        world = self.state.world
        lack = max(Fraction(0), world.deserved[row][resource] - amounts[resource])
        return lack / world.whole[resource] if world.whole[resource] else Fraction(0)

    def _pair(self, amounts: list[int], pair: int) -> Fraction:
        return self.state.pair_measures[pair].share(amounts)

    def _job(self, amounts: list[int]) -> Fraction:
        factors = self.state.factors
        return Fraction(max((amounts[resource] * factor for resource, factor in factors), default=0), self.state.below)


def _path(state: State, job: int) -> tuple[int, ...]:
    return state.ledger.paths[state.queue_of[job]]


def _add(sums: list[int], amounts: list[int]) -> None:
    for resource, amount in enumerate(amounts):
        sums[resource] += amount


def _sum(first: list[int], second: list[int]) -> list[int]:
    return [one + other for one, other in zip(first, second, strict=True)]


def _sorted(both: Iterable[tuple[Fraction, Fraction]]) -> tuple[list[Fraction], list[Fraction]]:
    rows = list(both)
    return sorted(old for old, _ in rows), sorted(new for _, new in rows)
