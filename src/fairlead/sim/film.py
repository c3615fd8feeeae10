"""A run kept for replay: the cluster at equal distances as snapshots, and the life of each job.

What is kept is bounded: where the frames become too many or too large, every second one is dropped.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.columns import Bool, Int, flags, ints
from fairlead.model.population import Population, resident
from fairlead.model.shape import Shape
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.workload import Workload
from fairlead.sim.cluster import SimCluster
from fairlead.sim.events import Timeline
from fairlead.sim.jobs import SimJob

FRAMES = 240
MOST_ROWS = 400_000
"""Batches of jobs in all frames together."""
MOST_JOBS = 400
MOST_SPANS = 200
"""Jobs whose life is told, and the spans of each."""


@dataclass(frozen=True, slots=True)
class _Running:
    """Replicas of one part of a job, by node row."""

    tier: str
    shape: Shape
    rows: Int
    counts: Int


@dataclass(frozen=True, slots=True)
class _Entry:
    """One job at one moment."""

    workload: Workload
    asked: int
    batches: tuple[_Running, ...]


@dataclass(frozen=True, slots=True)
class _Frame:
    used: Int
    down: Bool
    entries: tuple[_Entry, ...]


class Film:
    """Follows one run. Times are milliseconds from the start."""

    def __init__(self, story: Timeline) -> None:
        self.every_ms = max(story.until_ms // FRAMES, 1)
        self._story = story
        self._frames: list[_Frame] = []
        self._rows = 0
        self._lives: dict[str, dict[str, Any]] = {}

    def advance(self, now: int, cluster: SimCluster, jobs: Mapping[str, SimJob]) -> None:
        """The state has been what it is until `now`: keep the frames that lie before."""
        while len(self._frames) * self.every_ms < now:
            frame = self._frame(cluster, jobs)
            self._frames.append(frame)
            self._rows += sum(len(each.batches) + 1 for each in frame.entries)
            if self._rows > MOST_ROWS and len(self._frames) > 2:
                self._thin()

    def _frame(self, cluster: SimCluster, jobs: Mapping[str, SimJob]) -> _Frame:
        entries = tuple(_entry(job) for job in jobs.values() if job.asked or job.running)
        return _Frame(cluster.state.used.copy(), cluster.state.unschedulable.copy(), entries)

    def _thin(self) -> None:
        self._frames = self._frames[::2]
        self.every_ms *= 2
        self._rows = sum(len(each.batches) + 1 for frame in self._frames for each in frame.entries)

    def note(self, now: int, job: SimJob, *, evicted_for: str = "", count: int = 0) -> None:
        """A job's counts have changed."""
        life = self._lives.get(job.key)
        if life is None:
            if len(self._lives) >= MOST_JOBS:
                return
            life = self._lives[job.key] = _life(job)
        if evicted_for:
            life["evictions"].append({"at": now / 1000, "count": count, "for": evicted_for})
        span = [now / 1000, job.running, job.lacking]
        spans = life["spans"]
        if spans and spans[-1][0] == span[0]:
            spans[-1] = span
        elif (not spans or spans[-1][1:] != span[1:]) and len(spans) < MOST_SPANS:
            spans.append(span)

    def jobs(self) -> list[dict[str, Any]]:
        """The life of each job: spans are [from second, running, waiting] and last until the next."""
        return list(self._lives.values())

    def place(self, at_ms: int) -> int:
        """The number of the frame that shows the moment."""
        return min(max(at_ms // self.every_ms, 0), len(self._frames) - 1)

    def snapshot(self, place: int) -> Snapshot:
        """A frame as the snapshot of a cluster: what runs where, and what is asked for."""
        story, frame = self._story, self._frames[place]
        present: dict[str, Int] = {}
        required: dict[str, Int] = {}
        for entry in frame.entries:
            for table, tiers in ((present, None), (required, "on-demand")):
                column = np.zeros(len(story.nodes.names), dtype=np.int64)
                for batch in entry.batches:
                    if tiers in (None, batch.tier):
                        column[batch.rows] += batch.counts
                table[entry.workload.key] = ints(column)
        site = Site(
            name="",
            nodes=replace(story.nodes, used=ints(frame.used), unschedulable=flags(frame.down)),
            population=_population(story.population, frame),
            workloads=tuple(replace(each.workload, replicas=each.asked) for each in frame.entries),
            present=present,
            required=required,
            queues=story.queues,
            weights=story.weights,
            tiers=story.tiers,
            quotas=story.quotas,
            fixed=story.fixed,
            fixed_used=story.fixed_used,
        )
        return Snapshot(sites=(site,))


def _entry(job: SimJob) -> _Entry:
    batches = tuple(_Running(b.part.tier, b.part.shape, b.rows, b.counts) for b in job.batches.values())
    # A job of a name that was there before has a key of its own; so has its workload.
    workload = replace(job.workload, name=job.key.partition("/")[2], least_together=job.least)
    return _Entry(workload, job.asked, batches)


def _life(job: SimJob) -> dict[str, Any]:
    return {
        "job": job.key,
        "namespace": job.workload.namespace,
        "queue": job.workload.queue or "default",
        "gang": job.workload.least_together,
        "spans": [],
        "evictions": [],
    }


def _population(before: Population, frame: _Frame) -> Population:
    """What was there before the scenario began, and what the jobs run."""
    known = {each: code for code, each in enumerate(before.residents)}
    codes, rows = [before.codes], [before.rows]
    for entry in frame.entries:
        for batch in entry.batches:
            code = known.setdefault(resident(batch.shape), len(known))
            rows.append(np.repeat(batch.rows, batch.counts))
            codes.append(np.full(int(batch.counts.sum()), code, dtype=np.int64))
    whole = ints(np.concatenate(rows))
    leaving = np.zeros(len(whole), dtype=np.bool_)
    leaving[: len(before.leaving)] = before.leaving
    return Population(
        residents=tuple(known),
        codes=ints(np.concatenate(codes)),
        rows=whole,
        leaving=flags(leaving),
        namespaces=before.namespaces,
    )
