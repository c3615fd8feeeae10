"""The queue level on a site: workloads as jobs, and how many replicas of each may start."""

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.engine.parts import Part
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import share
from fairlead.model.columns import Int, ints
from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable
from fairlead.model.nodestate import NodeState
from fairlead.model.order import natural_key
from fairlead.model.queuestate import Queue
from fairlead.model.workload import Workload

DEFAULT = "default"
"""The queue of workloads that name none; it is there whether declared or not."""


def share_site(
    nodes: NodeState,
    jobs: Sequence[tuple[Workload, Sequence[Part]]],
    queues: Sequence[Queue],
    weights: Mapping[str, int],
) -> Sharing:
    """Share what the nodes offer between the workloads; every part of a workload is a role of its job."""
    declared = {queue.name: queue for queue in queues}
    declared.setdefault(DEFAULT, Queue(name=DEFAULT))
    wishes = sorted(declared.values(), key=lambda queue: natural_key(queue.name))
    spaces = sorted({workload.namespace for workload, _ in jobs}, key=natural_key)
    resources = nodes.resources
    return share(
        _jobs(jobs, [queue.name for queue in wishes], spaces, resources),
        _queues(wishes, resources),
        NamespaceTable(
            names=tuple(spaces),
            weight=ints([weights.get(space, 1) for space in spaces]),
            past=np.zeros((len(spaces), len(resources)), dtype=np.int64),
        ),
        ints(nodes.allocatable[~nodes.unschedulable].sum(axis=0)),
    )


def _jobs(
    jobs: Sequence[tuple[Workload, Sequence[Part]]], queues: list[str], spaces: list[str], resources: tuple[str, ...]
) -> JobTable:
    parts = [part for _, own in jobs for part in own]
    names = [workload.queue or DEFAULT for workload, _ in jobs]
    ages = sorted({workload.created for workload, _ in jobs})
    none = np.zeros((len(jobs), len(resources)), dtype=np.int64)
    return JobTable(
        names=tuple(workload.key for workload, _ in jobs),
        resources=resources,
        queue=ints([queues.index(name) if name in queues else UNSET for name in names]),
        queue_names=tuple(names),
        namespace=ints([spaces.index(workload.namespace) for workload, _ in jobs]),
        priority=ints([workload.priority for workload, _ in jobs]),
        age=ints([ages.index(workload.created) for workload, _ in jobs]),
        min_member=ints([workload.least_together for workload, _ in jobs]),
        min_resources=none,
        preempts=np.zeros(len(jobs), dtype=np.bool_),
        since=ints([UNSET] * len(jobs)),
        role_start=ints(np.cumsum([0, *(len(own) for _, own in jobs)])),
        role_names=tuple(part.tier for part in parts),
        role_replicas=ints([part.running + part.need for part in parts]),
        role_minimum=ints([0] * len(parts)),
        role_running=ints([part.running for part in parts]),
        role_request=_amounts([dict(part.shape.request) for part in parts], resources, 0),
    )


def _queues(wishes: Sequence[Queue], resources: tuple[str, ...]) -> QueueTable:
    return QueueTable(
        names=tuple(queue.name for queue in wishes),
        parents=tuple(queue.parent for queue in wishes),
        weight=ints([queue.weight for queue in wishes]),
        priority=ints([queue.priority for queue in wishes]),
        open=np.array([queue.open for queue in wishes], dtype=np.bool_),
        reclaimable=np.array([queue.reclaimable for queue in wishes], dtype=np.bool_),
        capability=_amounts([queue.capability for queue in wishes], resources, UNSET),
        guarantee=_amounts([queue.guarantee for queue in wishes], resources, 0),
        deserved=_amounts([queue.deserved for queue in wishes], resources, UNSET),
    )


def _amounts(lists: Sequence[Mapping[str, int]], resources: tuple[str, ...], absent: int) -> Int:
    rows = [[each.get(name, absent) for name in resources] for each in lists]
    return ints(np.array(rows, dtype=np.int64).reshape(len(lists), len(resources)))
