"""Which replicas may be evicted for which job. Every rule votes how many of each group it lets go, or does not vote.

The least vote counts: the intersection. A rule without an opinion returns None, which is not a vote of zero.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise, repeat

from fairlead.dataclass import dataclass
from fairlead.levels.queue.grants.gang import GangStep
from fairlead.levels.queue.state import State
from fairlead.model.jobs import UNSET, RunningTable

FRESH = -1
"""The row of replicas that were granted in this decision and do not run yet."""
Standing = tuple[int, ...]
"""Their priority, then those of their queues from the top down: what is lower goes first (docs/decisions/0280)."""


@dataclass(slots=True)
class VictimGroup:
    """Equal replicas of one role: so many are left of them."""

    row: int
    job: int
    role: int
    node: int
    count: int
    priority: int
    standing: Standing
    preemptable: bool = True
    protected: bool = False
    budget: int = UNSET
    ages: tuple[int, ...] = ()
    """Places of its replicas by age in their role, the youngest first; they go in this order."""

    @property
    def youngest(self) -> int:
        """The place by age of the replica that goes next."""
        return self.ages[len(self.ages) - self.count] if self.ages and self.count else 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that wants room: its gang, and the resources that it cannot have without an eviction."""

    job: int
    queue: int
    priority: int
    step: GangStep
    lacking: tuple[int, ...]
    elastic: bool = False
    """It has its gang, and takes from no other gang."""


Vote = list[int] | None
Rule = Callable[[State, Claim, Sequence[VictimGroup], Sequence[int]], Vote]


def groups_of(state: State, running: RunningTable, fresh: Sequence[tuple[int, int, int, int]]) -> list[VictimGroup]:
    """Everything that holds room: what runs, and (job, role, node, count) granted just now."""
    jobs: list[int] = running.job.tolist()
    above = _queue_priorities(state)
    columns = zip(
        jobs,
        running.role.tolist(),
        running.node.tolist(),
        running.count.tolist(),
        running.priority.tolist(),
        ((first, *above[state.queue_of[job]]) for first, job in zip(running.priority.tolist(), jobs, strict=True)),
        running.preemptable.tolist(),
        running.protected.tolist(),
        running.budget.tolist(),
        running.ages or repeat((), len(running)),
        strict=True,
    )
    groups = [VictimGroup(row, *values) for row, values in enumerate(columns)]
    for job, role, node, count in fresh:
        first = int(state.world.jobs.priority[job])
        groups.append(VictimGroup(FRESH, job, role, node, count, first, (first, *above[state.queue_of[job]])))
    return groups


def _queue_priorities(state: State) -> dict[int, Standing]:
    """For each queue its priority after those of the queues above it."""
    ranks = state.world.queues.priority.tolist()
    found = {queue: tuple(ranks[row] for row in reversed(path[:-1])) for queue, path in state.ledger.paths.items()}
    return {**dict.fromkeys((*range(len(ranks)), UNSET), ()), **found}


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
    """A job of lower priority has no victims."""
    return [group.count if group.priority <= claim.priority else 0 for group in groups]


def budgets(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """No more than the disruption budgets allow; one that covers several groups is checked again at the choice."""
    if all(group.budget == UNSET for group in groups):
        return None
    return [group.count if group.budget == UNSET else min(group.count, allowed[group.budget]) for group in groups]


def deserved(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """Across queues: only from queues that may be reclaimed from and hold more than they deserve of what is lacking.

    Compared are the two branches below the nearest common ancestor; the claimant's must stay within what it deserves
    of the same resource.
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
    branch = branch_of(state, claim, queue)
    surplus = ((r, -int(world.deserved[branch][r] - ledger.used[branch][r])) for r in within(state, claim, queue))
    return tuple((r, amount) for r, amount in surplus if ledger.used[branch][r] > world.deserved[branch][r])


def within(state: State, claim: Claim, queue: int) -> tuple[int, ...]:
    """Of what is lacking, that of which the claimant's branch, beside another queue's, stays within its right."""
    world, ledger = state.world, state.ledger
    theirs = ledger.paths[queue]
    mine = [row for row in ledger.paths[claim.queue] if row not in theirs]
    return tuple(
        r
        for r in claim.lacking
        if all(ledger.used[row][r] + claim.step.use[r] <= world.deserved[row][r] for row in mine)
    )


def gangs(state: State, claim: Claim, groups: Sequence[VictimGroup], allowed: Sequence[int]) -> Vote:
    """A replica above its own gang breaks no other; for a gang others may go as a whole."""
    if not claim.elastic:
        return None
    members = state.members
    above = {job: max(0, members.count(job) - members.minimum(job)) for job in {group.job for group in groups}}
    return [min(group.count, above[group.job]) for group in groups]


RULES: tuple[Rule, ...] = (conformance, preemptable, priority, budgets, deserved, gangs)
