"""What became of each workload of a site: where its replicas go, and why nodes refuse the others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.refusals import gang_does_not_fit, no_node, shortage
from fairlead.engine.site_fits import SiteFits
from fairlead.engine.site_jobs import SiteJobs
from fairlead.engine.site_plan import PartPath
from fairlead.engine.tier_parts import TierPart, TierSplit
from fairlead.levels.node.constraints.feasible import rejections
from fairlead.levels.queue.reasons import NODES_FULL
from fairlead.levels.queue.result import JobRow, Sharing
from fairlead.model.columns import Int
from fairlead.model.decision import Rejection
from fairlead.model.reasons import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One workload: its row in the queue, where its parts go, and why nodes refuse some of it (None: they do not)."""

    job: JobRow
    parts: tuple[PartPath, ...]
    refusal: Finding | None

    def findings(self, cut_short: Finding | None) -> tuple[Finding, ...]:
        """Why something waits: the nodes, else what kept replicas from being created, else the queue."""
        if all(path.part.need == path.placed for path in self.parts):
            return ()
        found = self.refusal or cut_short or self.job.finding
        return (found,) if found else ()


def outcomes(splits: Sequence[TierSplit], jobs: SiteJobs, fits: SiteFits, sharing: Sharing) -> list[Outcome]:
    """What became of each workload, after the sharing of these jobs on these nodes."""
    reader = _Reader(jobs, fits, sharing)
    found: dict[int, Outcome] = {}
    for job, rows in enumerate(jobs.gangs):
        found.update(reader.outcomes(job, {row: splits[row] for row in rows}))
    return [found[row] for row in range(len(splits))]


class _Reader:
    """Asks nodes on trial what they refuse a job for, where they stop it."""

    def __init__(self, jobs: SiteJobs, fits: SiteFits, sharing: Sharing) -> None:
        self._jobs, self._fits, self._sharing = jobs, fits, sharing

    def outcomes(self, job: int, splits: Mapping[int, TierSplit]) -> dict[int, Outcome]:
        row = self._sharing.jobs[job]
        stopped = row.finding is not None and row.finding.reason is NODES_FULL
        why = self._why(job) if stopped else {}
        parts = {
            each: tuple(self._part(part, self._jobs.roles_of(each, place), why) for place, part in enumerate(own.parts))
            for each, own in splits.items()
        }
        refusal = self._refusal(job, [path for own in parts.values() for path in own]) if why else None
        return {each: Outcome(job=_own(row, own), parts=own, refusal=refusal) for each, own in parts.items()}

    def _why(self, job: int) -> dict[int, tuple[tuple[Rejection, ...], str]]:
        """By role why nodes refuse what is left of it, once they have taken as much of the job as fits."""
        lacking = {role: lack for role in self._jobs.roles_of_job(job) if (lack := self._lack(role))}
        room = self._fits.room(lacking)
        found: dict[int, tuple[tuple[Rejection, ...], str]] = {}
        for role in (each for each in lacking if room[each] < lacking[each]):
            codes, state = self._fits.codes(role), self._fits.nodes.current
            found[role] = rejections(codes, state.names), shortage(self._fits.shape(role), state, codes)
        return found

    def _placed(self, role: int) -> int:
        return sum(self._sharing.spots.get(role, {}).values())

    def _lack(self, role: int) -> int:
        return self._jobs.roles[role].part.need - self._placed(role)

    def _part(
        self, part: TierPart, roles: Sequence[int], why: Mapping[int, tuple[tuple[Rejection, ...], str]]
    ) -> PartPath:
        """A part as its roles went; where nodes stop its job, the queue would have granted all of it."""
        counts: Int = np.zeros(len(self._fits.nodes.rank), dtype=np.int64)
        for role in roles:
            if spots := self._sharing.spots.get(role):
                counts[list(spots)] += list(spots.values())
        granted = sum(self._jobs.roles[role].part.need for role in roles) if why else int(counts.sum())
        rejected, short = next((why[role] for role in roles if role in why), ((), ""))
        return PartPath(part=part, granted=granted, counts=counts, rejected=rejected, short=short)

    def _refusal(self, job: int, paths: Sequence[PartPath]) -> Finding:
        finding, least = self._sharing.jobs[job].finding, self._jobs.least_together(job)
        there = sum(path.part.running + path.placed for path in paths)
        if there < least > 1 and finding is not None:
            return gang_does_not_fit(paths, there + int(finding.details["fits"]), least)
        asked = sum(path.granted for path in paths)
        return no_node(paths, asked - sum(path.placed for path in paths), asked)


def _own(row: JobRow, parts: Sequence[PartPath]) -> JobRow:
    """The row of one workload of a job; of several that start together each has its own numbers."""
    running = sum(path.part.running for path in parts)
    placed = sum(path.placed for path in parts)
    pending = sum(path.part.need for path in parts) - placed
    name = parts[0].part.workload.key
    return replace(row, name=name, running=running, admitted=running + placed, pending=pending)
