"""A problem of `fairlead share` as tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from fairlead.model.amounts import CPU, MEMORY, NANO, Quantity, amounts, nanos
from fairlead.model.columns import Int, distinct, ints, lookup
from fairlead.model.errors import InputError
from fairlead.model.jobs import UNSET, JobTable, NamespaceTable, QueueTable
from fairlead.model.order import natural_key
from fairlead.problems.share import JobIn, NamespaceIn, Problem, QueueIn, TaskIn

PODS = "pods"
"""Where it is limited, every replica takes one of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The tables of one problem."""

    jobs: JobTable
    queues: QueueTable
    namespaces: NamespaceTable
    whole: Int


def tables(problem: Problem) -> Case:
    """The problem in columns; impossible values are bad input, told with their path."""
    whole = amounts(problem.total or {}, "$.total")
    resources = _resources(problem, whole)
    queue_rows = _queues(problem)
    names = _namespace_names(problem)
    return Case(
        jobs=_jobs(problem, resources, [queue.name for queue in queue_rows], names, PODS in whole),
        queues=_queue_table(queue_rows, resources),
        namespaces=_namespace_table(problem.namespaces, names, resources),
        whole=ints([whole.get(resource, 0) for resource in resources]),
    )


def weight_of(values: Iterable[Any]) -> int:
    """The highest positive whole number among the values; anything else counts as 1."""
    return max((_valid_weight(value) for value in values), default=1)


def _valid_weight(value: Any) -> int:
    try:
        size = nanos(value)
    except InputError:
        return 1
    return size // NANO if size % NANO == 0 and 0 < size < NANO * 2**31 else 1


def _resources(problem: Problem, whole: Mapping[str, int]) -> tuple[str, ...]:
    """Every resource that is named, cpu and memory first, then in natural order."""
    named: set[str] = set(whole)
    for queue in problem.queues or ():
        named.update(queue.capability, queue.guarantee, queue.deserved)
    for job in problem.jobs:
        named.update(job.request or (), job.min_resources)
        for task in job.tasks or ():
            named.update(task.request)
    first = {CPU: 0, MEMORY: 1}
    return tuple(sorted(named, key=lambda name: (first.get(name, 2), natural_key(name))))


def _queues(problem: Problem) -> Sequence[QueueIn]:
    """The queues listed; where none are, those that jobs name."""
    if problem.queues is None:
        return [QueueIn(name=name) for name in dict.fromkeys(job.queue or "default" for job in problem.jobs)]
    distinct([queue.name for queue in problem.queues], "$.queues")
    return problem.queues


def _column(rows: Sequence[Mapping[str, Quantity]], resources: Sequence[str], path: str, absent: int) -> Int:
    """Resource lists as [row, resource]; `path` has one place for the row."""
    parsed = [amounts(row, path.format(number)) for number, row in enumerate(rows)]
    return ints([[row.get(resource, absent) for resource in resources] for row in parsed]).reshape(
        len(rows), len(resources)
    )


def _queue_table(rows: Sequence[QueueIn], resources: Sequence[str]) -> QueueTable:
    return QueueTable(
        names=tuple(row.name for row in rows),
        parents=tuple(row.parent for row in rows),
        weight=ints([max(-(2**31), min(row.weight, 2**31)) for row in rows]),
        priority=ints([row.priority for row in rows]),
        open=np.array([row.state == "Open" for row in rows], dtype=bool),
        reclaimable=np.array([row.reclaimable for row in rows], dtype=bool),
        capability=_column([row.capability for row in rows], resources, "$.queues[{}].capability", UNSET),
        guarantee=_column([row.guarantee for row in rows], resources, "$.queues[{}].guarantee", 0),
        deserved=_column([row.deserved for row in rows], resources, "$.queues[{}].deserved", UNSET),
    )


def _namespace_names(problem: Problem) -> tuple[str, ...]:
    listed = [row.name for row in problem.namespaces]
    return tuple(dict.fromkeys([*listed, *(job.namespace for job in problem.jobs)]))


def _namespace_table(rows: Sequence[NamespaceIn], names: Sequence[str], resources: Sequence[str]) -> NamespaceTable:
    weights: dict[str, list[Any]] = {}
    for row in rows:
        weights.setdefault(row.name, []).append(row.weight)
    return NamespaceTable(
        names=tuple(names),
        weight=ints([weight_of(weights.get(name, ())) for name in names]),
        past=np.zeros((len(names), len(resources)), dtype=np.int64),
    )


def _jobs(
    problem: Problem, resources: Sequence[str], queues: Sequence[str], namespaces: Sequence[str], pods: bool
) -> JobTable:
    rows = problem.jobs
    roles = [_roles(job, f"$.jobs[{number}]") for number, job in enumerate(rows)]
    queue_names = [job.queue or (queues[0] if len(queues) == 1 else "default") for job in rows]
    queue_row, namespace_row = lookup(queues), lookup(namespaces)
    request = _column([role.request for each in roles for role in each], resources, "$.jobs[?]", 0)
    return JobTable(
        names=_job_names(rows),
        resources=tuple(resources),
        queue=ints([queue_row.get(name, UNSET) for name in queue_names]),
        queue_names=tuple(queue_names),
        namespace=ints([namespace_row[job.namespace] for job in rows]),
        priority=ints([job.priority for job in rows]),
        age=_ages(rows),
        min_member=ints([job.min_member for job in rows]),
        min_resources=_column([job.min_resources for job in rows], resources, "$.jobs[{}].minResources", 0),
        preempts=np.array([job.preemption_policy != "Never" for job in rows], dtype=bool),
        since=np.full(len(rows), UNSET),
        role_start=ints(np.cumsum([0, *(len(each) for each in roles)])),
        role_names=tuple(role.name for each in roles for role in each),
        role_replicas=ints([role.replicas for each in roles for role in each]),
        role_minimum=ints([role.min_member for each in roles for role in each]),
        role_running=ints([role.running for each in roles for role in each]),
        role_request=_with_pods(request, resources) if pods else request,
    )


def _roles(job: JobIn, path: str) -> list[TaskIn]:
    """The tasks of a job, or its replicas as the only one."""
    if job.tasks is None:
        replicas = 1 if job.replicas is None else job.replicas
        roles = [TaskIn(name="", replicas=replicas, request=job.request or {}, running=job.running)]
    elif job.replicas is not None or job.request is not None or job.running:
        raise InputError(f"{path}.tasks", "is there together with replicas, request or running; expected one of them")
    else:
        roles = job.tasks
    for number, role in enumerate(roles):
        if role.running > role.replicas:
            place = path if job.tasks is None else f"{path}.tasks[{number}]"
            raise InputError(f"{place}.running", f"{role.running}; expected at most the {role.replicas} replicas")
    return roles


def _with_pods(request: Int, resources: Sequence[str]) -> Int:
    column = resources.index(PODS)
    result = np.array(request)
    result[:, column] = np.maximum(result[:, column], 1)
    return ints(result)


def _job_names(rows: Sequence[JobIn]) -> tuple[str, ...]:
    """A name that several namespaces use is told with its namespace."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
    names = [row.name if seen[row.name] == 1 else f"{row.namespace}/{row.name}" for row in rows]
    return distinct(names, "$.jobs")


def _ages(rows: Sequence[JobIn]) -> Int:
    """Ranks by age: `created`, then name; those without it are the youngest, in the order of the input."""
    moments = [_moment(row.created, f"$.jobs[{number}].created") for number, row in enumerate(rows)]
    order = sorted(
        range(len(rows)),
        key=lambda row: (0, moments[row], natural_key(rows[row].name), row) if moments[row] is not None else (1, row),
    )
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows))
    return ints(ranks)


def _moment(value: int | float | str | None, path: str) -> float | None:
    """Seconds since 1970, from a number or from a time such as 2026-01-02T03:04:05Z."""
    if value is None or not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise InputError(path, f"{value!r} is not a time; expected such as 2026-01-02T03:04:05Z") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
