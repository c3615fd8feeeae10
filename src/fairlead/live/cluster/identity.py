"""Keys of pods and jobs, and the events that may help a pod that waits. Keys are built and taken apart here only."""

from enum import Enum, StrEnum
from typing import NewType

from fairlead.kube.codec.queues import QueueFields

Uid = NewType("Uid", str)
"""Which object it is: another one may have its name later (docs/decisions/0210)."""
PodKey = NewType("PodKey", tuple[str, str])
"""Namespace and name of a pod."""
JobKey = NewType("JobKey", str)
"""The name of a job in the tables of the queue level, in messages and in annotations: `PodGroup/ns/name`,
`NativePodGroup/ns/name`, or the key of a controller with `@queue` where its pods name a queue."""


class JobSource(StrEnum):
    """What makes pods one job."""

    GROUP = "PodGroup"
    """A PodGroup of scheduling.volcano.sh."""
    NATIVE = "NativePodGroup"
    """A PodGroup of scheduling.k8s.io."""
    CONTROLLER = "Controller"
    """No group: pods of one controller, or a bare pod."""


GroupKey = tuple[JobSource, str, str]
"""A PodGroup: its kind, namespace and name."""


class Wake(Enum):
    """An event that may let a waiting pod find a node."""

    NODE = "a node came or changed"
    POD_LEFT = "a pod left its node, or takes less of it"
    POD_BOUND = "a pod was bound, or looks different to others"
    NAMESPACE = "a namespace was edited"
    VOLUME = "a claim, a volume or what drivers say of nodes changed"
    BUDGET = "a disruption budget or a priority class changed"
    QUEUE = "a queue, a weight or a PodGroup was edited"


def group_key(namespace: str, fields: QueueFields) -> GroupKey | None:
    """The PodGroup that a pod with these fields names."""
    if fields.group:
        return JobSource.GROUP, namespace, fields.group
    return (JobSource.NATIVE, namespace, fields.native) if fields.native else None


def group_job(group: GroupKey) -> JobKey:
    """The job of a PodGroup."""
    return JobKey("/".join(group))


def group_of_job(job: JobKey) -> GroupKey | None:
    """The PodGroup of a job; None where a controller made its pods."""
    kind, namespace, name = job.split("/", 2)
    return (JobSource(kind), namespace, name) if kind in (JobSource.GROUP, JobSource.NATIVE) else None


def pod_job(controller: str, namespace: str, fields: QueueFields) -> JobKey:
    """The job of a pod with this controller and these fields."""
    group = group_key(namespace, fields)
    if group is not None:
        return group_job(group)
    return JobKey(f"{controller}@{fields.queue}" if fields.queue else controller)
