"""The tables of the queue level for a site: workloads as jobs, their parts as roles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from types import MappingProxyType

from fairlead.dataclass import dataclass
from fairlead.engine.tier_parts import TierPart
from fairlead.model.columns import totals
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_key, natural_sorted
from fairlead.model.queuestate import Amounts, QueuedJob, QueueEntry, QueueState, Role, RunningReplicas, queue_state
from fairlead.model.workload import Workload

DEFAULT = "default"
"""The queue of workloads that name none; it is there whether declared or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteJob:
    """Workloads that start together, most often one; `parts` are their roles. The first workload speaks for all."""

    workload: Workload
    parts: Sequence[TierPart]
    least_together: int
    minimums: Sequence[int]
    """How many replicas of each part are among those that start together."""
    name: str = ""
    """The key of the workload where it is not given."""


def site_state(
    nodes: NodeState,
    jobs: Sequence[SiteJob],
    queues: Sequence[QueueEntry],
    weights: Mapping[str, int],
    kept: Amounts = MappingProxyType({}),
) -> QueueState:
    """The tables: what open nodes offer together with what the jobs have `kept` on closed ones, and the jobs.

    Resources that no node has do not count here: the nodes refuse them. What has no time is younger than all that has.
    """
    declared = {queue.name: queue for queue in queues}
    declared.setdefault(DEFAULT, QueueEntry(name=DEFAULT))
    whole = totals(nodes.allocatable[~nodes.unschedulable])
    times = [job.workload.created for job in jobs]
    ages = {"": inf} | {created: float(age) for age, created in enumerate(sorted({*times} - {""}))}
    return queue_state(
        jobs=[_job(job, ages[time], nodes.resources) for job, time in zip(jobs, times, strict=True)],
        queues=[_queue(declared[name], nodes.resources) for name in natural_sorted(declared)],
        weights=weights,
        past={},
        whole={name: amount + kept.get(name, 0) for name, amount in zip(nodes.resources, whole, strict=True)},
    )


def _job(job: SiteJob, created: float, resources: Sequence[str]) -> QueuedJob:
    workload = job.workload
    return QueuedJob(
        name=job.name or workload.key,
        queue=workload.queue or DEFAULT,
        namespace=workload.namespace,
        roles=tuple(
            Role(
                name=part.tier,
                replicas=part.running + part.need,
                request=_known(dict(part.shape.request), resources),
                minimum=minimum,
                held=(RunningReplicas(count=part.running),),
            )
            for part, minimum in zip(job.parts, job.minimums, strict=True)
        ),
        min_member=job.least_together,
        min_resources=dict(workload.min_resources),
        priority=max(part.workload.priority for part in job.parts),
        created=created,
        sorts_as=natural_key(workload.gang or workload.title),
    )


def _queue(queue: QueueEntry, resources: Sequence[str]) -> QueueEntry:
    return replace(
        queue,
        capability=_known(queue.capability, resources),
        guarantee=_known(queue.guarantee, resources),
        deserved=_known(queue.deserved, resources),
    )


def _known(amounts: Amounts, resources: Sequence[str]) -> Amounts:
    """The amounts of resources that are there."""
    return {name: amount for name, amount in amounts.items() if name in resources}
