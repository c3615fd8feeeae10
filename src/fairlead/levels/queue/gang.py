"""What a job takes in one turn: the whole gang while it is not ready, one replica afterwards."""

from dataclasses import dataclass
from itertools import pairwise

from fairlead.levels.queue.order import Vector
from fairlead.model.jobs import JobTable


@dataclass(frozen=True, slots=True)
class Step:
    """Replicas that are granted together: how many of which role, what they use, and what has to be free for them."""

    roles: tuple[tuple[int, int], ...]
    count: int
    use: Vector
    need: Vector
    """`use`, or the minimum resources of the gang where those are more."""


class Members:
    """How many replicas of each role a job holds; the mutable part of a decision."""

    __slots__ = ("_minimums", "_roles", "held", "jobs", "replicas", "requests")

    def __init__(self, jobs: JobTable) -> None:
        self.jobs = jobs
        self.held: list[int] = jobs.role_running.tolist()
        self.replicas: list[int] = jobs.role_replicas.tolist()
        self.requests: list[list[int]] = jobs.role_request.tolist()
        starts: list[int] = jobs.role_start.tolist()
        self._roles = [range(first, after) for first, after in pairwise(starts)]
        self._minimums = self._role_minimums()

    def _role_minimums(self) -> list[int]:
        """The minimum of each role; not asked for where the job's own minimum is less than their sum."""
        minimums: list[int] = self.jobs.role_minimum.tolist()
        for job, least in enumerate(self.jobs.min_member.tolist()):
            if sum(minimums[role] for role in self._roles[job]) > least:
                for role in self._roles[job]:
                    minimums[role] = 0
        return minimums

    def roles(self, job: int) -> range:
        """The rows of the job's roles."""
        return self._roles[job]

    def count(self, job: int) -> int:
        """Replicas it holds."""
        return sum(self.held[role] for role in self._roles[job])

    def pending(self, job: int) -> int:
        """Replicas it still waits for."""
        return sum(self.replicas[role] - self.held[role] for role in self._roles[job])

    def missing(self, job: int) -> dict[int, int]:
        """Replicas of each role that the gang lacks: role minimums first, then roles in their order."""
        roles = self._roles[job]
        lacks = {role: max(0, self._minimums[role] - self.held[role]) for role in roles}
        more = int(self.jobs.min_member[job]) - self.count(job) - sum(lacks.values())
        for role in roles:
            extra = min(more, self.replicas[role] - self.held[role] - lacks[role])
            if extra > 0:
                lacks[role] += extra
                more -= extra
        return {role: count for role, count in lacks.items() if count}

    def ready(self, job: int) -> bool:
        """Whether it holds its gang (a job whose minimum is 0 always does)."""
        return not self.missing(job)

    def possible(self, job: int) -> bool:
        """Whether it has as many replicas as its gang needs."""
        whole = sum(self.replicas[role] for role in self._roles[job])
        return int(self.jobs.min_member[job]) <= whole and all(
            self._minimums[role] <= self.replicas[role] for role in self._roles[job]
        )

    def step(self, job: int) -> Step | None:
        """The next step; None where nothing is pending."""
        lacks = self.missing(job)
        if lacks:
            use = self.amounts(lacks)
            return Step(tuple(lacks.items()), sum(lacks.values()), use, self._need(job, use))
        for role in self._roles[job]:
            if self.held[role] < self.replicas[role]:
                return Step(((role, 1),), 1, self.requests[role], self.requests[role])
        return None

    def _need(self, job: int, use: list[int]) -> Vector:
        """What has to be free for the gang: no less than what is missing of its minimum resources."""
        floor: list[int] = self.jobs.min_resources[job].tolist()
        if not any(floor):
            return use
        return [max(ask, least - held) for ask, least, held in zip(use, floor, self.used(job), strict=True)]

    def amounts(self, counts: dict[int, int]) -> list[int]:
        """What so many replicas of these roles use."""
        sums = [0] * len(self.jobs.resources)
        for role, count in counts.items():
            for resource, amount in enumerate(self.requests[role]):
                sums[resource] += amount * count
        return sums

    def used(self, job: int) -> list[int]:
        """What the job uses."""
        return self.amounts({role: self.held[role] for role in self._roles[job]})

    def minimum(self, job: int) -> int:
        """Replicas it starts with at least."""
        return max(int(self.jobs.min_member[job]), sum(self._minimums[role] for role in self._roles[job]))
