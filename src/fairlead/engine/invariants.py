"""What must hold of every plan of a site, checked on every plan (docs/decisions/0255).

1. counts add up   a part places no more than it was granted, nor granted more than it needs; nothing is negative
2. once            no replica is placed twice: what runs and what is placed is no more than what is asked for
3. gangs whole     a gang has its least number of replicas, or nothing new of it is placed
4. room            no node takes more of a resource than it had free, and `after` is `before` plus what is placed

A violation is a defect of Fairlead, never of the input, so it is an exception and not a reason.
"""

from collections.abc import Iterable

import numpy as np

from fairlead.engine.site_plan import PartPath, Path, SitePlan
from fairlead.model.columns import Int
from fairlead.model.errors import InvariantError
from fairlead.model.nodestate import NodeState


def check(plan: SitePlan) -> None:
    """Raise `InvariantError` where the plan of a site breaks a promise."""
    for path in plan.paths:
        _counts(path)
        _once(path)
        _whole(path)
    _room(plan.before, plan.after, [part for path in plan.paths for part in path.parts])


def _counts(path: Path) -> None:
    for part in path.parts:
        if len(part.counts) and int(part.counts.min()) < 0:
            raise _broken(path, "places a negative number of replicas on a node")
        if not 0 <= part.placed <= part.granted <= part.part.need:
            raise _broken(path, f"places {part.placed} of {part.granted} granted and {part.part.need} needed")
    placed = sum(part.placed for part in path.parts)
    if placed > path.job.admitted - path.job.running:
        raise _broken(path, f"places {placed}, more than the queue admits")


def _once(path: Path) -> None:
    running = sum(part.part.running for part in path.parts)
    placed = sum(part.placed for part in path.parts)
    if placed and running + placed > path.replicas:
        raise _broken(path, f"has {running} running and {placed} placed of {path.replicas} asked for")


def _whole(path: Path) -> None:
    placed = sum(part.placed for part in path.parts)
    there = placed + sum(part.part.running for part in path.parts)
    if placed and there < path.workload.least_together:
        raise _broken(path, f"has {there} of a gang of {path.workload.least_together}")


def _room(before: NodeState, after: NodeState, parts: Iterable[PartPath]) -> None:
    added = _added(before, parts)
    if not np.array_equal(after.used, before.used + added):
        raise InvariantError("the nodes after the plan are not the nodes before it plus what it places")
    over = (added > 0) & (after.used > before.allocatable)
    if over.any():
        row, column = (int(each[0]) for each in np.nonzero(over))
        raise InvariantError(
            f"node {before.names[row]}: {before.resources[column]} {after.used[row, column]} used "
            f"of {before.allocatable[row, column]}"
        )


def _added(nodes: NodeState, parts: Iterable[PartPath]) -> Int:
    """What all parts together add to each node."""
    added = np.zeros_like(nodes.used)
    for part in parts:
        rows = np.flatnonzero(part.counts)
        for name, amount in part.part.shape.request:
            column = nodes.column(name)
            if column is not None and len(rows):
                added[rows, column] += amount * part.counts[rows]
    return added


def _broken(path: Path, what: str) -> InvariantError:
    return InvariantError(f"{path.workload.key}: {what}")
