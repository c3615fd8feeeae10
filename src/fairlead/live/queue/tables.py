"""Jobs of the cache as rows of the queue level, and its answers as pods again."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from fairlead.dataclass import dataclass
from fairlead.kube.codec.queues import Like, held_rows
from fairlead.live.cluster.identity import PodKey
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.rules import Cover
from fairlead.live.cluster.turn_types import Counts, IdleCounts, LiveJob, LiveRole, Place
from fairlead.model.jobs import UNSET
from fairlead.model.order import natural_key
from fairlead.model.queuestate import QueuedJob, Role, RunningReplicas, minimums

Covers = Callable[[PodRecord], Cover | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A job as the level sees it, with a pod of each of its roles (None: a minimum that no pod can meet)."""

    job: LiveJob
    wanted: QueuedJob
    likes: tuple[PodRecord | None, ...]
    astray: bool = False
    """Pods that wait are left out, for their PodGroup does not exist."""


class Budgets:
    """Disruption budgets by row, in the order in which they are met."""

    def __init__(self, covers: Covers, now: float = 0.0) -> None:
        """`now`: seconds since 1970, by which pods that may not be evicted for a time are told apart."""
        self._covers = covers
        self.now = now
        self._rows: dict[Cover, int] = {}

    def row(self, pod: PodRecord) -> int:
        """The row of the budget over a pod, UNSET where there is none."""
        cover = self._covers(pod)
        return UNSET if cover is None else self._rows.setdefault(cover, len(self._rows))

    @property
    def allowed(self) -> list[int]:
        """Evictions that each row still allows."""
        return [cover.allowed for cover in self._rows]


def row_of(job: LiveJob, budgets: Budgets | None = None, fixed: Collection[str] = (), *, astray: bool = False) -> Row:
    """The job as a row. With `budgets` its running pods are told apart for eviction; uids in `fixed` stay."""
    roles = job.roles
    sizes = [(number, role.task, _size(role, astray)) for number, role in enumerate(roles)]
    least, short = minimums(job.min_tasks, sizes)
    rows = [
        Role(
            name=role.task,
            replicas=size,
            request=dict(_like(role).request),
            minimum=least[number],
            held=_held(role.running, budgets, fixed),
        )
        for (number, _, size), role in zip(sizes, roles, strict=True)
    ]
    # A minimum that no pod can meet keeps the gang from starting, as it should.
    rows.extend(Role(name=task, replicas=0, request={}, minimum=number) for task, number in short.items())
    return Row(
        job=job,
        wanted=QueuedJob(
            name=job.key,
            queue=job.queue,
            namespace=job.namespace,
            roles=tuple(rows),
            min_member=job.min_member,
            min_resources=job.min_resources,
            priority=job.priority,
            created=job.created,
            since=job.since,
            preempts=job.preempts,
            unmet=job.unmet,
            may_wait=job.may_wait,
            sorts_as=natural_key(job.key),
        ),
        likes=(*(_like(role) for role in roles), *([None] * len(short))),
        astray=astray,
    )


def _size(role: LiveRole, astray: bool) -> int:
    return len(role.running) + (0 if astray else len(role.waiting))


def _like(role: LiveRole) -> PodRecord:
    return role.waiting[0] if role.waiting else role.running[0][0]


def _held(running: Sequence[Place], budgets: Budgets | None, fixed: Collection[str]) -> tuple[RunningReplicas, ...]:
    if budgets is None:
        return (RunningReplicas(count=len(running)),) if running else ()

    def like(pod: PodRecord, node: str) -> Like:
        free_to_go = pod.queue_fields.preemptable and not pod.leaving and pod.metadata.uid not in fixed
        free_to_go = free_to_go and pod.queue_fields.cools_until <= budgets.now
        return node, pod.priority, free_to_go, pod.queue_fields.protected, budgets.row(pod)

    return held_rows(("/".join(pod.key), pod.created, like(pod, node)) for pod, node in running)


def idle_job(where: tuple[str, str], counts: Counts) -> QueuedJob:
    """All idle jobs of a queue and namespace as one."""
    queue, namespace = where
    return QueuedJob(
        name=f"idle {queue} {namespace}",  # a space is in no name of a job
        queue=queue,
        namespace=namespace,
        roles=tuple(
            Role(replicas=count, request=dict(request), held=(RunningReplicas(count=count),))
            for request, count in counts.items()
        ),
        created=0.0,
    )


def usage(jobs: Iterable[LiveJob], idle: IdleCounts) -> dict[str, int]:
    """What the running pods of these jobs, and of idle jobs, hold in sum."""
    sums: dict[str, int] = defaultdict(int)
    for counts in idle.values():
        for request, count in counts.items():
            for name, amount in request:
                sums[name] += amount * count
    for job in jobs:
        for role in job.roles:
            if role.running:
                for name, amount in role.running[0][0].request:
                    sums[name] += amount * len(role.running)
    return dict(sums)


def settled(job: LiveJob, places: Mapping[PodKey, str]) -> LiveJob:
    """The job with these of its waiting pods counted as running there."""
    if not places:
        return job
    roles = tuple(
        replace(
            role,
            waiting=tuple(pod for pod in role.waiting if pod.key not in places),
            running=(*role.running, *((pod, places[pod.key]) for pod in role.waiting if pod.key in places)),
        )
        for role in job.roles
    )
    return replace(job, roles=roles)
