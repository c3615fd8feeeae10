"""The plan: every level on one snapshot.

1. fleet   divides workloads over clusters
2. tier    says how many must be on demand        ┐
3. queue   says how many may start                ├ per site
4. node    says where                             ┘
5. disk    places storage replicas
"""

from collections.abc import Mapping

from fairlead.dataclass import dataclass
from fairlead.engine import reasons
from fairlead.engine.site import plan_site
from fairlead.engine.site_plan import SitePlan
from fairlead.levels.disk.balance import Balance, balance
from fairlead.levels.fleet.divide import Division, divide
from fairlead.model.division import DivisionAsk
from fairlead.model.progress import OnProgress, no_progress
from fairlead.model.reasons import Finding, because
from fairlead.model.snapshot import Snapshot
from fairlead.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """A workload that the fleet divides, and where its replicas go that no site of the snapshot takes."""

    workload: Workload
    division: Division
    beyond: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All decisions, in the order of the levels."""

    divided: tuple[Divided, ...]
    sites: tuple[SitePlan, ...]
    storage: Mapping[str, Balance]

    @property
    def unplaced(self) -> int:
        """Replicas and storage replicas that found no place at any level."""
        return (
            sum(each.division.unplaced for each in self.divided)
            + sum(path.unplaced for site in self.sites for path in site.paths)
            + sum(each.unplaced for each in self.storage.values())
        )


def plan(snapshot: Snapshot, on_progress: OnProgress = no_progress, after: Plan | None = None) -> Plan:
    """Decide everything that the snapshot asks for. The same snapshot gives the same plan.

    `on_progress` follows the workloads that are being placed. Where the snapshot is a change of another one, `after` is
    the plan of that: replicas stay where it has them, as far as they can.
    """
    names = {site.name for site in snapshot.sites}
    divided = tuple(_divide(workload, ask, names) for workload, ask in snapshot.divided)
    known = {} if after is None else {each.site.name: each for each in after.sites}
    sites = tuple(
        plan_site(
            site,
            [
                *((workload, workload.replicas) for workload in site.workloads),
                *((each.workload, each.division.placements.get(site.name, 0)) for each in divided),
            ],
            on_progress,
            known.get(site.name),
        )
        for site in snapshot.sites
    )
    storage = {
        site.name: balance(site.volumes, site.disks, site.storage)
        for site in snapshot.sites
        if site.disks is not None and site.volumes
    }
    return Plan(divided=divided, sites=sites, storage=storage)


def _divide(workload: Workload, ask: DivisionAsk, sites: set[str]) -> Divided:
    division = divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)
    beyond = tuple(
        because(reasons.SITE_UNKNOWN, replicas=replicas, cluster=cluster)
        for cluster, replicas in division.placements.items()
        if replicas and cluster not in sites
    )
    return Divided(workload=workload, division=division, beyond=beyond)
