"""Why no replica makes room for a job of a queue that is short, although evictions are allowed.

Asked in this order: the job itself may not evict, the search did not come so far, one rule alone forbids it, the rights
of the queues forbid it, it would not be fairer, the nodes; where several rules forbid it together, that.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from fairlead.levels.queue import reasons
from fairlead.levels.queue.preemption.preempt import Preemption
from fairlead.levels.queue.preemption.victims import (
    Claim,
    Rule,
    VictimGroup,
    budgets,
    conformance,
    deserved,
    gangs,
    preemptable,
    priority,
    votes,
    within,
)
from fairlead.model.jobs import UNSET
from fairlead.model.reasons import Finding, because

ALONE: tuple[tuple[Rule, str], ...] = (
    (priority, "their priority is higher"),
    (budgets, "disruption budgets allow no more"),
    (preemptable, "they are marked as not preemptable, or have not run for their cooldown time"),
    (conformance, "they belong to the system"),
    (gangs, "a replica above its gang breaks no other gang"),
)
"""What is said of the rule that alone keeps others from making room."""
NEVER = "its preemption policy is Never"
LATER = "the search for victims goes on in the next cycle"
NO_GAIN = "an eviction would not make the shares more even"
NO_NODE = "no eviction that the rules allow makes room on nodes"
TOGETHER = "several rules protect them"
UNUSABLE = "queues that cannot be used hold the room"

Question = tuple[int, int, tuple[int, ...], tuple[int, ...], bool]


class WhyNoVictims:
    """Answers for the jobs of one decision, after its search for victims; equal questions are asked once."""

    def __init__(self, preemption: Preemption) -> None:
        self.all = preemption
        self._answers: dict[Question, str] = {}

    def findings(self, found: Mapping[int, Finding], started: Collection[int]) -> dict[int, Finding]:
        """What is to be said of the jobs of queues that are short."""
        short = [job for job, each in found.items() if each.reason is reasons.ROOM_HELD and job not in started]
        rules = {job: self.rule(job) for job in short}
        return {
            job: because(reasons.ROOM_PROTECTED, **{**found[job].details, "rule": rule}) for job, rule in rules.items()
        }

    def rule(self, job: int) -> str:
        """Why no replica is evicted for the job, in words."""
        if not self.all.state.world.jobs.preempts[job]:
            return NEVER
        if job in self.all.untried:
            return LATER
        claim = self.all.claim(job)
        question = claim.queue, claim.priority, claim.lacking, tuple(claim.step.need), claim.elastic
        if question not in self._answers:
            self._answers[question] = self._answer(claim)
        return self._answers[question]

    def _answer(self, claim: Claim) -> str:
        # What the queue itself holds would make room and bring it no nearer to its share: others are asked about first.
        for others in (True, False):
            if self._frees(claim, None, others=others):
                return NO_GAIN if claim.job in self.all.outvoted or self.all.fits is None else NO_NODE
            alone = next((words for rule, words in ALONE if self._frees(claim, rule, others=others)), "")
            if alone:
                return alone
        if self._frees(claim, deserved):
            return self._rights(claim)
        return UNUSABLE if any(not self._usable(group) for group in self.all.groups) else TOGETHER

    def _usable(self, group: VictimGroup) -> bool:
        """Whether the queue of these replicas exists and can be used."""
        return self.all.state.queue_of[group.job] in self.all.state.ledger.paths

    def _frees(self, claim: Claim, without: Rule | None, *, others: bool = False) -> bool:
        """Whether there would be room in sum if everything went, of `others` only, that the rules but one let go."""
        limits = votes(self.all.state, claim, self.all.groups, self.all.allowed, without)
        jobs: dict[int, list[tuple[VictimGroup, int]]] = defaultdict(list)
        for group, limit in zip(self.all.groups, limits, strict=True):
            if limit and self._usable(group) and not (others and self.all.state.queue_of[group.job] == claim.queue):
                jobs[group.job].append((group, limit))
        return self.all.room_without(claim, self._together(jobs, bounded=without is not budgets))

    def _together(
        self, jobs: Mapping[int, Sequence[tuple[VictimGroup, int]]], *, bounded: bool
    ) -> list[tuple[VictimGroup, int]]:
        """What can go together: a gang as a whole or what is above it, all within the budgets; small jobs first."""
        members, left = self.all.state.members, list(self.all.allowed)
        going: list[tuple[VictimGroup, int]] = []
        for job in sorted(jobs, key=lambda each: (members.count(each), each)):
            taken = _within(jobs[job], left, members.count(job), bounded=bounded)
            if sum(count for _, count in taken) < members.count(job):
                taken = _within(jobs[job], left, max(0, members.count(job) - members.minimum(job)), bounded=bounded)
            for group, count in taken:
                if group.budget != UNSET:
                    left[group.budget] -= count
            going += taken
        return going

    def _rights(self, claim: Claim) -> str:
        """How the rights of the queues forbid it."""
        state = self.all.state
        world, name = state.world, state.world.queues.names[claim.queue]
        lacking = " and ".join(world.jobs.resources[r] for r in claim.lacking)
        others = {state.queue_of[group.job] for group in self.all.groups if group.count} - {claim.queue}
        held = [queue for queue in others if queue in state.ledger.paths]
        if not any(within(state, claim, queue) for queue in held):
            return f"queue {name} would then hold more {lacking} than it deserves"
        if not any(world.queues.reclaimable[queue] for queue in held):
            return "their queues are not reclaimable"
        return f"no queue that may be reclaimed from holds more {lacking} than it deserves"


def _within(
    groups: Sequence[tuple[VictimGroup, int]], left: Sequence[int], most: int, *, bounded: bool
) -> list[tuple[VictimGroup, int]]:
    """So many replicas of these groups at most, and no more than their budgets have left."""
    spent: dict[int, int] = {}
    taken = []
    for group, limit in groups:
        if bounded and group.budget != UNSET:
            limit = min(limit, left[group.budget] - spent.get(group.budget, 0))
        limit = min(limit, most)
        most -= limit
        spent[group.budget] = spent.get(group.budget, 0) + limit
        if limit > 0:
            taken.append((group, limit))
    return taken
