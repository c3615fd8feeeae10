"""One site through tier, queue and node: how many of each workload may start, and on which nodes they go."""

from collections.abc import Sequence

from fairlead.engine import invariants
from fairlead.engine.admission import admitted, quota_turns
from fairlead.engine.daemons import settled
from fairlead.engine.gangs import RoleGangs
from fairlead.engine.outcomes import outcomes
from fairlead.engine.share_and_place import share_and_place
from fairlead.engine.site_jobs import SiteJobs
from fairlead.engine.site_plan import Path, SitePlan
from fairlead.engine.staying import stayed
from fairlead.engine.tier_parts import TierSplit, parts
from fairlead.model.columns import Int
from fairlead.model.order import natural_key
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.snapshot import Site
from fairlead.model.workload import Workload


def plan_site(
    site: Site,
    asked: Sequence[tuple[Workload, int]],
    on_progress: OnProgress = no_progress,
    after: SitePlan | None = None,
) -> SitePlan:
    """Plan `asked` (each workload with its replicas here) on the site; replicas stay where the plan `after` which it
    comes has them, as far as they can."""
    before = site
    # 0. what runs on every node takes its room
    site, daemons = settled(site)
    gangs = RoleGangs(sorted(asked, key=lambda ask: natural_key(ask[0].key)))
    ordered = gangs.members(lambda workload: _sum(site.present.get(workload.key)))
    # 1. tier: which replicas must be on demand
    splits = [_split(site, workload, replicas) for workload, replicas in ordered]
    # 2. quotas: how many may be created
    limits, cut_short = admitted(site, splits, quota_turns(splits))
    # 3. queue and node: how many of each may start, and where they go
    jobs = SiteJobs(site, splits, limits, gangs)
    fits = jobs.fits()
    sharing = share_and_place(jobs.tables(), fits, on_progress=on_progress)
    if after is not None:
        sharing, fits = stayed(jobs, fits, sharing, after)
    then = fits.nodes.state
    # 4. what became of each, and why some wait
    became = outcomes(splits, jobs, fits, sharing)
    paths = tuple(
        Path(
            workload=workload,
            site=site.name,
            replicas=replicas,
            split=splits[row],
            job=became[row].job,
            parts=became[row].parts,
            findings=became[row].findings(cut_short.get(row)),
        )
        for row, (workload, replicas) in enumerate(ordered)
    )
    made = SitePlan(site=before, sharing=sharing, paths=(*paths, *daemons), before=before.nodes, after=then)
    # 5. what must hold of every plan
    invariants.check(made)
    return made


def _split(site: Site, workload: Workload, replicas: int) -> TierSplit:
    there, required = _sum(site.present.get(workload.key)), _sum(site.required.get(workload.key))
    return parts(workload, replicas, there, required, site.tiers)


def _sum(column: Int | None) -> int:
    return 0 if column is None else int(column.sum())
