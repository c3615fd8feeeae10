"""Workloads that run once on every node that they match (DaemonSets)."""

from fairlead.dataclass import dataclass
from fairlead.model.columns import Bool, Int
from fairlead.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """`wanted` are the nodes (rows) that one replica belongs to, `running` how many are there.

    A replica belongs to its node: it leaves with the node, never before, and no other node takes it.
    """

    workload: Workload
    wanted: Bool
    running: Int
