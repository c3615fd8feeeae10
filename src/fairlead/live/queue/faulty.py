"""Jobs and queues that make a turn of the queue level fail: found, left out, and tried again when they change.

A turn decides all jobs together, so one that makes the code raise would stop all of them. It is found by halving what
takes part (docs/decisions/0201); a queue is looked for only where the turn fails without any job.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import TypeVar

from fairlead.dataclass import dataclass
from fairlead.live.cluster.identity import JobKey
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped, set_aside
from fairlead.live.cluster.turn_types import IdleCounts, LiveJob
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.runtime.aside import culprit
from fairlead.model.faults import fault
from fairlead.model.queuestate import QueueEntry

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Job:
    changes: int
    error: Exception


@dataclass(frozen=True, slots=True)
class _Queue:
    row: QueueEntry
    error: Exception


class FaultyJobs:
    """What takes part in turns: all jobs and queues of the cache but those that made a turn fail."""

    def __init__(self, job_cache: JobCache) -> None:
        self._job_cache = job_cache
        self._jobs: dict[JobKey, _Job] = {}
        self._queues: dict[str, _Queue] = {}
        self.on_queue: Callable[[str, Exception | None], None] = lambda name, error: None
        """Told of a queue that is left out, and (None) of one that takes part again."""
        self._only_jobs: Collection[JobKey] | None = None
        self._only_queues: Collection[str] | None = None

    def lost(self) -> None:
        """This instance leads no longer: when it leads again all take part, and what fails is found and told anew."""
        self._jobs.clear()
        self._queues.clear()

    def jobs(self) -> list[LiveJob]:
        """The jobs that take part; one that was left out takes part again after a change."""
        return self._job_cache.jobs(self._left_out())

    def jobs_and_idle(self) -> tuple[list[LiveJob], IdleCounts]:
        """See `JobCache.jobs_and_idle`."""
        return self._job_cache.jobs_and_idle(self._left_out())

    def _left_out(self) -> Collection[JobKey]:
        """The jobs that do not take part."""
        entries = self._job_cache.entries
        self._jobs = {
            key: each for key, each in self._jobs.items() if key in entries and entries[key].changes == each.changes
        }
        if self._only_jobs is None:
            return self._jobs.keys()
        return entries.keys() - set(self._only_jobs)

    def queues(self) -> list[QueueEntry]:
        """The queues as rows; one that was left out is a queue that cannot be used, until it changes."""
        rows = self._job_cache.queues
        known = {row.name: row for row in rows}
        for name in [name for name, each in self._queues.items() if known.get(name) != each.row]:
            del self._queues[name]
            self.on_queue(name, None)
        if self._only_queues is not None:
            rows = [row for row in rows if row.name in self._only_queues]
        return [self._row(row) for row in rows]

    def guarded(self, work: Callable[[], T]) -> T:
        """The result of the work, without whatever makes it raise. What no job and no queue explains is raised."""
        while True:
            try:
                return work()
            except Exception:
                if not self._leave_out(work):
                    raise

    def outcomes(self, awake: Collection[str] | None, considered: int) -> Iterator[PodSetOutcome]:
        """What becomes of the jobs that are left out, for those of them that are awake (None: all)."""
        for key, found in self._jobs.items():
            if awake is None or key in awake:
                for group in grouped(self._job_cache.entries[key].waiting):
                    yield set_aside(group, found.error, considered)

    def _leave_out(self, work: Callable[[], object]) -> bool:
        """Find one job, or one queue, that makes the work raise."""
        keys = [key for key in self._job_cache.entries if key not in self._jobs]
        job = culprit(keys, lambda some: self._tried(work, some, None))
        if job is not None:
            self._jobs[job[0]] = _Job(self._job_cache.entries[job[0]].changes, job[1])
            return True
        rows = {row.name: row for row in self._job_cache.queues if row.name not in self._queues}
        queue = culprit(list(rows), lambda some: self._tried(work, (), some))
        if queue is not None:
            self._queues[queue[0]] = _Queue(rows[queue[0]], queue[1])
            self.on_queue(*queue)
        return queue is not None

    def _tried(
        self, work: Callable[[], object], jobs: Collection[JobKey], queues: Collection[str] | None
    ) -> Exception | None:
        """What the work raises with these jobs and queues (None: all) alone."""
        self._only_jobs, self._only_queues = jobs, queues
        try:
            work()
        except Exception as error:
            return error
        finally:
            self._only_jobs = self._only_queues = None
        return None

    def _row(self, row: QueueEntry) -> QueueEntry:
        found = self._queues.get(row.name)
        return row if found is None else replace(QueueEntry(name=row.name, parent=row.parent), fault=fault(found.error))
