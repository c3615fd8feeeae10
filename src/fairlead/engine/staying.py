"""A changed plan keeps to the one before it: replicas stay where that has them, as far as nodes still take them.

How many replicas of each workload may start is decided anew. Where they go is not, for otherwise the answer to what
happens when a node is drained names moves that need not be made (docs/decisions/0445).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fairlead.engine.shape_columns import sparse
from fairlead.engine.site_fits import SiteFits
from fairlead.engine.site_jobs import SiteJobs
from fairlead.engine.site_plan import SitePlan
from fairlead.kernel.level import level
from fairlead.levels.node.constraints.feasible import Constraints
from fairlead.levels.node.constraints.reasons import VOLUME_ELSEWHERE
from fairlead.levels.node.group import NodeGroup, place_group
from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.result import Sharing
from fairlead.model.columns import Int


def stayed(jobs: SiteJobs, fits: SiteFits, sharing: Sharing, before: SitePlan) -> tuple[Sharing, SiteFits]:
    """As many replicas of every role as `sharing` starts, on the nodes where `before` has them if these take them.

    Roles come in the order in which `sharing` has placed them; those with volumes follow these. What was decided stands
    where a replica would be left without a node, or no more of them would stay.
    """
    again, there = jobs.fits(), _before(before, len(fits.nodes.rank))
    known = {role: there.get(like.part.key) for role, like in enumerate(jobs.roles) if like.demand is None}
    spots: dict[int, Spots] = {}
    for role, own in sharing.spots.items():
        count, column = sum(own.values()), known.get(role)
        kept = {} if column is None else _kept(again, role, count, column)
        left = count - sum(kept.values())
        if again.room({role: left})[role] < left:
            return sharing, fits
        spots[role] = Counter(kept) + Counter(again.take(role, left))
    if _staying(spots, known) <= _staying(sharing.spots, known):
        return sharing, fits
    return replace(sharing, spots=spots), again


def _staying(spots: Mapping[int, Spots], before: Mapping[int, Int | None]) -> int:
    """How many replicas are where they were."""
    columns = ((own, column) for role, own in spots.items() if (column := before.get(role)) is not None)
    return sum(min(count, int(column[row])) for own, column in columns for row, count in own.items())


def _before(plan: SitePlan, nodes: int) -> dict[str, Int]:
    """By part how many of its replicas the plan places on each of so many nodes: new nodes come after all others."""
    parts = [part for path in plan.paths for part in path.parts]
    return {each.part.key: np.pad(each.counts, (0, nodes - len(each.counts))) for each in parts}


def _kept(fits: SiteFits, role: int, most: int, before: Int) -> Spots:
    """Put at most so many replicas back where they were."""
    rows, counts = sparse(_where(fits, role, most, before))
    spots = dict(zip(rows.tolist(), counts.tolist(), strict=True))
    fits.put(role, spots)
    return spots


def _where(fits: SiteFits, role: int, most: int, before: Int) -> Int:
    """As many as there were and still fit on each node, fewer on all alike where fewer are left.

    Replicas that mind neighbours are placed anew on the nodes where they were: some may no longer go together.
    """
    state, population, shape = fits.nodes.current, fits.nodes.population, fits.shape(role)
    constraints, step = Constraints(state, shape, population), np.ones_like(before)
    if constraints.independent:
        room = np.where(constraints.allowed(), constraints.left, 0)
        return level(most, np.zeros_like(before), step, np.minimum(before, room), tie_rank=fits.nodes.rank)
    group = NodeGroup(shape=shape, need=min(most, int(before.sum())), base=-before, step=step)
    also = {VOLUME_ELSEWHERE: before > 0}
    return place_group(state, population, group, rank=fits.nodes.rank, also=also).counts
