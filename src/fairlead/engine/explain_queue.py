"""A sharing as sentences: what each queue and namespace has and why, what stops each job, what would change it."""

from collections.abc import Iterator, Mapping

from fairlead.levels.queue.result import Sharing
from fairlead.model.amounts import quantity
from fairlead.model.reasons import Cure

_CURES = {
    Cure.ROOM: "it starts when room is given back or added",
    Cure.EVICTION: "taking room from others (preemption) would change it",
    Cure.EDIT: "a change of the job or of a queue would change it",
    Cure.NOTHING: "nothing needs to change",
}
MOST = 50
"""Jobs told one by one; the others are counted by reason."""


def lines(decision: Sharing) -> tuple[str, ...]:
    """One line for the whole, one a queue and namespace, one a job that waits, one an eviction."""
    return (*_whole(decision), *_queues(decision), *_jobs(decision), *_evictions(decision))


def replicas(count: int) -> str:
    """The number with its word."""
    return "1 replica" if count == 1 else f"{count} replicas"


def _amounts(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{quantity(name, amount)} {name}" for name, amount in amounts.items()) or "nothing"


def _whole(decision: Sharing) -> Iterator[str]:
    new = sum(decision.placements.values())
    waiting = sum(1 for job in decision.jobs if job.pending)
    yield f"{replicas(new)} may start; {replicas(decision.unplaced)} of {waiting} jobs wait."


def _queues(decision: Sharing) -> Iterator[str]:
    for queue in decision.queues:
        text = f"queue {queue.name} deserves {_amounts(queue.deserved)}, asks for {_amounts(queue.requested)}"
        yield f"{text} and has {_amounts(queue.allocated)}{_off(float(queue.distance))}."
        if queue.finding is not None:
            yield f"queue {queue.name}: {queue.finding.sentence} ({queue.finding.code})."
        for row in decision.namespaces:
            if row.queue == queue.name:
                fair = f"weight {row.weight} gives it {_amounts(row.fair)} of {_amounts(row.requested)} asked for"
                yield f"  {row.namespace}: {fair}; it has {_amounts(row.allocated)}{_off(float(row.distance))}."


def _off(distance: float) -> str:
    return f", {distance:.1%} of the whole from its fluid share" if distance else ""


def _jobs(decision: Sharing) -> Iterator[str]:
    waiting = [job for job in decision.jobs if job.pending and job.finding is not None]
    for job in waiting[:MOST]:
        assert job.finding is not None  # filtered above
        finding = job.finding
        yield (
            f"{job.name}: {job.admitted} of {job.admitted + job.pending} admitted; "
            f"{finding.sentence} ({finding.code}); {_CURES[finding.reason.cure]}."
        )
    if len(waiting) > MOST:
        for rejection in decision.trace.rejected:
            yield f"{rejection.count} jobs in all wait for {rejection.reason.code}."


def _evictions(decision: Sharing) -> Iterator[str]:
    for victim in decision.victims:
        within = "of the same queue" if victim.action == "preempt" else "of another queue"
        yield f"For {victim.beneficiary} {within} {replicas(victim.count)} of {victim.job} must go."
    for note in decision.trace.notes:
        yield f"{note}."
    if decision.reserved is not None:
        yield f"What is free is kept for {decision.reserved}, which has waited longest."
