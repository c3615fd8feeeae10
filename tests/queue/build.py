"""Small tables for tests."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fairlead.model.columns import Int, ints
from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable

RESOURCES = ("cpu", "memory")


class Tables(NamedTuple):
    """What `share` takes."""

    jobs: JobTable
    queues: QueueTable
    namespaces: NamespaceTable
    whole: Int


class Q(NamedTuple):
    """A queue."""

    weight: int = 1
    capability: tuple[int, ...] = (UNSET, UNSET)
    guarantee: tuple[int, ...] = (0, 0)
    deserved: tuple[int, ...] = (UNSET, UNSET)
    priority: int = 0
    parent: str = ""
    open: bool = True
    reclaimable: bool = True


class J(NamedTuple):
    """A job of one role, in queue and namespace by row."""

    queue: int = 0
    namespace: int = 0
    replicas: int = 1
    request: tuple[int, ...] = (1, 0)
    minimum: int = 1
    priority: int = 0
    running: int = 0
    preempts: bool = True
    since: int = UNSET
    min_resources: tuple[int, ...] = (0, 0)


def tables(
    whole: Sequence[int],
    queues: Sequence[Q],
    weights: Sequence[int],
    jobs: Sequence[J],
    *,
    resources: Sequence[str] = RESOURCES,
    names: Mapping[str, str] | None = None,
) -> Tables:
    """Queues q0, q1 …, namespaces n0, n1 … with these weights, jobs j0, j1 … of falling age."""
    width = len(resources)
    return Tables(
        jobs=JobTable(
            names=tuple(f"j{row}" for row in range(len(jobs))),
            resources=tuple(resources),
            queue=ints([job.queue if job.queue < len(queues) else UNSET for job in jobs]),
            queue_names=tuple(f"q{job.queue}" for job in jobs),
            namespace=ints([job.namespace for job in jobs]),
            priority=ints([job.priority for job in jobs]),
            age=ints(range(len(jobs))),
            min_member=ints([job.minimum for job in jobs]),
            min_resources=ints([job.min_resources[:width] for job in jobs]).reshape(len(jobs), width),
            preempts=np.array([job.preempts for job in jobs], dtype=bool),
            since=ints([job.since for job in jobs]),
            role_start=ints(range(len(jobs) + 1)),
            role_names=("",) * len(jobs),
            role_replicas=ints([job.replicas for job in jobs]),
            role_minimum=ints([0] * len(jobs)),
            role_running=ints([job.running for job in jobs]),
            role_request=ints([job.request[:width] for job in jobs]).reshape(len(jobs), width),
        ),
        queues=QueueTable(
            names=tuple(f"q{row}" for row in range(len(queues))),
            parents=tuple(queue.parent for queue in queues),
            weight=ints([queue.weight for queue in queues]),
            priority=ints([queue.priority for queue in queues]),
            open=np.array([queue.open for queue in queues], dtype=bool),
            reclaimable=np.array([queue.reclaimable for queue in queues], dtype=bool),
            capability=ints([queue.capability[:width] for queue in queues]),
            guarantee=ints([queue.guarantee[:width] for queue in queues]),
            deserved=ints([queue.deserved[:width] for queue in queues]),
        ),
        namespaces=NamespaceTable(
            names=tuple(f"n{row}" for row in range(len(weights))),
            weight=ints(weights),
            past=np.zeros((len(weights), width), dtype=np.int64),
        ),
        whole=ints(whole),
    )
