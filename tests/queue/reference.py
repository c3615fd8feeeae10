"""The text's loop, literally: pick the queue, the namespace, the job; give it tasks until it is ready; pick again.

Nothing is kept between two turns but the counts, every order is found by looking at everybody, and shares are plain
fractions. It knows trees of queues and jobs of several roles, and is as slow as it is simple.
"""

from fractions import Fraction

from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable
from fairlead.model.order import natural_key

Amounts = list[int]
Step = dict[int, int]
"""Replicas by role."""


class Reference:
    """Counts after the loop, by job; `deserved` is given, in exact fractions by queue and resource."""

    def __init__(
        self,
        jobs: JobTable,
        queues: QueueTable,
        namespaces: NamespaceTable,
        whole: Amounts,
        deserved: list[tuple[Fraction, ...]],
    ) -> None:
        self.jobs, self.queues, self.namespaces = jobs, queues, namespaces
        self.whole, self.deserved = whole, deserved
        self.counted = [r for r, name in enumerate(jobs.resources) if name != "pods" and whole[r]]
        self.request: list[Amounts] = jobs.role_request.tolist()
        self.held: list[int] = jobs.role_running.tolist()
        self.replicas: list[int] = jobs.role_replicas.tolist()
        self.parent = [queues.names.index(name) if name else UNSET for name in queues.parents]
        leaves = set(range(len(queues))) - set(self.parent)
        self.waiting = {
            job
            for job in range(len(jobs))
            if self._pending(job) and jobs.min_member[job] <= self._size(job) and int(jobs.queue[job]) in leaves
        }

    def _roles(self, job: int) -> range:
        return range(int(self.jobs.role_start[job]), int(self.jobs.role_start[job + 1]))

    def _size(self, job: int) -> int:
        return sum(self.replicas[role] for role in self._roles(job))

    def _count(self, job: int) -> int:
        return sum(self.held[role] for role in self._roles(job))

    def _pending(self, job: int) -> int:
        return self._size(job) - self._count(job)

    def _pair(self, job: int) -> tuple[int, int]:
        return int(self.jobs.queue[job]), int(self.jobs.namespace[job])

    def _path(self, queue: int) -> list[int]:
        path = [queue]
        while self.parent[path[-1]] != UNSET:
            path.append(self.parent[path[-1]])
        return path

    def _used(self, jobs: list[int]) -> Amounts:
        roles = [role for job in jobs for role in self._roles(job)]
        return [sum(self.held[role] * self.request[role][r] for role in roles) for r in range(len(self.whole))]

    def _queue_used(self, queue: int) -> Amounts:
        return self._used([job for job in range(len(self.jobs)) if queue in self._path(int(self.jobs.queue[job]))])

    def run(self) -> list[int]:
        """One turn after another until nobody waits; the counts."""
        while self.waiting:
            queue = UNSET
            while (below := self._children(queue)) != set():
                queue = min(below, key=self._queue_order)
            here = [job for job in self.waiting if self._pair(job)[0] == queue]
            pair = min({self._pair(job) for job in here}, key=self._namespace_order)
            job = min((job for job in here if self._pair(job) == pair), key=self._job_order)
            if not self._give_until_ready(job):
                self.waiting.remove(job)
        return [self._count(job) for job in range(len(self.jobs))]

    def _children(self, queue: int) -> set[int]:
        """The queues below this one with somebody waiting in them or below."""
        busy = {row for job in self.waiting for row in self._path(self._pair(job)[0])}
        return {row for row in busy if self.parent[row] == queue}

    def _give_until_ready(self, job: int) -> bool:
        """Tasks until the job is ready, all of them or none; False where it is done or does not fit."""
        step = self._lacking(job)
        need = self._amounts(step)
        if step:
            used, floor = self._used([job]), self.jobs.min_resources[job].tolist()
            need = [max(ask, least - has) for ask, least, has in zip(need, floor, used, strict=True)]
        else:
            role = next(role for role in self._roles(job) if self.held[role] < self.replicas[role])
            step = {role: 1}
            need = self._amounts(step)
        if not self._fits(self._pair(job)[0], need):
            return False
        for role, count in step.items():
            self.held[role] += count
        return self._pending(job) > 0

    def _amounts(self, step: Step) -> Amounts:
        return [sum(count * self.request[role][r] for role, count in step.items()) for r in range(len(self.whole))]

    def _lacking(self, job: int) -> Step:
        """What the gang lacks: roles in their order (no minimums of their own here)."""
        more = int(self.jobs.min_member[job]) - self._count(job)
        step: Step = {}
        for role in self._roles(job):
            count = min(more, self.replicas[role] - self.held[role])
            if count > 0:
                step[role] = count
                more -= count
        return step

    def _kept(self, queue: int, resource: int, more: dict[int, int]) -> int:
        """What a queue keeps: its guarantee, or what is in it and what the queues below keep."""
        own = (
            more.get(queue, 0) + self._used([j for j in range(len(self.jobs)) if self.jobs.queue[j] == queue])[resource]
        )
        below = sum(self._kept(row, resource, more) for row in range(len(self.queues)) if self.parent[row] == queue)
        return max(int(self.queues.guarantee[queue, resource]), own + below)

    def _fits(self, queue: int, need: Amounts) -> bool:
        for resource, amount in enumerate(need):
            if not amount:
                continue
            more = {queue: amount}
            tops = [row for row in range(len(self.queues)) if self.parent[row] == UNSET]
            if sum(self._kept(row, resource, more) for row in tops) > self.whole[resource]:
                return False
            for row in self._path(queue):
                most = int(self.queues.capability[row, resource])
                inside = (
                    self._queue_used(row)[resource] + amount
                    if row == queue
                    else sum(
                        self._kept(child, resource, more)
                        for child in range(len(self.queues))
                        if self.parent[child] == row
                    )
                )
                if most != UNSET and inside > most:
                    return False
        return True

    def _queue_order(self, queue: int) -> tuple[object, ...]:
        shares = []
        for resource in self.counted:
            used, right = self._queue_used(queue)[resource], self.deserved[queue][resource]
            if right:
                shares.append(used / right)
            elif used or not any(self.deserved[queue][r] for r in self.counted):
                shares.append(1 + Fraction(used, self.whole[resource] * int(self.queues.weight[queue])))
        return (
            -int(self.queues.priority[queue]),
            max(shares, default=Fraction(1)),
            natural_key(self.queues.names[queue]),
        )

    def _namespace_order(self, pair: tuple[int, int]) -> tuple[object, ...]:
        used = self._used([job for job in range(len(self.jobs)) if self._pair(job) == pair])
        past = self.namespaces.past[pair[1]].tolist()
        dominant = max((Fraction(used[r] + past[r], self.whole[r]) for r in self.counted), default=Fraction(0))
        return dominant / int(self.namespaces.weight[pair[1]]), natural_key(self.namespaces.names[pair[1]])

    def _job_order(self, job: int) -> tuple[object, ...]:
        used = self._used([job])
        share = max((Fraction(used[r], self.whole[r]) for r in self.counted), default=Fraction(0))
        return -int(self.jobs.priority[job]), not self._lacking(job), share, int(self.jobs.age[job])
