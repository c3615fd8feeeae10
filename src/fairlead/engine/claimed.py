"""Placing replicas that have volume claims: where their volumes are, or can be made."""

import numpy as np

from fairlead.engine.shape_columns import Heights, There
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.engine.working_volumes import WorkingVolumes, is_plain
from fairlead.levels.node.constraints.claims import reach
from fairlead.levels.node.group import Grouping
from fairlead.model.claims import ClaimDemand
from fairlead.model.shape import Shape


def place_one_demand(
    working: WorkingNodes,
    volumes: WorkingVolumes,
    shape: Shape,
    demand: ClaimDemand,
    many: int,
    level: Heights | There,
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
