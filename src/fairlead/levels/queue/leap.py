"""Many turns at once: how far every job surely gets before anybody can be refused.

Queues are served in the order of their shares, so after some turns all stand at one level, and the same holds for the
namespaces of a queue and the jobs of a namespace. A level is looked for that nobody reaches without fitting, taking the
most that queues may use at it; then every job is given the least that it surely has there. The turns that are
left lead from that state to the same end, because each of them would have come before that level anyway.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fairlead.levels.queue.path import Floats, Lines, Waiting
from fairlead.levels.queue.state import JobKey, State
from fairlead.model.columns import Bool
from fairlead.model.jobs import UNSET

_TURNS = 20
"""Halvings of an interval of levels: as fine as one replica in a million."""
_SAFE = 1.0 - 1e-9
"""Rounding in floating point stays within this."""


class Leap:
    """One leap over flat queues. `heaps` hold the jobs that wait, by pair of queue and namespace."""

    def __init__(self, state: State, heaps: Mapping[int, Sequence[JobKey]]) -> None:
        self.state = state
        world = state.world
        keys = list(world.pairs)
        odd = {keys[pair][0] for pair, heap in heaps.items() if any(self._odd(key[-1]) for key in heap)}
        self.pairs = sorted((pair for pair in heaps if keys[pair][0] not in odd), key=lambda pair: keys[pair][0])
        self.queues, self.queue_of = np.unique([keys[pair][0] for pair in self.pairs], return_inverse=True)
        self.first = np.searchsorted(self.queue_of, np.arange(len(self.queues)))
        if not self.pairs:
            return
        self.waiting = self._waiting(heaps)
        self.whole = np.array(world.whole, dtype=float)
        self.used = np.array(state.ledger.used, dtype=float)
        self._measures()
        counted = np.isin(np.arange(len(self.whole)), world.counted)
        weights = world.namespaces.weight[[keys[pair][1] for pair in self.pairs]]
        self.start = np.array([state.pair_used[pair] for pair in self.pairs], dtype=float)
        self.lines = Lines(
            self.waiting,
            self.start,
            np.where(counted, self.whole, 0.0) * weights[:, None],
            np.array([state.past[pair] or [0] * len(self.whole) for pair in self.pairs], dtype=float),
        )
        self.rest = self._rest(heaps, odd)
        steps = self.waiting.request * np.maximum(self.waiting.gang, 1)[:, None]
        self.largest = np.zeros((len(self.queues), len(self.whole)))
        """By queue: the most that one turn adds."""
        np.maximum.at(self.largest, self.queue_of[self.waiting.pair], steps)

    def _odd(self, job: int) -> bool:
        """Roles that ask for different amounts, minimum resources and jobs without a share: their turns come singly."""
        members = self.state.members
        request = members.requests[members.roles(job).start]
        if any(members.requests[role] != request for role in members.roles(job)):
            return True
        if any(members.floor(job)) and not members.ready(job):
            return True
        return not any(request[resource] for resource, _ in self.state.factors)

    def _waiting(self, heaps: Mapping[int, Sequence[JobKey]]) -> Waiting:
        members = self.state.members
        rows: list[tuple[int, int, int]] = []
        for place, pair in enumerate(self.pairs):
            rows.extend((key[-1], place, key[0]) for key in sorted(heaps[pair]))
        job, pair_row, priority = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
        role = self.state.world.jobs.role_start[job]
        lacks = [0 if members.ready(row) else sum(members.missing(row).values()) for row in job.tolist()]
        new = np.ones(len(job), dtype=np.int64)
        new[1:] = (pair_row[1:] != pair_row[:-1]) | (priority[1:] != priority[:-1])
        request = self.state.world.jobs.role_request[role].astype(float)
        whole = np.array(self.state.world.whole, dtype=float)
        counted = [r for r in self.state.world.counted if whole[r]]
        return Waiting(
            job=job,
            pair=pair_row,
            group=np.cumsum(new),
            count=np.array([members.count(row) for row in job.tolist()], dtype=np.int64),
            gang=np.array(lacks, dtype=np.int64),
            replicas=self.state.world.jobs.replicas[job],
            request=request,
            rise=(request[:, counted] / whole[counted]).max(axis=1, initial=0.0),
        )

    def _measures(self) -> None:
        """What the share of a queue is measured by, as in `order`: what it deserves, else the whole by weight."""
        world = self.state.world
        counted = np.isin(np.arange(len(self.whole)), world.counted)
        deserved = np.array([[float(amount) for amount in row] for row in world.deserved])[self.queues]
        spare = self.whole * world.queues.weight[self.queues][:, None]
        self.by = np.where(deserved > 0, deserved, spare)
        self.by = np.where(counted & (self.by > 0), self.by, np.inf)
        self.offset = np.where(deserved > 0, 0.0, 1.0)
        self.least = np.where((deserved > 0)[:, counted].any(axis=1), 0.0, 1.0)
        most = np.array(self.state.ledger.most, dtype=float)
        self.most = np.where(most == UNSET, np.inf, most)
        self.guarantee = np.array(self.state.ledger.guarantee, dtype=float)

    def _rest(self, heaps: Mapping[int, Sequence[JobKey]], odd: set[int]) -> Floats:
        """The most that those who do not leap may come to keep: odd queues everything they ask for."""
        kept = np.maximum(self.used[:-1], self.guarantee[:-1])
        keys = list(self.state.world.pairs)
        members = self.state.members
        for pair, heap in heaps.items():
            queue = keys[pair][0]
            if queue in odd:
                for key in heap:
                    for role in members.roles(key[-1]):
                        more = members.replicas[role] - members.held[role]
                        kept[queue] += more * self.state.world.jobs.role_request[role]
        kept = np.minimum(kept, np.maximum(self.most[:-1], self.used[:-1]))
        outside = self.used[-1] - self.used[:-1].sum(axis=0)
        others: Floats = outside + np.delete(kept, self.queues, axis=0).sum(axis=0)
        return others

    def _queue_sums(self, usage: Floats) -> Floats:
        """Usage of the pairs as usage of the queues."""
        sums: Floats = np.add.reduceat(usage - self.start, self.first, axis=0) + self.used[self.queues]
        return sums

    def _shares(self, amounts: Floats) -> Floats:
        terms = np.where(amounts > 0, self.offset + amounts / self.by, 0.0)
        shares: Floats = np.maximum(terms.max(axis=1, initial=0.0), self.least)
        return shares

    def _above(self, levels: Floats) -> Floats:
        """The most each queue may use when its namespaces stand at a level."""
        _, usage = self.lines.reach(levels[self.queue_of], ahead=False)
        full = self.lines.at[self.lines.last]
        return self._queue_sums(np.minimum(usage + self.lines.slack + self.lines.step, full))

    def _below(self, levels: Floats) -> Floats:
        """The least each queue surely uses then."""
        return self._queue_sums(self.lines.reach(levels[self.queue_of], ahead=True)[1])

    def _search(self, holds: Callable[[Floats], Bool], high: Floats) -> tuple[Floats, Floats]:
        """For each queue the last level at which `holds`, and the first at which it does not, by halving."""
        low = np.zeros_like(high)
        for _ in range(_TURNS):
            middle = (low + high) / 2.0
            good = holds(middle)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return low, high

    def _fits(self, share: float) -> bool:
        """Whether everything fits when every queue has come to this share."""
        high = self._search(lambda levels: self._shares(self._below(levels)) < share / _SAFE, self.top)[1]
        full = self._queue_sums(self.lines.at[self.lines.last])
        most = np.where((high >= self.top)[:, None], full, self._above(high))
        bound = np.maximum(self.most[self.queues], self.used[self.queues])
        # Where a queue refuses some of its jobs, the others go further than they would have: only bounds hold then.
        refuses = (most > self.most[self.queues]).any(axis=1)[:, None]
        limited = np.isfinite(self.by)
        reachable = np.maximum(share / _SAFE - self.offset, 0.0) * np.where(limited, self.by, 0.0) + self.largest
        reachable = np.where(limited, reachable, np.inf)
        most = np.where(
            refuses, np.minimum(np.minimum(full, bound), np.maximum(reachable, self.used[self.queues])), most
        )
        kept = np.maximum(most, self.guarantee[self.queues]).sum(axis=0) + self.rest
        return bool((kept <= self.whole).all())

    def counts(self) -> dict[int, int]:
        """Replicas more for each job, so many that nobody is refused on the way there; empty where that is none."""
        if not self.pairs:
            return {}
        self.top = np.zeros(len(self.queues))
        full = self.lines.at[self.lines.last]
        np.maximum.at(self.top, self.queue_of, self.lines.top * (1.0 + 1e-6) + 1e-9)
        highest = float(self._shares(self._queue_sums(full)).max()) * (1.0 + 1e-6) + 1e-9
        low, high = 0.0, highest
        if self._fits(highest):
            low = highest
        else:
            for _ in range(_TURNS):
                middle = (low + high) / 2.0
                low, high = (middle, high) if self._fits(middle) else (low, middle)
        return self._gains(self._levels(low))

    def _levels(self, share: float) -> Floats:
        """The level that the namespaces of each queue surely come to before its share comes to `share`."""
        most = self.most[self.queues]

        def holds(levels: Floats) -> Bool:
            amounts = self._above(levels)
            within: Bool = (self._shares(amounts) < share * _SAFE) & (amounts <= most).all(axis=1)
            return within

        return self._search(holds, self.top)[0]

    def _gains(self, levels: Floats) -> dict[int, int]:
        """What the jobs have when their namespaces surely reach these levels."""
        lines, waiting = self.lines, self.waiting
        vertex, height = lines.surely(levels[self.queue_of] * _SAFE)
        reached = lines.group[vertex][waiting.pair]
        after = waiting.count + waiting.gang
        ready = lines.gang_vertex <= vertex[waiting.pair]
        levelled = np.floor(height[waiting.pair] * _SAFE / waiting.rise).astype(np.int64)
        counts = np.where(
            waiting.group < reached,
            waiting.replicas,
            np.where((waiting.group == reached) & ready, np.clip(levelled, after, waiting.replicas), waiting.count),
        )
        gains = counts - waiting.count
        rows = np.flatnonzero(gains > 0)
        return dict(zip(waiting.job[rows].tolist(), gains[rows].tolist(), strict=True))
