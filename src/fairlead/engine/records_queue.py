"""A sharing as records: queues with their namespaces, and the jobs that wait."""

from collections.abc import Mapping
from typing import Any

from fairlead.levels.queue.result import Amounts, JobRow, NamespaceRow, QueueRow, Sharing
from fairlead.model.amounts import quantities


def sharing_record(decision: Sharing, weights: Mapping[str, int]) -> dict[str, Any]:
    """The answer as plain values; `weights` are those of queues. `starts` are replicas whose turn it is now."""
    return {
        "queues": [_queue(row, decision, weights) for row in decision.queues],
        "waiting": [_job(job) for job in decision.jobs if waits(job)],
        "pending": sum(map(waits, decision.jobs)),
    }


def waits(job: JobRow) -> int:
    """Replicas that are not on a node, whether it is their turn or not."""
    return job.pending + job.admitted - job.running


def _queue(row: QueueRow, decision: Sharing, weights: Mapping[str, int]) -> dict[str, Any]:
    return {
        "name": row.name,
        "weight": weights.get(row.name, 1),
        **_amounts(row.deserved, row.allocated, row.requested),
        "distance": float(row.distance),
        "reason": row.finding.code if row.finding is not None else None,
        "namespaces": [_namespace(each) for each in decision.namespaces if each.queue == row.name],
    }


def _namespace(row: NamespaceRow) -> dict[str, Any]:
    return {
        "name": row.namespace,
        "weight": row.weight,
        **_amounts(row.fair, row.allocated, row.requested),
        "distance": float(row.distance),
    }


def _job(job: JobRow) -> dict[str, Any]:
    return {
        "job": job.name,
        "queue": job.queue,
        "namespace": job.namespace,
        "running": job.running,
        "waiting": waits(job),
        "starts": job.admitted - job.running,
        "reason": job.finding.code if job.finding is not None else None,
        "message": job.finding.sentence if job.finding is not None else None,
        "cure": job.finding.reason.cure.value if job.finding is not None else None,
    }


def _amounts(deserved: Amounts, used: Amounts, asked: Amounts) -> dict[str, dict[str, str]]:
    return {"deserved": quantities(deserved), "used": quantities(used), "asked": quantities(asked)}
