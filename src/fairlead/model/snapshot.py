"""The immutable view that a plan is made from: the fleet, and the inside of each cluster that is known.

A *site* is a cluster seen from inside: its nodes, what runs on them, its queues and its disks. The fleet knows
clusters by their room only. A snapshot of a single cluster has one site with an empty name and no fleet.
"""

from collections.abc import Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.model.balancing import BalancePolicy
from fairlead.model.budgets import Budget
from fairlead.model.claims import SiteVolumes, WorkloadClaims
from fairlead.model.columns import Int
from fairlead.model.daemons import Daemon
from fairlead.model.disks import DiskTable
from fairlead.model.division import DivisionAsk
from fairlead.model.nodestate import NodeState
from fairlead.model.population import Population
from fairlead.model.queuestate import QueueEntry
from fairlead.model.quotas import NamespaceQuota
from fairlead.model.storage import StorageVolume
from fairlead.model.tiers import Tiers
from fairlead.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One cluster from inside.

    `present` has for each workload key its running replicas per node row, `required` those of them that must stay on
    on-demand nodes. `weights` are those of namespaces (1 where none is named). `tiers` say how its nodes are told
    apart; a what-if that takes nodes away leaves them as they are.
    """

    name: str
    nodes: NodeState
    population: Population
    workloads: tuple[Workload, ...] = ()
    present: Mapping[str, Int] = field(default_factory=dict)
    required: Mapping[str, Int] = field(default_factory=dict)
    queues: tuple[QueueEntry, ...] = ()
    weights: Mapping[str, int] = field(default_factory=dict)
    disks: DiskTable | None = None
    volumes: tuple[StorageVolume, ...] = ()
    storage: BalancePolicy = BalancePolicy()
    tiers: Tiers = Tiers()
    quotas: tuple[NamespaceQuota, ...] = ()
    budgets: tuple[Budget, ...] = ()
    claims: Mapping[str, WorkloadClaims] = field(default_factory=dict)
    """By workload key, what volume claims demand of the nodes."""
    attached: SiteVolumes = SiteVolumes()
    daemons: tuple[Daemon, ...] = ()
    fixed: int = 0
    """The first so many replicas of the population stay with their node whatever happens to it."""
    fixed_used: Int | None = None
    """What these use of each node; None is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """`divided` are workloads that the fleet divides, by key, with the ask of each."""

    sites: tuple[Site, ...] = ()
    divided: tuple[tuple[Workload, DivisionAsk], ...] = ()
