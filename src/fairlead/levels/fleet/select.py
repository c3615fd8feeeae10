"""Which clusters may take part: the filters, in order, as a reason column."""

from collections.abc import Collection, Mapping

import numpy as np

from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.match import suits, untolerated
from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Codes, Int, rows_where
from fairlead.model.decision import Rejection
from fairlead.model.division import DividePolicy, FleetAffinity
from fairlead.model.reasons import Reason

CODES: Mapping[Reason, int] = {reason: place for place, reason in enumerate(reasons.FILTERS, 1)}


def filtered(
    clusters: ClusterTable, policy: DividePolicy, affinity: FleetAffinity | None, running: Collection[str]
) -> Codes:
    """A code for each cluster, 0 where it passes; the first filter that fails is told.

    `running` names the clusters that hold the workload now, with replicas or without. Taints and unserved kinds keep
    new things away and drive nothing out (docs/decisions/0215, 0216).
    """
    column = np.zeros(len(clusters), dtype=np.uint8)
    if not clusters.traits and affinity is None:
        return column
    for row, name in enumerate(clusters.names):
        traits = clusters.traits_of(row)
        if traits.unknown:
            column[row] = 0 if name in running else CODES[reasons.UNREADABLE]
        elif traits.deleting:
            column[row] = CODES[reasons.DELETING]
        elif affinity is not None and not suits(affinity, name, traits):
            column[row] = CODES[reasons.AFFINITY_MISMATCH]
        elif name not in running and traits.barred is not None:
            column[row] = CODES[traits.barred]
        elif name not in running and untolerated(traits.taints, policy.tolerations):
            column[row] = CODES[reasons.TAINT_NOT_TOLERATED]
        elif traits.evicting:
            column[row] = CODES[reasons.EVICTING]
    return column


def passing(
    clusters: ClusterTable, policy: DividePolicy, group: FleetAffinity | None, running: Collection[str]
) -> Codes:
    """As `filtered`, where a cluster that passes for an overflow of the group passes too."""
    column = filtered(clusters, policy, group, running)
    for overflow in group.overflow if group else ():
        column = np.where(filtered(clusters, policy, overflow, running) == 0, np.uint8(0), column)
    return column


def tiers_of(
    clusters: ClusterTable, policy: DividePolicy, group: FleetAffinity | None, running: Collection[str]
) -> list[Int]:
    """The rows of the group's own clusters, then those of each overflow: a cluster counts where it first appears.

    Inside a tier in natural order; a tier without clusters is left out.
    """
    left = np.ones(len(clusters), dtype=bool)
    tiers = []
    for affinity in (group, *(group.overflow if group else ())):
        rows = np.flatnonzero(left & (filtered(clusters, policy, affinity, running) == 0))
        left[rows] = False
        tiers.append(rows[np.argsort(clusters.rank[rows], kind="stable")])
    return [rows for rows in tiers if len(rows)]


def rejections(column: Codes, clusters: ClusterTable) -> tuple[Rejection, ...]:
    """The histogram of a reason column, with up to three names each."""
    counted = np.bincount(column, minlength=len(reasons.FILTERS) + 1).tolist()
    return tuple(
        Rejection(reason=reason, count=counted[code], names=rows_where(column == code, clusters.names))
        for reason, code in CODES.items()
        if counted[code]
    )


def why(rejected: tuple[Rejection, ...]) -> str:
    """The histogram in words: `2 TaintNotTolerated, 1 ClusterDeleting`."""
    return ", ".join(f"{rejection.count} {rejection.reason.code}" for rejection in rejected)
