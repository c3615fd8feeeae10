"""What a job takes in one turn: the whole gang while it is not ready, one replica afterwards."""

from collections.abc import Container, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fairlead.levels.queue.grants.ledger import Sparse, sparse
from fairlead.levels.queue.grants.order import Vector
from fairlead.model.jobs import UNSET, JobTable


class GangStep(NamedTuple):
    """Replicas that are granted together: how many of which role, what they use, and what has to be free for them."""

    roles: tuple[tuple[int, int], ...]
    size: int
    """How many they are in all."""
    use: tuple[int, ...]
    need: tuple[int, ...]
    """`use`, or the minimum resources of the gang where those are more."""
    adds: Sparse
    """`use`, without what is 0."""
    asks: Sparse
    """`need`, without what is 0."""


def step_of(roles: tuple[tuple[int, int], ...], use: Vector, need: Vector | None = None) -> GangStep:
    """A step; without `need` no more has to be free than is used."""
    adds = sparse(use)
    asks = adds if need is None else sparse(need)
    return GangStep(
        roles, sum(count for _, count in roles), tuple(use), tuple(use if need is None else need), adds, asks
    )


class Members:
    """How many replicas of each role a job holds; the mutable part of a decision."""

    __slots__ = (
        "_floored",
        "_floors",
        "_known",
        "_least",
        "_minimums",
        "_one",
        "_only",
        "_roles",
        "held",
        "jobs",
        "replicas",
        "requests",
    )

    def __init__(self, jobs: JobTable) -> None:
        self.jobs = jobs
        self.held: list[int] = jobs.role_running.tolist()
        self.replicas: list[int] = jobs.role_replicas.tolist()
        self.requests: list[list[int]] = jobs.role_request.tolist()
        starts: list[int] = jobs.role_start.tolist()
        self._roles = [range(first, after) for first, after in pairwise(starts)]
        # Nearly every job has one role, and its turns come by the hundred thousand: they take a shorter way.
        self._only = [roles.start if len(roles) == 1 else UNSET for roles in self._roles]
        self._least: list[int] = jobs.min_member.tolist()
        self._floors: list[list[int]] = jobs.min_resources.tolist()
        self._floored = [any(floor) for floor in self._floors]
        self._minimums = self._role_minimums()
        self._one: dict[int, GangStep] = {}
        self._known: dict[tuple[int, ...], GangStep] = {}
        """Steps of jobs of one role, by how many replicas of what request: thousands of jobs are alike in that."""

    def _role_minimums(self) -> list[int]:
        """The minimum of each role; not asked for where the job's own minimum is less than their sum."""
        minimums: list[int] = self.jobs.role_minimum.tolist()
        for job, least in enumerate(self._least):
            if self._only[job] == UNSET and sum(minimums[role] for role in self._roles[job]) > least:
                for role in self._roles[job]:
                    minimums[role] = 0
        return minimums

    def roles(self, job: int) -> range:
        """The rows of the job's roles."""
        return self._roles[job]

    def minimum(self, job: int) -> int:
        """Replicas it starts with at least."""
        return self._least[job]

    def count(self, job: int) -> int:
        """Replicas it holds."""
        only = self._only[job]
        if only != UNSET:
            return self.held[only]
        return sum(self.held[role] for role in self._roles[job])

    def pending(self, job: int) -> int:
        """Replicas it still waits for."""
        only = self._only[job]
        if only != UNSET:
            return self.replicas[only] - self.held[only]
        return sum(self.replicas[role] - self.held[role] for role in self._roles[job])

    def missing(self, job: int) -> dict[int, int]:
        """Replicas of each role that the gang lacks: role minimums first, then roles in their order."""
        only = self._only[job]
        if only != UNSET:
            lack = min(self._least[job], self.replicas[only]) - self.held[only]
            return {only: lack} if lack > 0 else {}
        return self._lacks(job, self._pending(job))

    def _lacks(self, job: int, most: Mapping[int, int]) -> dict[int, int]:
        """What the gang lacks: role minimums, then no more of each role than this, in their order."""
        lacks = {role: max(0, self._minimums[role] - self.held[role]) for role in most}
        more = self._least[job] - self.count(job) - sum(lacks.values())
        for role, count in most.items():
            extra = min(more, count - lacks[role])
            if extra > 0:
                lacks[role] += extra
                more -= extra
        return {role: count for role, count in lacks.items() if count}

    def _pending(self, job: int) -> dict[int, int]:
        return {role: self.replicas[role] - self.held[role] for role in self._roles[job]}

    def widest(self, job: int) -> dict[int, int]:
        """Of each role as many replicas as the gang might start with; empty where it starts with all or with none."""
        lacks, pending = self.missing(job), self._pending(job)
        if self._only[job] != UNSET or lacks == {role: count for role, count in pending.items() if count}:
            return {}
        size = sum(lacks.values())
        return {role: min(count, size) for role, count in pending.items() if count}

    def other_step(self, job: int, room: Mapping[int, int]) -> GangStep | None:
        """The gang with no more of each role than nodes take; None where that is no gang."""
        lacks, size = self._lacks(job, room), sum(self.missing(job).values())
        if sum(lacks.values()) < size or any(count > room.get(role, 0) for role, count in lacks.items()):
            return None
        return self._gang_step(job, lacks)

    def take(self, job: int, count: int) -> dict[int, int]:
        """Count so many replicas more as held: what the gang lacks first, then roles in order. Which ones."""
        only = self._only[job]
        if only != UNSET:
            self.held[only] += count
            return {only: count}
        taken: dict[int, int] = {}
        for lacks in (self.missing(job), {role: self.replicas[role] for role in self._roles[job]}):
            for role, most in lacks.items():
                more = min(count, most, self.replicas[role] - self.held[role])
                self.held[role] += more
                count -= more
                if more:
                    taken[role] = taken.get(role, 0) + more
        return taken

    def lose(self, counts: Mapping[int, int]) -> None:
        """So many replicas of these roles are held no longer."""
        for role, count in counts.items():
            self.held[role] -= count

    def ready(self, job: int) -> bool:
        """Whether it holds its gang (a job whose minimum is 0 always does)."""
        only = self._only[job]
        return self.held[only] >= self._least[job] if only != UNSET else not self.missing(job)

    def possible(self, job: int) -> bool:
        """Whether it has as many replicas as its gang needs."""
        only = self._only[job]
        if only != UNSET:
            return self._least[job] <= self.replicas[only]
        whole = sum(self.replicas[role] for role in self._roles[job])
        return self._least[job] <= whole and all(
            self._minimums[role] <= self.replicas[role] for role in self._roles[job]
        )

    def step(self, job: int, closed: Container[int] = ()) -> GangStep | None:
        """The next step; None where nothing is pending. Roles of `closed` are passed over once the job is ready, or
        while any one replica would make it ready."""
        only = self._only[job]
        if only != UNSET and only not in closed and not self._floored[job]:
            held = self.held[only]
            if held < self._least[job]:
                return self._first(only, min(self._least[job], self.replicas[only]))
            return self._next(only) if held < self.replicas[only] else None
        if not self.ready(job):
            lacks = self.missing(job)
            if not (closed and self._any_one(job, lacks)):
                return self._gang_step(job, lacks)
        for role in self._roles[job]:
            if self.held[role] < self.replicas[role] and role not in closed:
                return self._next(role)
        return None

    def _gang_step(self, job: int, lacks: Mapping[int, int]) -> GangStep:
        use = self.amounts(lacks)
        return step_of(tuple(lacks.items()), use, self._need(job, use))

    def _next(self, role: int) -> GangStep:
        """One replica of a role."""
        step = self._one.get(role)
        if step is None:
            step = self._one[role] = self._step(role, 1)
        return step

    def _first(self, role: int, least: int) -> GangStep:
        """What the gang of a job of one role lacks of so many."""
        return self._step(role, max(least - self.held[role], 0))

    def _step(self, role: int, count: int) -> GangStep:
        """So many replicas of a role."""
        roles = ((role, count),) if count else ()
        kind = count, *self.requests[role]
        known = self._known.get(kind)
        if known is None:
            known = self._known[kind] = step_of(roles, self.amounts(dict(roles)))
        return GangStep(roles, known.size, known.use, known.need, known.adds, known.asks)

    def _any_one(self, job: int, lacks: Mapping[int, int]) -> bool:
        """Whether the job lacks one replica, and one of any role will do."""
        return sum(lacks.values()) == 1 and not self._floored[job] and not any(self._minimums[each] for each in lacks)

    def _need(self, job: int, use: list[int]) -> Vector | None:
        """What has to be free for the gang: no less than what is missing of its minimum resources; None: its use."""
        if not self._floored[job]:
            return None
        floor = self._floors[job]
        return [max(ask, least - held) for ask, least, held in zip(use, floor, self.used(job), strict=True)]

    def amounts(self, counts: Mapping[int, int]) -> list[int]:
        """What so many replicas of these roles use."""
        if len(counts) == 1:
            ((role, count),) = counts.items()
            return [amount * count for amount in self.requests[role]]
        sums = [0] * len(self.jobs.resources)
        for role, count in counts.items():
            for resource, amount in enumerate(self.requests[role]):
                sums[resource] += amount * count
        return sums

    def rest(self, job: int) -> list[int]:
        """What has to be free for all replicas that it waits for."""
        use = self.amounts({role: self.replicas[role] - self.held[role] for role in self._roles[job]})
        return use if self.ready(job) else list(self._need(job, use) or use)

    def least_rest(self, jobs: Sequence[int]) -> list[int]:
        """What all replicas that these jobs wait for use, without what has to be free beyond that."""
        roles = [role for job in jobs for role in self._roles[job]]
        lacks = [self.replicas[role] - self.held[role] for role in roles]
        total: list[int] = (self.jobs.role_request[roles] * np.array(lacks)[:, None]).sum(axis=0).tolist()
        return total

    def used(self, job: int) -> list[int]:
        """What the job uses."""
        return self.amounts({role: self.held[role] for role in self._roles[job]})

    def within(self, job: int, left: Vector) -> bool:
        """Whether the next step surely needs no more than is left; False for jobs that it is not easily told of."""
        only = self._only[job]
        if only == UNSET or self._floored[job]:
            return False
        count = max(self._least[job] - self.held[only], 1)
        for amount, most in zip(self.requests[only], left, strict=True):
            if amount and amount * count > most:
                return False
        return True
