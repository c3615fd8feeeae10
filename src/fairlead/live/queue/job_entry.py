"""One job of the cache: its pods by role, and the frozen view of it, made anew only when something changed."""

from collections.abc import Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.kube.codec.queues import DEFAULT
from fairlead.live.cluster.identity import GroupKey, JobKey, JobSource, PodKey
from fairlead.live.cluster.pod_sets import pod_set_key
from fairlead.live.cluster.records import PodRecord, Request
from fairlead.live.cluster.rules import DisruptionRules
from fairlead.live.cluster.turn_types import Counts, LiveJob, LiveRole, Place
from fairlead.live.queue.pod_groups import EMPTY, GangSpec, moment
from fairlead.model.jobs import UNSET
from fairlead.model.order import natural_key

RoleKey = tuple[str, str, int, str, str, Request]
"""Task, controller, the shape's identity, strategy, the pod's name where it is decided alone, and what it takes on its
node where it is being resized, else nothing.

Pods of one template share their shape as an object, and the role holds on to it; comparing it would cost far more.
"""


@dataclass(slots=True)
class _Role:
    waiting: dict[PodKey, PodRecord] = field(default_factory=dict)
    running: dict[PodKey, Place] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class JobEntry:
    """The pods of one job. A pod that is leaving is no member any more; one that is held back is none yet."""

    key: JobKey
    source: JobSource
    namespace: str
    name: str
    queue: str = DEFAULT
    group_key: GroupKey = field(init=False)
    """Its PodGroup, where a group is its source; a controller is none."""
    changes: int = field(default=0, init=False)
    """Grows with every change of the job."""
    _roles: dict[RoleKey, _Role] = field(default_factory=dict, init=False)
    _where: dict[PodKey, RoleKey | None] = field(default_factory=dict, init=False)
    _ended: dict[PodKey, bool] = field(default_factory=dict, init=False)
    _live: LiveJob | None = field(default=None, init=False)
    _idle_counts: Counts | None = field(default=None, init=False)
    _made_of: tuple[GangSpec | None, str] = field(default_factory=lambda: (None, ""), init=False)

    def __post_init__(self) -> None:
        self.group_key = self.source, self.namespace, self.name

    @property
    def empty(self) -> bool:
        """Whether it has no pods."""
        return not self._where

    @property
    def waiting(self) -> list[PodRecord]:
        """Pods that wait for a node, in natural order of names."""
        pods = [pod for role in self._roles.values() for pod in role.waiting.values()]
        return sorted(pods, key=lambda pod: natural_key(pod.metadata.name))

    @property
    def any_waiting(self) -> PodRecord | None:
        """One of the pods that wait for a node."""
        return next((pod for role in self._roles.values() for pod in role.waiting.values()), None)

    @property
    def running(self) -> list[Place]:
        """Pods on nodes, and where each is."""
        return [place for role in self._roles.values() for place in role.running.values()]

    @property
    def idle(self) -> bool:
        """Whether no pod waits."""
        return not any(role.waiting for role in self._roles.values())

    def put(self, pod: PodRecord, node: str) -> bool:
        """Count the pod where it is now; False where that changed nothing."""
        key = pod.key
        at = _role_key(pod)
        old = self._roles[at] if self._where.get(key) == at else None
        if old is not None and not (pod.finished or pod.leaving):
            known = old.running.get(key)
            if node and known is not None and known[1] == node and _alike(known[0], pod):
                return False
            if not node and key in old.waiting and pod.waits and _alike(old.waiting[key], pod):
                return False
        self.drop(key)
        self._where[key] = None
        if pod.finished:
            self._ended[key] = pod.succeeded
        elif not pod.leaving and (node or pod.waits):
            self._where[key] = at
            role = self._roles.setdefault(at, _Role())
            if node:
                role.running[key] = pod, node
            else:
                role.waiting[key] = pod
        return True

    def drop(self, key: PodKey) -> None:
        """The pod is no member any more."""
        self.forget()
        at = self._where.pop(key, None)
        self._ended.pop(key, None)
        if at is None:
            return
        role = self._roles[at]
        role.waiting.pop(key, None)
        role.running.pop(key, None)
        if not (role.waiting or role.running):
            del self._roles[at]

    def forget(self) -> None:
        """What the view was made of is different now."""
        self._live = self._idle_counts = None
        self.changes += 1

    @property
    def idle_counts(self) -> Counts:
        """Its pods, if it is idle, has no PodGroup, and no pod has a cooldown that ends later; otherwise none."""
        if self._idle_counts is None:
            self._idle_counts = self._count() if self.source is JobSource.CONTROLLER and self.idle else {}
        return self._idle_counts

    def _count(self) -> Counts:
        counts: dict[Request, int] = {}
        for role in self._roles.values():
            for pod, _ in role.running.values():
                if pod.queue_fields.cools_until:
                    return {}
                counts[pod.request] = counts.get(pod.request, 0) + 1
        return counts

    def live(self, group: GangSpec | None, queue: str, rules: DisruptionRules) -> LiveJob:
        """The job now."""
        if self._live is None or self._made_of != (group, queue):
            self._live = self._make(group, queue, rules)
            self._made_of = group, queue
        return self._live

    def _make(self, group: GangSpec | None, queue: str, rules: DisruptionRules) -> LiveJob:
        roles = tuple(_frozen(at, role) for at, role in self._roles.items())
        if len(roles) > 1:
            roles = tuple(sorted(roles, key=_order))
        waiting = [pod for role in roles for pod in role.waiting]
        pods = [*waiting, *(pod for role in roles for pod, _ in role.running)]
        succeeded = sum(self._ended.values())
        begun = [moment(pod.created) for pod in waiting]
        created = group.created if group is not None else min((moment(pod.created) for pod in pods), default=0.0)
        return LiveJob(
            key=self.key,
            source=self.source,
            namespace=self.namespace,
            name=self.name,
            queue=queue,
            roles=roles,
            min_member=1 if group is None else max(0, group.min_member - succeeded),
            min_tasks=EMPTY if group is None or succeeded else _task_minimums(group),
            min_resources=EMPTY if group is None or succeeded else group.min_resources,
            priority=_priority(group, pods, rules),
            created=created,
            since=int(min(begun)) if begun else UNSET,
            preempts=all(pod.preempts and not rules.never_preempts(pod.priority_class) for pod in waiting),
            unmet="" if group is None else group.unmet,
            may_wait=None if group is None else group.may_wait,
            succeeded=succeeded,
            failed=len(self._ended) - succeeded,
        )


