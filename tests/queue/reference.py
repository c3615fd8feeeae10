"""The text's loop, literally: pick the queue, the namespace, the job; give it tasks until it is ready; pick again.

Nothing is kept between two turns but the counts, every order is found by looking at everybody, and shares are plain
fractions. It knows flat queues and jobs of one role, and is as slow as it is simple.
"""

from fractions import Fraction

from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable
from fairlead.model.order import natural_key

Amounts = list[int]


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
        self.counts: list[int] = jobs.role_running.tolist()
        self.replicas: list[int] = jobs.role_replicas.tolist()
        self.waiting = {
            job
            for job in range(len(jobs))
            if self.counts[job] < self.replicas[job] and jobs.min_member[job] <= self.replicas[job]
        }
        self.queue_used = [[0] * len(whole) for _ in range(len(queues))]
        self.pair_used: dict[tuple[int, int], Amounts] = {}
        for job, count in enumerate(self.counts):
            self._add(job, count)

    def _pair(self, job: int) -> tuple[int, int]:
        return int(self.jobs.queue[job]), int(self.jobs.namespace[job])

    def _add(self, job: int, count: int) -> None:
        pair = self._pair(job)
        used = self.pair_used.setdefault(pair, [0] * len(self.whole))
        for resource, amount in enumerate(self.request[job]):
            self.queue_used[pair[0]][resource] += amount * count
            used[resource] += amount * count

    def run(self) -> list[int]:
        """One turn after another until nobody waits; the counts."""
        while self.waiting:
            queue = min({self._pair(job)[0] for job in self.waiting}, key=self._queue_order)
            here = [job for job in self.waiting if self._pair(job)[0] == queue]
            pair = min({self._pair(job) for job in here}, key=self._namespace_order)
            job = min((job for job in here if self._pair(job) == pair), key=self._job_order)
            if not self._give_until_ready(job):
                self.waiting.remove(job)
        return self.counts

    def _give_until_ready(self, job: int) -> bool:
        """Tasks until the job is ready, all of them or none; False where it is done or does not fit."""
        count = max(1, int(self.jobs.min_member[job]) - self.counts[job])
        if not self._fits(job, count):
            return False
        self.counts[job] += count
        self._add(job, count)
        return self.counts[job] < self.replicas[job]

    def _fits(self, job: int, count: int) -> bool:
        queue = self._pair(job)[0]
        for resource, amount in enumerate(self.request[job]):
            if not amount:
                continue
            mine = self.queue_used[queue][resource] + amount * count
            most = int(self.queues.capability[queue, resource])
            kept = sum(
                max(int(self.queues.guarantee[other, resource]), self.queue_used[other][resource])
                for other in range(len(self.queues))
                if other != queue
            )
            if (most != UNSET and mine > most) or max(
                mine, int(self.queues.guarantee[queue, resource])
            ) + kept > self.whole[resource]:
                return False
        return True

    def _queue_order(self, queue: int) -> tuple[object, ...]:
        shares = []
        for resource in self.counted:
            used, right = self.queue_used[queue][resource], self.deserved[queue][resource]
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
        used, past = self.pair_used[pair], self.namespaces.past[pair[1]].tolist()
        dominant = max((Fraction(used[r] + past[r], self.whole[r]) for r in self.counted), default=Fraction(0))
        return dominant / int(self.namespaces.weight[pair[1]]), natural_key(self.namespaces.names[pair[1]])

    def _job_order(self, job: int) -> tuple[object, ...]:
        count = self.counts[job]
        share = max((Fraction(count * self.request[job][r], self.whole[r]) for r in self.counted), default=Fraction(0))
        ready = count >= int(self.jobs.min_member[job])
        return -int(self.jobs.priority[job]), ready, share, int(self.jobs.age[job])
