"""Queues, gangs and weights from Volcano's objects, from labels and annotations of pods, and from quotas."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec

from fairlead.kube.codec.volcano_fields import COOLDOWN, REVOCABLE, cooldown
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import PriorityClass, ResourceQuota
from fairlead.kube.objects.volcano import VolcanoQueue
from fairlead.kube.timestamps import seconds
from fairlead.model.amounts import WHOLE, Quantity, bounded, plain_names
from fairlead.model.errors import InputError
from fairlead.model.order import natural_key
from fairlead.model.queuestate import QueueEntry, RunningReplicas, weight_of

GROUPS = ("scheduling.k8s.io/group-name", "scheduling.volcano.sh/group-name")
"""Annotations by which a pod names its PodGroup."""
TASK = "volcano.sh/task-spec"
QUEUES = ("scheduling.volcano.sh/queue-name", "volcano.sh/queue-name")
"""Annotations (the second is also a label) by which a pod without a group names its queue."""
LOCAL_QUEUE = "kueue.x-k8s.io/queue-name"
"""The label by which a workload names a LocalQueue of Kueue in its namespace."""
PREEMPTABLE = "volcano.sh/preemptable"
WEIGHT = "volcano.sh/namespace.weight"
DEFAULT = "default"
"""The queue of those that name none."""
ROOT = "root"
"""The parent of all queues, which Volcano makes itself: it may be named without being there."""
SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""Priority classes of the system itself, which are always there."""
SYSTEM_NAMESPACE = "kube-system"

Like = tuple[str, int, bool, bool, int]
"""What running pods may differ in: node, priority, whether they may go, part of the system, the budget over them."""


class QueueFields(msgspec.Struct, frozen=True, gc=False):
    """What a pod says of its queue and gang, in labels, annotations and spec."""

    group: str = ""
    """The PodGroup of scheduling.volcano.sh that it names."""
    native: str = ""
    """The PodGroup of scheduling.k8s.io that it names."""
    task: str = ""
    queue: str = ""
    """The queue it names where it has no group."""
    preemptable: bool = True
    protected: bool = False
    """Part of the system itself."""
    cools_until: float = 0.0
    """Seconds since 1970 until which it is not evicted; 0: it may be at any time."""
    not_obeyed: str = ""
    """An annotation that is not implemented; its pods are placed as if it were not there, and told so."""


NAMED = frozenset((*GROUPS, TASK, *QUEUES, PREEMPTABLE, COOLDOWN, REVOCABLE))
"""Labels and annotations that say something of it."""
_NOTHING, _PROTECTED = QueueFields(), QueueFields(protected=True)


def queue_fields(pod: Pod) -> QueueFields:
    """What labels, annotations and spec of a pod say of queue and gang; most pods say nothing."""
    meta, spec = pod.metadata, pod.spec
    labels, annotations = meta.labels, meta.annotations
    protected = meta.namespace == SYSTEM_NAMESPACE or spec.priority_class_name in SYSTEM
    if spec.scheduling_group is None and NAMED.isdisjoint(annotations) and NAMED.isdisjoint(labels):
        return _PROTECTED if protected else _NOTHING
    native = spec.scheduling_group.pod_group_name if spec.scheduling_group is not None else ""
    both = {**labels, **annotations}
    return QueueFields(
        group=named(annotations, GROUPS),
        native=native,
        task=annotations.get(TASK, ""),
        queue=named(both, QUEUES),
        preemptable={**annotations, **labels}.get(PREEMPTABLE, "true").lower() != "false",
        protected=protected,
        cools_until=_cools_until(pod, both) if COOLDOWN in both else 0.0,
        not_obeyed=f"annotation {REVOCABLE}" if REVOCABLE in both else "",
    )


def _cools_until(pod: Pod, annotations: Mapping[str, str]) -> float:
    """When the time after which a pod may be evicted is over: it runs from the moment it was scheduled."""
    scheduled = [
        each.last_transition_time
        for each in pod.status.conditions
        if (each.type, each.status) == ("PodScheduled", "True") and each.last_transition_time
    ]
    lasts = cooldown(annotations)
    try:
        return seconds(scheduled[0] if scheduled else pod.metadata.creation_timestamp or "") + lasts if lasts else 0.0
    except InputError:
        return 0.0


