"""One site through tier, queue and node: how many of each workload may start, and on which nodes they go.

Order on the nodes: higher priority first, then workloads with a part that must be on demand (they have fewer nodes to
choose from), then larger gangs, then natural order of names. A gang that does not fit as a whole leaves nothing behind.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairlead.engine import invariants
from fairlead.engine.admission import admitted
from fairlead.engine.claimed import heights, place_claimed
from fairlead.engine.daemons import settled
from fairlead.engine.gangs import RoleGangs
from fairlead.engine.queueing import share_site
from fairlead.engine.refusals import gang_does_not_fit, no_node, shortage
from fairlead.engine.site_plan import PartPath, Path, SitePlan
from fairlead.engine.tier_parts import TierPart, TierSplit, parts
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes
from fairlead.levels.queue.result import JobRow, Sharing
from fairlead.model.claims import SiteVolumes
from fairlead.model.columns import ints
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_key
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.reasons import Finding
from fairlead.model.snapshot import Site
from fairlead.model.workload import Workload

ROUNDS = 4
"""How often what the nodes refused is shared out again."""


def plan_site(site: Site, asked: Sequence[tuple[Workload, int]], on_progress: OnProgress = no_progress) -> SitePlan:
    """Plan `asked` (each workload with its replicas here) on the site."""
    before = site
    # 0. what runs on every node takes its room
    site, daemons = settled(site)
    gangs = RoleGangs(sorted(asked, key=lambda ask: natural_key(ask[0].key)))
    ordered = gangs.members()
    # 1. tier: which replicas must be on demand
    splits = [_split(site, workload, replicas) for workload, replicas in ordered]
    # 2. queue: how many of each may start; 3. node: where they go
    sharing, placed, after = _share_and_place(site, splits, gangs, on_progress)
    paths = tuple(
        Path(
            workload=workload,
            site=site.name,
            replicas=replicas,
            split=split,
            job=job,
            parts=own.parts,
            findings=_findings(split, job, own),
        )
        for (workload, replicas), split, job, own in zip(ordered, splits, sharing.jobs, placed, strict=True)
    )
    made = SitePlan(site=before, sharing=sharing, paths=(*paths, *daemons), before=before.nodes, after=after)
    # 4. what must hold of every plan
    invariants.check(made)
    return made


@dataclass(frozen=True, slots=True)
class _Placed:
    """One workload on the nodes. `refusal` is why the nodes did not take all that the queue granted."""

    parts: tuple[PartPath, ...]
    refusal: Finding | None


def _share_and_place(
    site: Site, splits: Sequence[TierSplit], gangs: RoleGangs, on_progress: OnProgress
) -> tuple[Sharing, list[_Placed], NodeState]:
    """Share by sums, place by nodes; what the nodes refuse is shared out again among the others.

    Each round asks for no more than the nodes took in the last one, so the rounds end; three are enough in practice,
    and after `ROUNDS` what is left over stays free. A gang of several workloads that is not whole gets nothing.
    """
    turns = sorted(range(len(splits)), key=lambda row: _turn(splits[row]))
    limits, cut_short = admitted(site, splits, turns)
    for last in range(ROUNDS + len(gangs)):
        jobs = [
            (split.parts[0].workload, [replace(part, need=most) for part, most in zip(split.parts, own, strict=True)])
            for split, own in zip(splits, limits, strict=True)
        ]
        sharing = share_site(_shared(site), jobs, site.queues, site.weights)
        working = WorkingNodes(site.nodes, site.population)
        volumes = WorkingVolumes(site.attached if site.claims else SiteVolumes(), site.nodes)
        placed: dict[int, _Placed] = {}
        for done, row in enumerate(turns):
            if done % 50 == 0:
                on_progress("placing again" if last else "placing", done, len(turns))
            placed[row] = _place(site, working, volumes, splits[row], jobs[row][1], sharing.jobs[row])
        broken = gangs.broken({row: own.parts for row, own in placed.items()}, sharing.jobs)
        refused = {row: own.refusal for row, own in placed.items() if own.refusal is not None} | broken
        if not refused or (last >= ROUNDS - 1 and not broken):
            break
        for row, finding in refused.items():
            cut_short.setdefault(row, finding)
            limits[row] = [0 if row in broken else path.placed for path in placed[row].parts]
    kept = [_Placed(placed[row].parts, placed[row].refusal or cut_short.get(row)) for row in range(len(splits))]
    return sharing, kept, working.state


def _shared(site: Site) -> NodeState:
    """The nodes as queues share them: without what DaemonSets and static pods take on each."""
    if not site.daemons and site.fixed_used is None:
        return site.nodes
    held = np.zeros_like(site.nodes.used) if site.fixed_used is None else site.fixed_used
    return replace(site.nodes, allocatable=ints(np.maximum(site.nodes.allocatable - held, 0)))


def _findings(split: TierSplit, job: JobRow, own: _Placed) -> tuple[Finding, ...]:
    """Why something waits: the refusal of the nodes where there is one, else the finding of the queue."""
    if all(path.part.need == path.placed for path in own.parts):
        return ()
    found = own.refusal or job.finding
    return (found,) if found else ()


def _split(site: Site, workload: Workload, replicas: int) -> TierSplit:
    there, required = (
        0 if column is None else int(column.sum())
        for column in (site.present.get(workload.key), site.required.get(workload.key))
    )
    return parts(workload, replicas, there, required, site.tiers)


def _turn(split: TierSplit) -> tuple[int, bool, int, object]:
    workload = split.parts[0].workload
    return -workload.priority, not split.target, -workload.least_together, natural_key(workload.key)


def _place(
    site: Site,
    working: WorkingNodes,
    volumes: WorkingVolumes,
    split: TierSplit,
    limited: Sequence[TierPart],
    job: JobRow,
) -> _Placed:
    """Place what the queue grants, what must be on demand first; all of the gang's minimum or nothing."""
    granted = job.admitted - job.running
    mark, volume_mark = working.mark(), volumes.mark()
    paths: list[PartPath] = []
    for whole, part in zip(split.parts, limited, strict=True):
        share = min(part.need, granted)
        granted -= share
        paths.append(_place_part(site, working, volumes, whole, share, sum(path.granted for path in paths)))
    least = split.parts[0].workload.least_together
    there = sum(path.part.running + path.placed for path in paths)
    asked = sum(path.granted for path in paths)
    if asked and least > 1 and there < least:
        working.undo(mark)
        volumes.undo(volume_mark)
        why = gang_does_not_fit(paths, there, least)
        nothing = np.zeros(len(site.nodes.names), dtype=np.int64)
        return _Placed(tuple(replace(path, counts=nothing) for path in paths), why)
    unplaced = asked - sum(path.placed for path in paths)
    if unplaced:
        return _Placed(tuple(paths), no_node(paths, unplaced, asked))
    return _Placed(tuple(paths), None)


def _place_part(
    site: Site, working: WorkingNodes, volumes: WorkingVolumes, part: TierPart, share: int, before: int
) -> PartPath:
    """Place `share` replicas of the part, after those that `before` were granted to other parts."""
    if not share:
        return PartPath(part=part, granted=0, counts=np.zeros(len(site.nodes.names), dtype=np.int64))
    claims = site.claims.get(part.workload.key)
    there = site.present.get(part.workload.key)
    if claims is not None:
        return place_claimed(working, volumes, part, claims.waiting(before + share)[before:], there)
    grouping = working.place(part.shape, share, heights(part, there, working.current))
    if not grouping.unplaced:
        return PartPath(part=part, granted=share, counts=grouping.counts)
    short = shortage(part.shape, working.state, grouping.codes)
    return PartPath(
        part=part, granted=share, counts=grouping.counts, rejected=grouping.rejected(site.nodes), short=short
    )
