"""Everything the queue level decides from, built from rows that are easy to write: jobs, roles, queues, nodes."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import TypeVar

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.amounts import CPU, MEMORY, NANO, WHOLE, nanos
from fairlead.model.claims import ClaimDemand
from fairlead.model.columns import Bool, Int, distinct, ints, lookup
from fairlead.model.errors import InputError
from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable, RunningTable
from fairlead.model.order import NaturalKey, natural_key
from fairlead.model.shape import Shape

PODS = "pods"
"""Where it is limited, every replica takes one of it; it does not count in shares."""
Amounts = Mapping[str, int]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningReplicas:
    """Running replicas of a role that are alike."""

    count: int
    node: str = ""
    priority: int | None = None
    """The job's where it is not given."""
    preemptable: bool = True
    protected: bool = False
    budget: int = UNSET
    names: tuple[str, ...] = ()
    ages: tuple[int, ...] = ()
    """Places of these replicas by age in their role, 0 the youngest, in the order of the names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Replicas that ask for the same and may run on the same nodes (`nodes` None: on all)."""

    name: str = ""
    replicas: int
    request: Amounts
    minimum: int = 0
    held: tuple[RunningReplicas, ...] = ()
    nodes: frozenset[str] | None = None
    shape: Shape | None = None
    """What its replicas want of their neighbours; the tables have no column for it."""
    claims: ClaimDemand | None = None
    """What their volume claims demand of nodes; neither have they one for that."""


