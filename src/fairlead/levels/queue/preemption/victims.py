"""Who may be evicted for whom. Every rule votes how many replicas of each group it lets go, or does not vote at all.

The least vote counts: the intersection. A rule without an opinion returns None, which is not a vote of zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fairlead.levels.queue.grants.gang import GangStep
from fairlead.levels.queue.state import State
from fairlead.model.jobs import UNSET, RunningTable

FRESH = -1
"""The row of replicas that were granted in this decision and do not run yet."""


@dataclass(slots=True)
class VictimGroup:
    """Equal replicas of one role: so many are left of them."""

    row: int
    job: int
    role: int
    node: int
    count: int
    priority: int
    preemptable: bool = True
    protected: bool = False
    budget: int = UNSET


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants room: the job, its gang, and the resources that it cannot have without an eviction."""

    job: int
    queue: int
    priority: int
    step: GangStep
    lacking: tuple[int, ...]


Vote = list[int] | None
Rule = Callable[[State, Claim, Sequence[VictimGroup], Sequence[int]], Vote]


def groups_of(state: State, running: RunningTable, fresh: Sequence[tuple[int, int, int, int]]) -> list[VictimGroup]:
    """Everything that holds room: what runs, and (job, role, node, count) granted just now."""
    columns = zip(
        running.job.tolist(),
        running.role.tolist(),
        running.node.tolist(),
        running.count.tolist(),
        running.priority.tolist(),
        running.preemptable.tolist(),
        running.protected.tolist(),
        running.budget.tolist(),
        strict=True,
    )
    priority = state.world.jobs.priority
    groups = [VictimGroup(row, *values) for row, values in enumerate(columns)]
    groups.extend(VictimGroup(FRESH, job, role, node, count, int(priority[job])) for job, role, node, count in fresh)
    return groups


def votes(
    state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int], without: Rule | None = None
) -> list[int]:
    """How many replicas of each group all rules let go together, all but one where that is given."""
    result = [group.count if group.job != claim.job else 0 for group in groups]
    for rule in RULES:
        if rule is without:
            continue
        vote = rule(state, claim, groups, allowed)
        if vote is not None:
            result = [min(before, now) for before, now in zip(result, vote, strict=True)]
    return result


def conformance(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """The system's own replicas stay."""
    if not any(group.protected for group in groups):
        return None
    return [0 if group.protected else group.count for group in groups]


def preemptable(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """Replicas that are marked as not preemptable stay."""
    if all(group.preemptable for group in groups):
        return None
    return [group.count if group.preemptable else 0 for group in groups]


def priority(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """Nobody is evicted for somebody of lower priority."""
    return [group.count if group.priority <= claim.priority else 0 for group in groups]


def budgets(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """No more than the disruption budgets allow; one that covers several groups is checked again at the choice."""
    if all(group.budget == UNSET for group in groups):
        return None
    return [group.count if group.budget == UNSET else min(group.count, allowed[group.budget]) for group in groups]


def deserved(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """Across queues: only from queues that may be reclaimed from and hold more than they deserve of what is lacking.

    Compared are the two branches below the nearest common ancestor; the claimant's must stay within what it deserves.
    It has no opinion on replicas of the claimant's own queue: they keep their full count.
    """
    queues = {state.queue_of[group.job] for group in groups}
    open_to = {queue: queue == claim.queue or over(state, claim, queue) != () for queue in queues}
    return [group.count if open_to[state.queue_of[group.job]] else 0 for group in groups]


def branch_of(state: State, claim: Claim, queue: int) -> int:
    """The queue's branch below the nearest ancestor that it shares with the claimant's queue."""
    mine, theirs = state.ledger.paths[claim.queue], state.ledger.paths[queue]
    return next(row for row, above in pairwise(theirs) if above in mine)


def over(state: State, claim: Claim, queue: int) -> tuple[tuple[int, int], ...]:
    """(resource, surplus) that the queue's branch holds beyond its right and the claimant may reclaim; () for none."""
    world, ledger = state.world, state.ledger
    if queue == UNSET or queue not in ledger.paths or not world.queues.reclaimable[queue]:
        return ()
    theirs = ledger.paths[queue]
    for row in ledger.paths[claim.queue]:
        if row in theirs:
            break
        if any(ledger.used[row][r] + claim.step.use[r] > world.deserved[row][r] for r in claim.lacking):
            return ()
    branch = branch_of(state, claim, queue)
    surplus = ((r, -int(world.deserved[branch][r] - ledger.used[branch][r])) for r in claim.lacking)
    return tuple((r, amount) for r, amount in surplus if ledger.used[branch][r] > world.deserved[branch][r])


RULES: tuple[Rule, ...] = (conformance, preemptable, priority, budgets, deserved)

FORBIDS: tuple[tuple[Rule, str], ...] = (
    (priority, "their priority is higher"),
    (budgets, "disruption budgets allow no more"),
    (preemptable, "they are marked as not preemptable"),
    (conformance, "they belong to the system"),
)
"""What is said of the rule that alone keeps others from making room."""
