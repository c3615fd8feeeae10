"""Many turns at once: how far every job surely gets before anybody can be refused.

Queues are served in the order of their shares, so after some turns all stand at one level, and the same holds for the
namespaces of a queue and the jobs of a namespace. A level is looked for that nobody reaches without fitting, taking the
most that queues may use at it; then every job is given the least that it surely has there. The turns that are
left lead from that state to the same end, because each of them would have come before that level anyway.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fairlead.levels.queue.bounds import SAFE, Loose, Tight
from fairlead.levels.queue.path import Floats, Lines, Waiting
from fairlead.levels.queue.state import JobKey, State
from fairlead.model.columns import Bool, Int
from fairlead.model.jobs import UNSET

_TURNS = 16
"""Halvings of the whole interval of levels."""
_TIGHT_TURNS = 7
"""Halvings of what loose bounds leave open."""
_SLACKS = 4.0
"""How many replicas of every job the loose bounds may be off, at most."""


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
        self.bounds, self.turns = Loose(self.lines, self.waiting), _TURNS
        self.top = np.zeros(len(self.queues))
        """By queue: a level that no namespace of it reaches."""
        np.maximum.at(self.top, self.queue_of, self.lines.top * (1.0 + 1e-6) + 1e-9)
        self.low, self.high = np.zeros_like(self.top), self.top
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
        return self._queue_sums(self.bounds.above(levels[self.queue_of]))

    def _below(self, levels: Floats) -> Floats:
        """The least each queue surely uses then."""
        return self._queue_sums(self.bounds.below(levels[self.queue_of]))

    def _search(self, holds: Callable[[Floats], Bool], turns: int) -> tuple[Floats, Floats]:
        """For each queue the last level at which `holds`, and the first at which it does not, by halving."""
        low, high = self.low, self.high
        for _ in range(turns):
            middle = (low + high) / 2.0
            good = holds(middle)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return low, high

    def _reached(self, share: float) -> Floats:
        """Levels at which every queue surely has come to this share, or is at its end."""
        return self._search(lambda levels: self._shares(self._below(levels)) < share / SAFE, self.turns)[1]

    def _fits(self, share: float) -> bool:
        """Whether everything fits when every queue has come to this share."""
        high = self._reached(share)
        full = self._queue_sums(self.lines.at[self.lines.last])
        most = np.where((high >= self.top)[:, None], full, self._above(high))
        bound = np.maximum(self.most[self.queues], self.used[self.queues])
        # Where a queue refuses some of its jobs, the others go further than they would have: only bounds hold then.
        refuses = (most > self.most[self.queues]).any(axis=1)[:, None]
        limited = np.isfinite(self.by)
        reachable = np.maximum(share / SAFE - self.offset, 0.0) * np.where(limited, self.by, 0.0) + self.largest
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
        full = self._queue_sums(self.lines.at[self.lines.last])
        highest = float(self._shares(full).max()) * (1.0 + 1e-6) + 1e-9
        if self._fits(highest) and not (full > self.most[self.queues]).any():
            return self._gains(self.waiting.replicas)
        share = self._highest(0.0, highest)
        beyond = min(highest, share + _SLACKS * self._slack())
        # The tight bounds need few halvings, between what the loose ones leave open.
        self.low, self.high = self._levels(share), self._reached(beyond)
        self.bounds, self.turns = Tight(self.lines, self.waiting, self.start), _TIGHT_TURNS
        levels = self._levels(self._highest(share, beyond))
        return self._gains(self.bounds.counts(levels[self.queue_of]))

    def _highest(self, low: float, high: float) -> float:
        """The highest share found by halving at which everything fits; `low` is known to."""
        for _ in range(self.turns):
            middle = (low + high) / 2.0
            low, high = (middle, high) if self._fits(middle) else (low, middle)
        return low

    def _slack(self) -> float:
        """The most that one replica of every job adds to the share of a queue."""
        amounts = np.add.reduceat(self.lines.slack, self.first, axis=0)
        return float((amounts / self.by).max())

    def _levels(self, share: float) -> Floats:
        """The level that the namespaces of each queue surely come to before its share comes to `share`."""
        most = self.most[self.queues]

        def holds(levels: Floats) -> Bool:
            amounts = self._above(levels)
            within: Bool = (self._shares(amounts) < share * SAFE) & (amounts <= most).all(axis=1)
            return within

        return self._search(holds, self.turns)[0]

    def _gains(self, counts: Int) -> dict[int, int]:
        """What jobs get so that they hold these counts."""
        gains = counts - self.waiting.count
        rows = np.flatnonzero(gains > 0)
        return dict(zip(self.waiting.job[rows].tolist(), gains[rows].tolist(), strict=True))
