"""The queue level on a site: workloads as jobs, and how many replicas of each may start."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairlead.engine.tier_parts import TierPart
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import admitted, share
from fairlead.model.columns import totals
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_sorted
from fairlead.model.queuestate import Amounts, QueuedJob, QueueEntry, QueueState, Role, RunningReplicas, queue_state
from fairlead.model.workload import Workload

DEFAULT = "default"
"""The queue of workloads that name none; it is there whether declared or not."""


def share_site(
    nodes: NodeState,
    jobs: Sequence[tuple[Workload, Sequence[TierPart]]],
    queues: Sequence[QueueEntry],
    weights: Mapping[str, int],
) -> Sharing:
    """Share what the nodes offer between the workloads; every part of a workload is a role of its job.

    Resources that no node has do not count here: the nodes refuse them.
    """
    state = _state(nodes, jobs, queues, weights)
    return share(state.jobs, state.queues, state.namespaces, state.whole)


def admitted_on_site(
    nodes: NodeState,
    jobs: Sequence[tuple[Workload, Sequence[TierPart]]],
    queues: Sequence[QueueEntry],
    weights: Mapping[str, int],
) -> list[int]:
    """How many replicas of each workload may run: as `share_site`, without the reasons."""
    state = _state(nodes, jobs, queues, weights)
    return admitted(state.jobs, state.queues, state.namespaces, state.whole)


def _state(
    nodes: NodeState,
    jobs: Sequence[tuple[Workload, Sequence[TierPart]]],
    queues: Sequence[QueueEntry],
    weights: Mapping[str, int],
) -> QueueState:
    declared = {queue.name: queue for queue in queues}
    declared.setdefault(DEFAULT, QueueEntry(name=DEFAULT))
    whole = totals(nodes.allocatable[~nodes.unschedulable])
    ages = {created: float(age) for age, created in enumerate(sorted({workload.created for workload, _ in jobs}))}
    return queue_state(
        jobs=[_job(workload, parts, ages[workload.created], nodes.resources) for workload, parts in jobs],
        queues=[_queue(declared[name], nodes.resources) for name in natural_sorted(declared)],
        weights=weights,
        past={},
        whole=dict(zip(nodes.resources, whole, strict=True)),
    )


def _job(workload: Workload, parts: Sequence[TierPart], created: float, resources: Sequence[str]) -> QueuedJob:
    return QueuedJob(
        name=workload.key,
        queue=workload.queue or DEFAULT,
        namespace=workload.namespace,
        roles=tuple(
            Role(
                name=part.tier,
                replicas=part.running + part.need,
                request=_known(dict(part.shape.request), resources),
                held=(RunningReplicas(count=part.running),),
            )
            for part in parts
        ),
        min_member=workload.least_together,
        priority=workload.priority,
        created=created,
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
