"""The loop: queue first in order, its namespace first in order, its job first in order takes one step; again.

The order is refreshed after every step. A step that does not fit ends the job's turns: room only shrinks while grants
are made, so it would not fit later either. One replica that no node takes closes its role alone: replicas that must be
on demand do not keep those back that may run elsewhere (docs/decisions/0284).
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heapreplace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fairlead.levels.queue.bulk.leap import Leap
from fairlead.levels.queue.fits import AnyOrder, Fits
from fairlead.levels.queue.grants.gang import GangStep
from fairlead.levels.queue.grants.ledger import Lack, QueueLedger, Sparse
from fairlead.levels.queue.grants.order import Turn
from fairlead.levels.queue.state import JobKey, State
from fairlead.model.order import natural_rank

LEAP_COST = 3000
"""A leap costs about as much as so many single turns …"""
LEAP_COST_EACH = 2
"""… and so many more for each job that waits."""


class Block(NamedTuple):
    """Why a job got no further: the step that failed, and where; `lack` None means the nodes."""

    step: GangStep
    lack: Lack | None
    placeable: int = 0
    """Replicas of the step that nodes would take."""
    gang: bool = True
    """Whether the job is not ready."""


class _Once:
    """Questions to a ledger that does not change meanwhile: what is asked for thousands of alike jobs is asked once."""

    def __init__(self, ledger: QueueLedger) -> None:
        self._ledger = ledger
        self._left: dict[int, list[int]] = {}
        self._short: dict[tuple[int, Sparse], Lack | None] = {}

    def left(self, queue: int) -> list[int]:
        """See `QueueLedger.left`."""
        if queue not in self._left:
            self._left[queue] = self._ledger.left(queue)
        return self._left[queue]

    def short(self, queue: int, wanted: Sparse) -> Lack | None:
        """See `QueueLedger.short`."""
        asked = queue, wanted
        if asked not in self._short:
            self._short[asked] = self._ledger.short(queue, wanted)
        return self._short[asked]


class Loop:
    """The order as heaps: one of queues below every parent, one of namespaces in every queue, one of jobs in each."""

    def __init__(self, state: State, jobs: Iterable[int], fits: Fits | None = None, bulk: bool = False) -> None:
        self.state = state
        self.fits = fits
        self.bulk = bulk
        self.blocked: dict[int, Block] = {}
        self.closed: set[int] = set()
        """Roles of which no node takes one more replica."""
        world = state.world
        keys, ranks = list(world.pairs), natural_rank(world.namespaces.names).tolist()
        self.rank_of = [ranks[namespace] for _, namespace in keys]
        self.queue_of = [queue for queue, _ in keys]
        self.patience = 0
        self._fill(jobs)

    def _fill(self, jobs: Iterable[int]) -> None:
        """The heaps for these jobs. One whose step does not fit now is blocked now: room never grows."""
        state, tree = self.state, self.state.world.tree
        self.jobs: dict[int, list[JobKey]] = {}
        ask = _Once(state.ledger)
        for job in jobs:
            if state.members.pending(job) and not self._stopped(job, ask):
                self.jobs.setdefault(state.pair_of[job], []).append(state.job_key(job))
        self.pairs: dict[int, list[Turn]] = {}
        for pair, heap in self.jobs.items():
            heapify(heap)
            self.pairs.setdefault(self.queue_of[pair], []).append(state.pair_turn(pair, self.rank_of[pair]))
        below: dict[int, set[int]] = {}
        for queue, turns in self.pairs.items():
            heapify(turns)
            for row in tree.path(queue)[:-1]:
                below.setdefault(tree.parent[row], set()).add(row)
        self.queues = {parent: [state.queue_turn(row) for row in rows] for parent, rows in below.items()}
        for siblings in self.queues.values():
            heapify(siblings)

    def _stopped(self, job: int, ask: "_Once") -> bool:
        """Whether the next step finds no room in sum; if so the job is blocked."""
        left = ask.left(self.state.queue_of[job])
        return not self.state.members.within(job, left) and self._step(job, ask.short) is None

    def _step(self, job: int, short: Callable[[int, Sparse], Lack | None] | None = None) -> GangStep | None:
        """The next step if it finds room in sum; otherwise None, and the job is blocked. `short` asks the ledger."""
        step = self.state.members.step(job, self.closed)
        if step is None:
            return None  # all that is pending is closed, and the job is blocked for the first of it
        lack = (short or self.state.ledger.short)(self.state.queue_of[job], step.asks)
        if lack is None:
            return step
        self.blocked.setdefault(job, Block(step, lack, gang=not self.state.members.ready(job)))
        return None

    def run(self) -> dict[int, Block]:
        """Every job takes its steps in turn until it has all or is blocked; the blocks, by job."""
        if self._grant_everything():
            return self.blocked
        whole = self.state.world.tree.whole
        turns = 0
        while self.queues.get(whole):
            if turns >= self.patience:
                self._leap()
                turns = 0
                continue
            self.turn()
            turns += 1
        return self.blocked

    def _grant_everything(self) -> bool:
        """Grant all that is pending where there is room for it in sum, and no node is asked: no order matters then."""
        if self.fits is not None:
            return False
        members, left = self.state.members, [self.state.ledger.left(queue) for queue in self.pairs]
        room = [min(each) for each in zip(*left, strict=True)]
        waiting = [key[-1] for heap in self.jobs.values() for key in heap]
        if waiting and any(most < ask for most, ask in zip(room, members.least_rest(waiting), strict=True)):
            return False
        for job in waiting:
            room = [most - amount for most, amount in zip(room, members.rest(job), strict=True)]
            if any(most < 0 for most in room):
                return False
        self.state.grant_all({job: members.pending(job) for job in waiting})
        return True

    def _leap(self) -> None:
        """Many turns at once, where that saves work; afterwards so many single turns before the next attempt.

        Where nodes say how many replicas they take in whatever order, that bounds the leap, and the end is that of
        single turns. Where the order matters there is no leap but in `bulk`: it goes as far as sums let it, nodes take
        of it what fits, and single turns go on with the rest (docs/decisions/0380).
        """
        waiting = [key[-1] for heap in self.jobs.values() for key in heap]
        cost = LEAP_COST + LEAP_COST_EACH * len(waiting)
        self.patience = max(2 * self.patience, cost, 1)
        if self._possible(waiting) < cost:
            return
        places = self._places(waiting)
        if self.fits is not None and places is None and not self.bulk:
            return
        gains = Leap(self.state, self.jobs, places).counts()
        if gains:
            granted = self.state.grant_all(gains, self.fits)
            self._fill(waiting)
            if granted > cost:
                self.patience = max(cost // 4, 1)

    def _possible(self, waiting: list[int]) -> int:
        """No more replicas than this can still be granted: those that wait, or as many of the smallest as find room."""
        state, jobs = self.state, self.state.world.jobs
        bound = sum(map(state.members.pending, waiting))
        if bound < LEAP_COST:
            return bound  # too few to leap for
        least = jobs.role_request[np.isin(jobs.role_job, waiting)].min(axis=0).tolist()
        whole = state.world.tree.whole
        for ask, most, inside in zip(least, state.ledger.most[whole], state.ledger.inside[whole], strict=True):
            if ask:
                bound = min(bound, (most - inside) // ask + 1)
        return bound

    def _places(self, waiting: list[int]) -> int | None:
        """How many of all these replicas nodes take in whatever order they come; None where the order matters."""
        if self.closed or not isinstance(self.fits, AnyOrder):
            return None
        members = self.state.members
        roles = {role: members.replicas[role] - members.held[role] for job in waiting for role in members.roles(job)}
        return self.fits.places({role: count for role, count in roles.items() if count})

    def turn(self) -> None:
        """One turn: the job first in order takes a step or is blocked."""
        queue = self.state.world.tree.whole
        while queue in self.queues:
            queue = self.queues[queue][0][-1]
        pair = self.pairs[queue][0][-1]
        job = self.jobs[pair][0][-1]
        granted = self._attempt(job)
        heap = self.jobs[pair]
        if granted and self.state.members.pending(job):
            heapreplace(heap, self.state.job_key(job))
        else:
            heappop(heap)
        self._refresh(queue, pair, granted)

    def _attempt(self, job: int) -> bool:
        """Grant the next step of the job, or say what stops it."""
        state = self.state
        while (step := self._step(job)) is not None:
            if self.fits is None:
                state.grant(job, step)
                return True
            placeable = sum(self.fits.room(dict(step.roles)).values())
            if placeable >= step.size:
                state.place(job, step, self.fits)
                return True
            other = self._otherwise(job, self.fits) if step.size > 1 else None
            if other is not None:
                state.place(job, other, self.fits)
                return True
            self.blocked.setdefault(job, Block(step, None, placeable, not state.members.ready(job)))
            role, _ = step.roles[0]
            if step.size > 1 or role in self.closed:
                return False
            self.closed.add(role)
        return False

    def _otherwise(self, job: int, fits: Fits) -> GangStep | None:
        """The gang with more of those roles that nodes do take (docs/decisions/0470)."""
        members, ledger = self.state.members, self.state.ledger
        widest = members.widest(job)
        step = members.other_step(job, fits.room(widest)) if widest else None
        if step is None or ledger.short(self.state.queue_of[job], step.asks) is not None:
            return None
        return step if sum(fits.room(dict(step.roles)).values()) == step.size else None

    def _refresh(self, queue: int, pair: int, granted: bool) -> None:
        """Put the pair and every queue above it back where they now belong, or out where nothing waits in them.

        One that is alone is next wherever it belongs.
        """
        turns = self.pairs[queue]
        if not self.jobs[pair]:
            del self.jobs[pair]
            heappop(turns)
        elif not granted:
            return
        elif len(turns) > 1:
            heapreplace(turns, self.state.pair_turn(pair, self.rank_of[pair]))
        empty = not turns
        if empty:
            del self.pairs[queue]
        path = self.state.ledger.paths[queue]
        for row, parent in pairwise(path):
            siblings = self.queues[parent]
            if empty:
                heappop(siblings)
                empty = not siblings
                if empty:
                    del self.queues[parent]
            elif len(siblings) > 1:
                heapreplace(siblings, self.state.queue_turn(row))


def run(state: State, jobs: list[int], fits: Fits | None = None, bulk: bool = False) -> dict[int, Block]:
    """Grant to these jobs all that fits, in order; why each of the others got no further."""
    return Loop(state, jobs, fits, bulk).run()
