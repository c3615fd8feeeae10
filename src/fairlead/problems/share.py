"""The JSON of `fairlead share`."""

from typing import Any

from fairlead.levels.queue.fits import Fits
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.levels.queue.result import JobRow, NamespaceRow, QueueRow, Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.amounts import quantities
from fairlead.model.decision import decision_record
from fairlead.model.errors import InputError
from fairlead.model.queuestate import QueueState
from fairlead.model.reasons import Finding
from fairlead.problems.share_fields import ShareProblem
from fairlead.problems.share_state import moment, state_of

PROBLEM = ShareProblem
"""What `cli.verb` decodes."""


def solve(problem: ShareProblem) -> Sharing:
    """Whose turn it is, and how far everybody gets."""
    now = moment(problem.now, "$.now")
    if now is None and (problem.reserve_after is not None or problem.half_life is not None):
        raise InputError("$.now", "is missing; expected the time that reserveAfter and halfLife are counted to")
    policy = SharePolicy(preempt=problem.preempt, reserve_after=problem.reserve_after)
    return solve_state(state_of(problem, now), policy, int(now or 0))


def solve_state(state: QueueState, policy: SharePolicy, now: int = 0, fits: Fits | None = None) -> Sharing:
    """The decision on tables, with the nodes asked where there are any: `fits`, or by their free amounts."""
    if fits is None and state.room is not None:
        fits = NodeRoom(state.jobs.resources, state.room.free, state.jobs.role_request, state.room.eligible)
    return share(
        state.jobs,
        state.queues,
        state.namespaces,
        state.whole,
        fits,
        running=state.running,
        policy=policy,
        now=now,
    )


def answer(problem: ShareProblem, decision: Sharing) -> dict[str, Any]:
    """The decision as JSON values."""
    return record(decision, preempt=problem.preempt)


def record(decision: Sharing, *, preempt: bool) -> dict[str, Any]:
    """The JSON of a sharing; `victims` and `evictions` where it was allowed to evict."""
    result = {
        "queues": {row.name: _queue(row) for row in decision.queues},
        "namespaces": [_namespace(row) for row in decision.namespaces],
        "jobs": {row.name: _job_record(row) for row in decision.jobs},
        **decision_record(decision),
    }
    if preempt:
        result |= victims(decision)
    if decision.reserved is not None:
        result["reserved"] = decision.reserved
    return result


def victims(decision: Sharing) -> dict[str, Any]:
    """`victims`: replicas evicted by job; `evictions`: the same with beneficiary and action."""
    sums: dict[str, int] = {}
    for victim in decision.victims:
        sums[victim.job] = sums.get(victim.job, 0) + victim.count
    return {
        "victims": sums,
        "evictions": [
            {"job": each.job, "replicas": each.count, "for": each.beneficiary, "action": each.action}
            for each in decision.victims
        ],
    }


def _queue(row: QueueRow) -> dict[str, Any]:
    return {
        "deserved": quantities(row.deserved),
        "allocated": quantities(row.allocated),
        "requested": quantities(row.requested),
        "share": float(row.share),
        "distance": float(row.distance),
        **_reason(row.finding),
    }


def _namespace(row: NamespaceRow) -> dict[str, Any]:
    return {
        "queue": row.queue,
        "namespace": row.namespace,
        "weight": row.weight,
        "allocated": quantities(row.allocated),
        "requested": quantities(row.requested),
        "fair": quantities(row.fair),
        "share": float(row.share),
        "distance": float(row.distance),
    }


def _job_record(row: JobRow) -> dict[str, Any]:
    return {"admitted": row.admitted, "running": row.running, "pending": row.pending, **_reason(row.finding)}


def _reason(finding: Finding | None) -> dict[str, Any]:
    if finding is None:
        return {"reason": None}
    return {"reason": finding.code, "message": finding.sentence, "cure": finding.reason.cure.value}
