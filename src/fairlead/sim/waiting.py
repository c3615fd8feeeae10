"""The waiting jobs, kept in order of arrival, so that a pass reads the first few of them and not the whole backlog.

A bucket holds the jobs of one queue and namespace with one priority and one need, in the order in which they began to
wait. A need that no node can meet is skipped as a whole.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from fairlead.model.columns import Int
from fairlead.model.shape import Shape
from fairlead.sim.jobs import SimJob

Pair = tuple[str, str]


@dataclass(slots=True)
class _Bucket:
    jobs: dict[str, SimJob] = field(default_factory=dict)
    lacking: Int | None = None
    """What its jobs lack in sum, by resource."""


class Waiting:
    """Jobs that lack replicas."""

    def __init__(self) -> None:
        self._pairs: dict[Pair, dict[tuple[int, Shape | None], _Bucket]] = {}
        self._count = 0
        self.by_namespace: dict[str, int] = {}
        """Replicas that wait."""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[SimJob]:
        buckets = chain.from_iterable(pair.values() for pair in self._pairs.values())
        return chain.from_iterable(bucket.jobs.values() for bucket in buckets)

    def lack(self, job: SimJob, more: int) -> None:
        """`more` of its replicas wait (or less)."""
        bucket = self._bucket(job)
        bucket.lacking = more * job.vector if bucket.lacking is None else bucket.lacking + more * job.vector
        namespace = job.workload.namespace
        self.by_namespace[namespace] = self.by_namespace.get(namespace, 0) + more

    def add(self, job: SimJob) -> None:
        """It waits; where it waits already, it keeps its place."""
        jobs = self._bucket(job).jobs
        self._count += job.key not in jobs
        jobs.setdefault(job.key, job)

    def discard(self, job: SimJob) -> None:
        """It waits no longer."""
        self._count -= self._bucket(job).jobs.pop(job.key, None) is not None

    def first(self, most: int, but: Collection[str], full: Collection[Shape]) -> dict[Pair, list[SimJob]]:
        """The first `most` jobs of each queue and namespace in order; not those named, nor needs that are full."""
        found: dict[Pair, list[SimJob]] = {}
        for pair in self._pairs:
            jobs = [job for bucket in self._open(pair, full) for job in _ahead(bucket, most, but)]
            if jobs:
                found[pair] = sorted(jobs, key=lambda job: job.turn)[:most]
        return found

    def rest(self, pair: Pair, without: Mapping[str, SimJob], full: Collection[Shape], nothing: Int) -> Int:
        """What the queue and namespace lacks beyond these jobs and the needs that are full."""
        total: Int = sum((bucket.lacking for bucket in self._open(pair, full) if bucket.lacking is not None), nothing)
        for job in without.values():
            if job.pair == pair and (job.needs is None or job.needs not in full):
                total = total - job.lacking * job.vector
        return np.maximum(total, 0)

    def _open(self, pair: Pair, full: Collection[Shape]) -> Iterator[_Bucket]:
        for (_, needs), bucket in self._pairs[pair].items():
            if bucket.jobs and (needs is None or needs not in full):
                yield bucket

    def _bucket(self, job: SimJob) -> _Bucket:
        pair = self._pairs.setdefault(job.pair, {})
        key = job.workload.priority, job.needs
        bucket = pair.get(key)
        if bucket is None:
            bucket = pair[key] = _Bucket()
        return bucket


def _ahead(bucket: _Bucket, most: int, but: Collection[str]) -> Iterator[SimJob]:
    """The first `most`, and all that began to wait in the same instant as the last of them: names decide there."""
    taken, since = 0, None
    for key, job in bucket.jobs.items():
        if key in but:
            continue
        if taken >= most and job.since != since:
            return
        taken, since = taken + 1, job.since
        yield job
