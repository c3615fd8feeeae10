"""The waiting jobs, kept in order of arrival, so that a pass reads the first few of them and not the whole backlog.

A bucket holds the jobs of one queue and namespace with one priority and one need, in the order in which they began to
wait. A need that no node can meet is skipped as a whole.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import chain

from fairlead.model.shape import Shape
from fairlead.sim.jobs import SimJob
from fairlead.sim.tables import Pair

Bucket = dict[str, SimJob]


class Waiting:
    """Jobs that lack replicas."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, dict[tuple[int, Shape | None], Bucket]] = {}
        self._count = 0
        self.by_namespace: dict[str, int] = {}
        """Replicas that wait."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SimJob]:
        buckets = chain.from_iterable(pair.values() for pair in self._pairs.values())
        return chain.from_iterable(bucket.values() for bucket in buckets)

    def of(self, namespaces: Collection[str]) -> Iterator[SimJob]:
        """The jobs of these namespaces."""
        for (_, namespace), buckets in self._pairs.items():
            if namespace in namespaces:
                for bucket in buckets.values():
                    yield from bucket.values()

    def lack(self, job: SimJob, more: int) -> None:
        """`more` of its replicas wait (or less)."""
        namespace = job.workload.namespace
        self.by_namespace[namespace] = self.by_namespace.get(namespace, 0) + more

    def add(self, job: SimJob) -> None:
        """It waits; where it waits already, it keeps its place."""
        jobs = self._bucket(job)
        self._count += job.key not in jobs
        jobs.setdefault(job.key, job)

    def discard(self, job: SimJob) -> None:
        """It waits no longer."""
        self._count -= self._bucket(job).pop(job.key, None) is not None

    def first(self, most: int, but: Collection[str], takes: Callable[[Shape], bool]) -> list[SimJob]:
        """The first `most` jobs of each queue and namespace, without those named, in order.

        Where more than `most` wait there, needs that no node takes are passed over, so that others are seen.
        """
        found: list[SimJob] = []
        for pair in self._pairs.values():
            buckets = [(needs, bucket) for (_, needs), bucket in pair.items() if bucket]
            crowded = sum(len(bucket) for _, bucket in buckets) > most
            jobs = [
                job
                for needs, bucket in buckets
                if not crowded or needs is None or takes(needs)
                for job in _ahead(bucket, most, but)
            ]
            found += sorted(jobs, key=lambda job: job.turn)[:most]
        return sorted(found, key=lambda job: job.turn)

    def _bucket(self, job: SimJob) -> Bucket:
        pair = self._pairs.setdefault(job.pair, {})
        key = job.workload.priority, job.needs
        bucket = pair.get(key)
        if bucket is None:
            bucket = pair[key] = Bucket()
        return bucket


def _ahead(bucket: Bucket, most: int, but: Collection[str]) -> Iterator[SimJob]:
    """The first `most`, and all that began to wait in the same instant as the last of them: names decide there."""
    taken, since = 0, None
    for key, job in bucket.items():
        if key in but:
            continue
        if taken >= most and job.since != since:
            return
        taken, since = taken + 1, job.since
        yield job