def _task_minimums(group: GangSpec) -> Mapping[str, int]:
    """By task; not asked for where the gang's own minimum is less than their sum, as in Volcano."""
    return group.min_tasks if sum(group.min_tasks.values()) <= group.min_member else EMPTY


def _role_key(pod: PodRecord) -> RoleKey:
    return (
        pod.queue_fields.task,
        pod.controller,
        id(pod.shape),
        pod.strategy,
        pod.metadata.name if pod.alone else "",
        pod.request if pod.request != pod.shape.request else (),
    )


def _alike(before: PodRecord, now: PodRecord) -> bool:
    """Whether a job sees the same pod as before."""
    return (
        before.metadata.uid == now.metadata.uid
        and before.queue_fields == now.queue_fields
        and before.shape is now.shape
    )


def _frozen(at: RoleKey, role: _Role) -> LiveRole:
    waiting = tuple(sorted(role.waiting.values(), key=lambda pod: natural_key(pod.metadata.name)))
    running = tuple(role.running.values())
    first = waiting[0] if waiting else running[0][0]
    return LiveRole(key=pod_set_key(first), task=at[0], waiting=waiting, running=running)


def _order(role: LiveRole) -> tuple[object, ...]:
    """Roles in an order that does not depend on the order of events."""
    first = role.waiting[0] if role.waiting else role.running[0][0]
    return role.task, natural_key(role.key[0]), repr(role.key[1]), role.key[2], natural_key(first.metadata.name)


def _priority(group: GangSpec | None, pods: list[PodRecord], rules: DisruptionRules) -> int:
    """That of the class a group names; else the highest of its pods."""
    if group is not None:
        if group.priority is not None:
            return group.priority
        if ("", group.priority_class) in rules.classes:
            return rules.priority(group.priority_class)
    return max((pod.priority for pod in pods), default=0)
