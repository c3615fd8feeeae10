"""Placing replicas that have volume claims: where their volumes are, or can be made."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fairlead.engine.refusals import shortage
from fairlead.engine.shape_columns import Heights
from fairlead.engine.site_plan import PartPath
from fairlead.engine.tier_parts import TierPart
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes, is_plain
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.group import Grouping
from fairlead.levels.node.heights import use
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Int
from fairlead.model.decision import Rejection
from fairlead.model.nodestate import NodeState


def heights(part: TierPart, there: Int | None, state: NodeState) -> Heights | None:
    """What the strategy levels: replicas of the workload per node (`there`), or the use of the nodes."""
    if part.workload.strategy == "global-greedy":
        return use(state, part.shape)
    return None if there is None else (there, np.ones(len(state.names), dtype=np.int64))


def place_claimed(
    working: WorkingNodes, volumes: WorkingVolumes, part: TierPart, demands: Sequence[ClaimDemand], there: Int | None
) -> PartPath:
    """Place a replica for each demand; those that take nothing from one another together.

    `there` are the replicas of the workload on each node.
    """
    counts = np.zeros(len(working.rank), dtype=np.int64)
    rejected: tuple[Rejection, ...] = ()
    short = ""
    for demand, left in Counter(demands).items():
        each = left if is_plain(demand) else 1
        for _ in range(0, left, each):
            level = heights(part, counts if there is None else there + counts, working.current)
            grouping = place_one_demand(working, volumes, part, demand, each, level)
            counts = counts + grouping.counts
            if grouping.unplaced:
                # The others with this demand find no other answer.
                if not rejected:
                    rejected = grouping.rejected(working.current)
                    short = shortage(part.shape, working.current, grouping.codes)
                break
    return PartPath(part=part, granted=len(demands), counts=counts, rejected=rejected, short=short)


def place_one_demand(
    working: WorkingNodes,
    volumes: WorkingVolumes,
    part: TierPart,
    demand: ClaimDemand,
    many: int,
    level: Heights | None,
) -> Grouping:
    """Place replicas with the same demand: one, unless the demand is plain.

    Beside a volume that is being made first, else where the volume can be reached from once it is there: so the live
    scheduler places them, too, one cycle after the other.
    """
    namespace = part.workload.namespace
    for bound in (False, True):
        seen = volumes.seen(namespace, demand, bound=bound)
        reached = reach(working.current, seen)
        grouping = working.place(part.shape, many, level, reached.passing)
        if not grouping.unplaced and not is_plain(demand):
            volumes.take(namespace, seen, reached, int(np.flatnonzero(grouping.counts)[0]))
        if not grouping.unplaced or not seen.open:
            break
    return grouping