def default_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """That of pods that name no class: of several defaults the least, as the API server has it."""
    return min((each for each in classes if each.global_default), key=lambda each: each.value, default=None)


def default_priority(classes: Iterable[PriorityClass]) -> int:
    """That of pods that name no class."""
    found = default_class(classes)
    return 0 if found is None else found.value


def named(annotations: Mapping[str, str], keys: Iterable[str]) -> str:
    """The first of the keys that is there and not empty; empty where none is."""
    return next((annotations[key] for key in keys if annotations.get(key)), "")


def succeeded_of(pods: Iterable[Pod]) -> Counter[tuple[str, str]]:
    """By namespace and group how many pods have succeeded: its gang starts with so many fewer."""
    done = (pod for pod in pods if pod.status.phase == "Succeeded")
    return Counter((pod.metadata.namespace, queue_fields(pod).group) for pod in done)


def held_rows(pods: Iterable[tuple[str, str, Like]]) -> tuple[RunningReplicas, ...]:
    """Running pods (name, when created, kind) that are alike, together: the youngest first, then by natural order."""
    alike: dict[Like, list[tuple[int, str]]] = defaultdict(list)
    by_name = sorted(pods, key=lambda pod: natural_key(pod[0]))
    for age, (name, _, like) in enumerate(sorted(by_name, key=lambda pod: pod[1], reverse=True)):
        alike[like].append((age, name))
    return tuple(
        RunningReplicas(
            count=len(found),
            node=node,
            priority=priority,
            preemptable=preemptable,
            protected=protected,
            budget=budget,
            names=tuple(name for _, name in found),
            ages=tuple(age for age, _ in found),
        )
        for (node, priority, preemptable, protected, budget), found in alike.items()
    )


def bounds_of(written: Mapping[str, Quantity], place: str) -> dict[str, int]:
    """Amounts of a Queue or a PodGroup, quota-style names read as what they mean. What cannot be read is `InputError`.

    Volcano's job controller writes `minResources` in the words of a ResourceQuota beside the plain ones.
    """
    return bounded(plain_names(written), WHOLE, place)


def namespace_weights(quotas: Iterable[ResourceQuota]) -> dict[str, int]:
    """The weight of every namespace that has a quota: its highest valid one."""
    written: dict[str, list[object]] = defaultdict(list)
    for quota in quotas:
        written[quota.metadata.namespace].append(quota.spec.hard.get(WEIGHT, 1))
    return {namespace: weight_of(values) for namespace, values in written.items()}


def check_weight(quota: ResourceQuota) -> None:
    """`InputError` where the quota gives a weight that is none; it counts as 1 all the same."""
    written = quota.spec.hard.get(WEIGHT)
    if written is not None and written not in (1, "1") and weight_of([written]) == 1:
        place = f"ResourceQuota {quota.metadata.name}: spec.hard.{WEIGHT}"
        raise InputError(place, f"{written!r} is not a weight and counts as 1; expected a whole number of 1 or more")


def queue_rows(queues: Sequence[VolcanoQueue]) -> list[QueueEntry]:
    """The queues; what hangs below a root that is not there stands by itself."""
    return rooted([queue_row(each) for each in queues])


def rooted(rows: Sequence[QueueEntry]) -> list[QueueEntry]:
    """The rows; those below a root that is not there stand by themselves."""
    there = any(row.name == ROOT for row in rows)
    return [row if there or row.parent != ROOT else replace(row, parent="") for row in rows]


def queue_row(queue: VolcanoQueue) -> QueueEntry:
    """One queue. Amounts that cannot be read are `InputError`."""
    spec, place = queue.spec, f"Queue {queue.metadata.name}: spec."
    return QueueEntry(
        name=queue.metadata.name,
        weight=1 if spec.weight is None else spec.weight,
        priority=spec.priority,
        parent=spec.parent,
        open=queue.status.state in ("", "Open"),
        reclaimable=spec.reclaimable is not False,
        capability=bounds_of(spec.capability, f"{place}capability"),
        guarantee=bounds_of(spec.guarantee.resource, f"{place}guarantee.resource"),
        deserved=bounds_of(spec.deserved, f"{place}deserved"),
    )