def minimums(tasks: Mapping[str, int], roles: Sequence[tuple[K, str, int]]) -> tuple[dict[K, int], dict[str, int]]:
    """The minimum of each role (key, task, replicas), and what no replica can meet, by task.

    The minimum of a task is met by its first role as far as that goes.
    """
    left = dict(tasks)
    least: dict[K, int] = {}
    for key, task, replicas in roles:
        least[key] = min(left.get(task, 0), replicas)
        left[task] = left.get(task, 0) - least[key]
    return least, {task: number for task, number in left.items() if number > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedJob:
    """One job. `created` and `since` are seconds; without `created` the order of the input is the age."""

    name: str
    queue: str
    namespace: str
    roles: tuple[Role, ...]
    min_member: int = 1
    min_resources: Amounts = field(default_factory=dict)
    priority: int = 0
    created: float | None = None
    since: int = UNSET
    preempts: bool = True
    unmet: str = ""
    """A field that it asks for and that is not implemented: it gets nothing."""
    may_wait: int | None = None
    """Seconds that it may wait before room is kept for it."""
    sorts_as: NaturalKey | None = None
    """The `natural_key` of its name, from whoever keeps it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueEntry:
    """One queue; a resource that a bound does not name is not bounded."""

    name: str
    weight: int = 1
    priority: int = 0
    parent: str = ""
    open: bool = True
    reclaimable: bool = True
    capability: Amounts = field(default_factory=dict)
    guarantee: Amounts = field(default_factory=dict)
    deserved: Amounts = field(default_factory=dict)
    fault: str = ""
    """Why it cannot be used, where it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRooms:
    """Free amounts by node, rows in natural order of the names; `eligible[role, node]`."""

    names: tuple[str, ...]
    free: Int
    eligible: Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """The tables of one decision."""

    jobs: JobTable
    queues: QueueTable
    namespaces: NamespaceTable
    whole: Int
    running: RunningTable
    room: NodeRooms | None = None


def queue_state(
    *,
    jobs: Sequence[QueuedJob],
    queues: Sequence[QueueEntry],
    weights: Mapping[str, int],
    past: Mapping[str, Amounts],
    whole: Amounts,
    free: Mapping[str, Amounts] | None = None,
    allowed: Sequence[int] = (),
    node_rows: Mapping[str, int] | None = None,
) -> QueueState:
    """The rows as tables. `weights` and `past` are by namespace; `free` is by node, None without nodes.

    `node_rows` are the rows of nodes that the caller keeps itself; running replicas are then told by those.
    """
    resources = _resources(jobs, queues, whole)
    namespaces = tuple(dict.fromkeys([*weights, *(job.namespace for job in jobs)]))
    nodes = sorted(free, key=natural_key) if free is not None else []
    table = _jobs(jobs, resources, [queue.name for queue in queues], namespaces, PODS in whole)
    made = QueueState(
        jobs=table,
        queues=_queues(queues, resources),
        namespaces=NamespaceTable(
            names=namespaces,
            weight=ints([weights.get(name, 1) for name in namespaces]),
            past=_matrix([past.get(name, {}) for name in namespaces], resources, 0),
        ),
        whole=ints([min(whole.get(resource, 0), WHOLE) for resource in resources]),
        running=_running(jobs, lookup(nodes) if node_rows is None else node_rows, allowed),
        room=_room(jobs, nodes, free, resources) if free is not None else None,
    )
    return summable(made)


def summable(state: QueueState) -> QueueState:
    """The tables with amounts so small that no sum over jobs or queues passes int64 (docs/decisions/0200).

    Nothing changes unless all together ask for more than WHOLE of a resource. Then no amount of that resource counts
    for more than its part of WHOLE; whether nodes have room is decided by the amounts themselves, not by these.
    """
    jobs, queues, past = state.jobs, state.queues, state.namespaces.past
    replicas = np.maximum(np.maximum(jobs.role_replicas, jobs.role_minimum), 1).astype(float)
    asked = (jobs.role_request * replicas[:, None]).sum(axis=0)
    for column in (jobs.min_resources, queues.guarantee, past):
        asked = asked + column.astype(float).sum(axis=0)
    if not (asked > WHOLE).any():
        return state
    parts = int(replicas.sum()) + len(jobs) + len(queues) + len(past) + 1
    most = np.where(asked > WHOLE, WHOLE // parts, WHOLE)
    return replace(
        state,
        jobs=replace(
            jobs,
            role_request=np.minimum(jobs.role_request, most),
            min_resources=np.minimum(jobs.min_resources, most),
        ),
        queues=replace(queues, guarantee=np.minimum(queues.guarantee, most)),
        namespaces=replace(state.namespaces, past=np.minimum(past, most)),
    )


def weight_of(values: Iterable[object]) -> int:
    """The weight of a namespace: the highest positive whole number among the values; anything else counts as 1."""
    return max((_weight(value) for value in values), default=1)


def _weight(value: object) -> int:
    if not isinstance(value, str | int | float):
        return 1
    try:
        size = nanos(value)
    except InputError:
        return 1
    return size // NANO if size % NANO == 0 and 0 < size < NANO * 2**31 else 1


def _resources(jobs: Sequence[QueuedJob], queues: Sequence[QueueEntry], whole: Amounts) -> tuple[str, ...]:
    """Every resource that is named, cpu and memory first, then in natural order."""
    named: set[str] = set(whole)
    for queue in queues:
        named.update(queue.capability, queue.guarantee, queue.deserved)
    named.update(*(role.request for job in jobs for role in job.roles), *(job.min_resources for job in jobs))
    first = {CPU: 0, MEMORY: 1}
    return tuple(sorted(named, key=lambda name: (first.get(name, 2), natural_key(name))))


def _matrix(rows: Sequence[Amounts], resources: Sequence[str], absent: int) -> Int:
    columns = [[row.get(resource, absent) for row in rows] for resource in resources]
    return ints(np.ascontiguousarray(ints(columns).reshape(len(resources), len(rows)).T))


def _queues(rows: Sequence[QueueEntry], resources: Sequence[str]) -> QueueTable:
    return QueueTable(
        names=distinct([row.name for row in rows], "$.queues"),
        parents=tuple(row.parent for row in rows),
        weight=ints([max(-(2**31), min(row.weight, 2**31)) for row in rows]),
        priority=ints([row.priority for row in rows]),
        open=np.array([row.open for row in rows], dtype=np.bool_),
        reclaimable=np.array([row.reclaimable for row in rows], dtype=np.bool_),
        capability=_matrix([row.capability for row in rows], resources, UNSET),
        guarantee=_matrix([row.guarantee for row in rows], resources, 0),
        deserved=_matrix([row.deserved for row in rows], resources, UNSET),
        faults={number: row.fault for number, row in enumerate(rows) if row.fault},
    )


def _jobs(
    rows: Sequence[QueuedJob], resources: Sequence[str], queues: Sequence[str], namespaces: Sequence[str], pods: bool
) -> JobTable:
    queue_row, namespace_row = lookup(queues), lookup(namespaces)
    roles = [role for row in rows for role in row.roles]
    request = np.array(_matrix([role.request for role in roles], resources, 0))
    least = np.array(_matrix([row.min_resources for row in rows], resources, 0))
    if pods:
        request[:, resources.index(PODS)] = np.maximum(request[:, resources.index(PODS)], 1)
    elif PODS in resources:
        # Where the number of pods has no limit a minimum of pods is always met.
        least[:, resources.index(PODS)] = 0
    return JobTable(
        names=distinct([row.name for row in rows], "$.jobs"),
        resources=tuple(resources),
        queue=ints([queue_row.get(row.queue, UNSET) for row in rows]),
        queue_names=tuple(row.queue for row in rows),
        namespace=ints([namespace_row[row.namespace] for row in rows]),
        priority=ints([row.priority for row in rows]),
        age=_ages(rows),
        min_member=ints([row.min_member for row in rows]),
        min_resources=ints(least),
        preempts=np.array([row.preempts for row in rows], dtype=np.bool_),
        since=ints([row.since for row in rows]),
        role_start=ints(np.cumsum([0, *(len(row.roles) for row in rows)])),
        role_names=tuple(role.name for role in roles),
        role_replicas=ints([role.replicas for role in roles]),
        role_minimum=ints([role.minimum for role in roles]),
        role_running=ints([sum(held.count for held in role.held) for role in roles]),
        role_request=ints(request),
        unmet={number: row.unmet for number, row in enumerate(rows) if row.unmet},
        may_wait={number: row.may_wait for number, row in enumerate(rows) if row.may_wait is not None},
    )


def _ages(rows: Sequence[QueuedJob]) -> Int:
    """Ranks by age: `created`, then name; those without it are the youngest, in the order of the input."""
    alike = Counter(row.created for row in rows)

    def key(number: int) -> tuple[int, float, NaturalKey | tuple[()]]:
        row = rows[number]
        if row.created is None:
            return 1, number, ()
        return 0, row.created, (row.sorts_as or natural_key(row.name)) if alike[row.created] > 1 else ()

    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[sorted(range(len(rows)), key=key)] = np.arange(len(rows))
    return ints(ranks)


def _running(rows: Sequence[QueuedJob], node_row: Mapping[str, int], allowed: Sequence[int]) -> RunningTable:
    held_by: list[tuple[int, int]] = []
    found: list[RunningReplicas] = []
    role_row = 0
    for number, row in enumerate(rows):
        for role in row.roles:
            for held in role.held:
                if held.count:
                    held_by.append((number, role_row))
                    found.append(held)
            role_row += 1
    return RunningTable(
        job=ints([job for job, _ in held_by]),
        role=ints([role for _, role in held_by]),
        node=ints([node_row.get(held.node, UNSET) for held in found]),
        count=ints([held.count for held in found]),
        priority=ints(
            [
                rows[job].priority if held.priority is None else held.priority
                for (job, _), held in zip(held_by, found, strict=True)
            ]
        ),
        preemptable=np.array([held.preemptable for held in found], dtype=np.bool_),
        protected=np.array([held.protected for held in found], dtype=np.bool_),
        budget=ints([held.budget for held in found]),
        allowed=ints(list(allowed)),
        names=tuple(held.names for held in found),
        ages=tuple(held.ages for held in found),
    )


def _room(
    rows: Sequence[QueuedJob], nodes: Sequence[str], free: Mapping[str, Amounts], resources: Sequence[str]
) -> NodeRooms:
    roles = [role for row in rows for role in row.roles]
    everywhere = np.ones(len(nodes), dtype=np.bool_)
    eligible = [
        everywhere if role.nodes is None else np.array([name in role.nodes for name in nodes], dtype=np.bool_)
        for role in roles
    ]
    return NodeRooms(
        names=tuple(nodes),
        free=_matrix([free[name] for name in nodes], resources, 0),
        eligible=np.array(eligible, dtype=np.bool_).reshape(len(roles), len(nodes)),
    )
