"""The decisions for one site, level by level: what `plan_site` returns and everything else reads."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.engine.tier_parts import TierPart, TierSplit
from fairlead.levels.queue.result import JobRow, Sharing
from fairlead.model.columns import Int
from fairlead.model.decision import Rejection
from fairlead.model.nodestate import NodeState
from fairlead.model.reasons import Finding
from fairlead.model.snapshot import Site
from fairlead.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class PartPath:
    """Where the replicas of one part go: `granted` by the queue, `counts` per node row, `rejected` why not more.

    `short` says what nodes without room lack.
    """

    part: TierPart
    granted: int
    counts: Int
    rejected: tuple[Rejection, ...] = ()
    short: str = ""

    @property
    def placed(self) -> int:
        """New replicas that found a node."""
        return int(self.counts.sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """One workload on one site, level by level."""

    workload: Workload
    site: str
    replicas: int
    split: TierSplit
    job: JobRow
    parts: tuple[PartPath, ...]
    findings: tuple[Finding, ...]

    @property
    def unplaced(self) -> int:
        """Replicas asked for that neither run nor were placed."""
        return sum(path.part.need - path.placed for path in self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class SitePlan:
    """The decisions for one site; `before` and `after` are its nodes without and with the plan."""

    site: Site
    sharing: Sharing
    paths: tuple[Path, ...]
    before: NodeState
    after: NodeState


def spots(path: PartPath, names: Sequence[str]) -> Mapping[str, int]:
    """The counts by node name, zeros left out."""
    rows = np.flatnonzero(path.counts)
    return {names[row]: count for row, count in zip(rows.tolist(), path.counts[rows].tolist(), strict=True)}
