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


def tiers_of(clusters: ClusterTable, policy: DividePolicy, group: FleetAffinity, running: Collection[str]) -> Int:
    """The tier of each cluster: 0 for the group's own, then one for each overflow in order; −1 where none takes it.

    A cluster counts in the first tier that names it.
    """
    tiers = np.full(len(clusters), -1, dtype=np.int64)
    for tier, affinity in enumerate((group, *group.overflow)):
        tiers[(tiers < 0) & (filtered(clusters, policy, affinity, running) == 0)] = tier
    return tiers


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
