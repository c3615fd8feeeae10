"""Placing replicas that have volume claims: where their volumes are, or can be made."""

import numpy as np

from fairlead.engine.shape_columns import Heights
from fairlead.engine.tier_parts import TierPart
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes, is_plain
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.group import Grouping
from fairlead.levels.node.heights import use
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Int
from fairlead.model.nodestate import NodeState
from fairlead.model.shape import Shape
from fairlead.model.workload import GLOBAL_GREEDY


def heights(part: TierPart, there: Int | None, state: NodeState) -> Heights | None:
    """What the strategy levels: replicas of the workload per node (`there`), or the use of the nodes."""
    if part.workload.strategy == GLOBAL_GREEDY:
        return use(state, part.shape)
    return None if there is None else (there, np.ones(len(state.names), dtype=np.int64))


def place_one_demand(
    working: WorkingNodes,
    volumes: WorkingVolumes,
    shape: Shape,
    demand: ClaimDemand,
    many: int,
    level: Heights | None,
) -> Grouping:
    """Place replicas with the same demand: one, unless the demand is plain.

    Beside a volume that is being made first, else where the volume can be reached from once it is there: so the live
    scheduler places them, too, one cycle after the other.
    """
    namespace = shape.namespace
    for bound in (False, True):
        seen = volumes.seen(namespace, demand, bound=bound)
        reached = reach(working.current, seen)
        grouping = working.place(shape, many, level, reached.passing)
        if not grouping.unplaced and not is_plain(demand):
            volumes.take(namespace, seen, reached, int(np.flatnonzero(grouping.counts)[0]))
        if not grouping.unplaced or not seen.open:
            break
    return grouping
