"""Static divisions as whole matrices: what the batch does, without the asks and answers around it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairlead.levels.fleet import draw
from fairlead.levels.fleet.static import Rows, StaticRule
from fairlead.levels.fleet.static_batch import PriorBatch, settle_many
from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Bool, Int
from fairlead.model.division import DividePolicy, Reschedule, Sticky


@dataclass(frozen=True, slots=True, kw_only=True)
class Divisions:
    """Replicas of every workload on every cluster. `unplaced` is all of it where no cluster has weight."""

    counts: Int
    floors: Int
    residual: Int
    rule: Int
    unplaced: Int

    @property
    def kept(self) -> Bool:
        """Where the whole prior was reused."""
        return np.equal(self.rule, StaticRule.REUSE)


def divide_many(
    uids: Sequence[str],
    replicas: Int,
    clusters: ClusterTable,
    policy: DividePolicy,
    *,
    weights: Int | None = None,
    capacity: Int | None = None,
    prior: PriorBatch | None = None,
) -> Divisions:
    """Divide replicas[m] of each workload over the clusters by static weight.

    `weights` and `capacity` are [m, n], by default those of the table. Row for row equal to `divide`, except with
    `balance_residuals`: then, over the batch, clusters with equal weights and room differ by at most one residual
    (where no prior is kept). Bounds, affinity and spread are not for matrices: use `divide`.
    """
    shape = (len(uids), len(clusters))
    rows = Rows(
        uids=draw.uid_digests(uids),
        targets=draw.digests(clusters.names),
        rank=clusters.rank,
        weights=np.broadcast_to(clusters.weights if weights is None else weights, shape),
        units=replicas,
        capacity=_capacity(clusters, capacity, shape),
        coefficient=policy.coefficient,
        sticky=Sticky.NONE if policy.reschedule is Reschedule.FRESH else policy.sticky,
    )
    settled = settle_many(rows, prior, balanced=policy.balance_residuals)
    unplaced = replicas - settled.counts.sum(axis=1)
    return Divisions(
        counts=settled.counts,
        floors=settled.floors,
        residual=settled.residual,
        rule=settled.rule,
        unplaced=unplaced,
    )


def _capacity(clusters: ClusterTable, given: Int | None, shape: tuple[int, int]) -> Int | None:
    if given is None:
        return np.broadcast_to(clusters.capacity, shape) if clusters.reports_room else None
    return given if (given >= 0).all() else None
