"""What a site is asked for, as jobs of the queue level and as roles that nodes are asked about, row by row the same.

Every tier part of a workload is a role of its job; replicas with volume claims of their own are roles of their own, as
in the live scheduler: one whose volume is out of reach does not keep the others back.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.gangs import RoleGangs
from fairlead.engine.queueing import SiteJob, site_state
from fairlead.engine.shape_columns import there
from fairlead.engine.site_fits import FitsRole, SiteFits
from fairlead.engine.tier_parts import TierPart, TierSplit
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes
from fairlead.levels.node.heights import use
from fairlead.model.claims import ClaimDemand, SiteVolumes
from fairlead.model.columns import ints
from fairlead.model.nodestate import NodeState
from fairlead.model.queuestate import Amounts, QueueState, minimums
from fairlead.model.snapshot import Site
from fairlead.model.workload import GLOBAL_GREEDY


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRole:
    """Replicas of one part of one workload (`row`, `place`) that ask nodes for the same."""

    row: int
    place: int
    part: TierPart
    demand: ClaimDemand | None = None


class SiteJobs:
    """`limits` are how many replicas of each part of each split may be created."""

    def __init__(
        self, site: Site, splits: Sequence[TierSplit], limits: Sequence[Sequence[int]], gangs: RoleGangs
    ) -> None:
        self.gangs = gangs.rows
        self._site = site
        self._jobs: list[SiteJob] = []
        self._first: list[int] = []
        self.roles: list[SiteRole] = []
        for rows in gangs.rows:
            own = [role for row in rows for role in _roles(site, splits[row], limits[row], row)]
            members = [splits[row].parts[0].workload for row in rows]
            workload = min(members, key=lambda each: (not each.created, each.created))
            name = workload.gang if len(rows) > 1 else ""
            parts = [role.part for role in own]
            self._first.append(len(self.roles))
            least, shares = _minimums(gangs.least(rows), workload.task_minimums, parts)
            self._jobs.append(SiteJob(workload=workload, parts=parts, least_together=least, minimums=shares, name=name))
            self.roles += own
        self._by_part: dict[tuple[int, int], list[int]] = {}
        for number, role in enumerate(self.roles):
            self._by_part.setdefault((role.row, role.place), []).append(number)

    def roles_of_job(self, job: int) -> range:
        """The rows of a job's roles."""
        return range(self._first[job], self._first[job] + len(self._jobs[job].parts))

    def roles_of(self, row: int, place: int) -> Sequence[int]:
        """The rows of the roles of one part of one workload."""
        return self._by_part[row, place]

    def least_together(self, job: int) -> int:
        """How many replicas the job starts with at least."""
        return self._jobs[job].least_together

    def tables(self) -> QueueState:
        """The tables of the queue level."""
        site = self._site
        return site_state(_shared(site), self._jobs, site.queues, site.weights, self._kept())

    def _kept(self) -> Amounts:
        """What replicas hold on nodes that take nothing new: it is shared too, for it is held against their jobs."""
        closed, sums = self._site.nodes.unschedulable, Counter[str]()
        roles = {role.part.workload.key: role.part.shape for role in self.roles} if closed.any() else {}
        for key, shape in roles.items():
            column = self._site.present.get(key)
            count = 0 if column is None else int(column[closed].sum())
            sums.update({name: amount * count for name, amount in shape.request})
        return sums

    def fits(self) -> SiteFits:
        """A working copy of the nodes that is asked by roles."""
        site = self._site
        roles = [
            FitsRole(
                workload=each.part.workload.key,
                shape=each.part.shape,
                heights=use if each.part.workload.strategy == GLOBAL_GREEDY else None,
                demand=each.demand,
            )
            for each in self.roles
        ]
        nodes = WorkingNodes(site.nodes, site.population)
        volumes = WorkingVolumes(site.attached if site.claims else SiteVolumes(), site.nodes)
        return SiteFits(nodes, roles, lambda workload: there(site.present.get(workload)), volumes=volumes)


def _minimums(least: int, tasks: Sequence[tuple[str, int]], parts: Sequence[TierPart]) -> tuple[int, list[int]]:
    """How many start together at least, and how many of each part; more than there are where a task has too few."""
    if sum(count for _, count in tasks) > least:
        return least, [0] * len(parts)  # as in Volcano, tasks have no say where the gang's own minimum is less
    there = [part.running + part.need for part in parts]
    named = [(row, part.workload.task, count) for row, (part, count) in enumerate(zip(parts, there, strict=True))]
    found, short = minimums(dict(tasks), named)
    if short:
        least = sum(there) + sum(short.values())
    return least, [found[row] for row in range(len(parts))]


def _roles(site: Site, split: TierSplit, limits: Sequence[int], row: int) -> Iterator[SiteRole]:
    """The roles of one workload; what runs of a part is counted with its first role."""
    claims = site.claims.get(split.parts[0].workload.key)
    before = 0
    for place, (whole, most) in enumerate(zip(split.parts, limits, strict=True)):
        part = whole if whole.need == most else replace(whole, need=most)
        if claims is None or not most:
            yield SiteRole(row=row, place=place, part=part)
            continue
        demands = Counter(claims.waiting(before + most)[before:])
        before += most
        for number, (demand, count) in enumerate(demands.items()):
            running = 0 if number else part.running
            own = replace(part, running=running, need=count)
            yield SiteRole(row=row, place=place, part=own, demand=demand)


def _shared(site: Site) -> NodeState:
    """The nodes as queues share them: without what DaemonSets and static pods take on each."""
    if not site.daemons and site.fixed_used is None:
        return site.nodes
    held = np.zeros_like(site.nodes.used) if site.fixed_used is None else site.fixed_used
    return replace(site.nodes, allocatable=ints(np.maximum(site.nodes.allocatable - held, 0)))
