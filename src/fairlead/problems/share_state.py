"""A problem of `fairlead share` as tables; impossible values are bad input, told with their path."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fairlead.levels.queue.decay import decayed
from fairlead.model.amounts import amounts, plain_names
from fairlead.model.columns import distinct
from fairlead.model.errors import InputError
from fairlead.model.jobs import UNSET
from fairlead.model.queuestate import QueuedJob, QueueEntry, QueueState, Role, RunningReplicas, queue_state, weight_of
from fairlead.problems.share_fields import JobIn, Moment, NamespaceIn, ShareProblem, TaskIn

MOST_SECONDS = 2**53
"""Before and after 1970; beyond it a second is lost in a floating-point number."""


def state_of(problem: ShareProblem, now: float | None = None) -> QueueState:
    """The problem in columns; impossible values are bad input, told with their path."""
    whole, free = _room(problem)
    queues = _queues(problem)
    default = queues[0].name if len(queues) == 1 else "default"
    budgets = [job.budget for job in problem.jobs if job.budget is not None]
    rows = enumerate(problem.jobs)
    names = _job_names(problem.jobs)
    jobs = [_job(job, f"$.jobs[{row}]", names[row], default) for row, job in rows]
    jobs = _with_budgets(jobs, problem.jobs)
    if free is not None:
        _charge(jobs, free)
    return queue_state(
        jobs=jobs,
        queues=queues,
        weights=_weights(problem.namespaces),
        past=_past(problem, now),
        whole=whole,
        free=free,
        allowed=budgets,
    )


def _room(problem: ShareProblem) -> tuple[dict[str, int], dict[str, dict[str, int]] | None]:
    """Everything there is, and what is free on each node before the jobs here are counted."""
    if problem.nodes is None:
        if problem.total is None:
            raise InputError("$.total", "is missing; expected the amounts there are, or nodes")
        return amounts(problem.total, "$.total"), None
    distinct([node.name for node in problem.nodes], "$.nodes")
    free: dict[str, dict[str, int]] = {}
    for row, node in enumerate(problem.nodes):
        free[node.name] = amounts(node.allocatable, f"$.nodes[{row}].allocatable")
        for name, used in amounts(node.used, f"$.nodes[{row}].used").items():
            free[node.name][name] = free[node.name].get(name, 0) - used
    if problem.total is not None:
        return amounts(problem.total, "$.total"), free
    named = dict.fromkeys(name for node in free.values() for name in node)
    return {name: sum(max(0, node.get(name, 0)) for node in free.values()) for name in named}, free


def _charge(jobs: Sequence[QueuedJob], free: dict[str, dict[str, int]]) -> None:
    """Take what runs on known nodes off what is free there."""
    for job in jobs:
        for role in job.roles:
            for held in role.held:
                if held.node in free:
                    node = free[held.node]
                    asked = {"pods": 1, **role.request} if "pods" in node else role.request
                    for name, amount in asked.items():
                        node[name] = node.get(name, 0) - amount * held.count


def _queues(problem: ShareProblem) -> list[QueueEntry]:
    """The queues listed; where the field is absent, those that jobs name."""
    if problem.queues is None:
        return [QueueEntry(name=name) for name in dict.fromkeys(job.queue or "default" for job in problem.jobs)]
    return [
        QueueEntry(
            name=queue.name,
            weight=queue.weight,
            priority=queue.priority,
            parent=queue.parent,
            open=queue.state == "Open",
            reclaimable=queue.reclaimable,
            capability=amounts(queue.capability, f"$.queues[{row}].capability"),
            guarantee=amounts(queue.guarantee, f"$.queues[{row}].guarantee"),
            deserved=amounts(queue.deserved, f"$.queues[{row}].deserved"),
        )
        for row, queue in enumerate(problem.queues)
    ]


def _weights(rows: Sequence[NamespaceIn]) -> dict[str, int]:
    written: dict[str, list[Any]] = {}
    for row in rows:
        written.setdefault(row.name, []).append(row.weight)
    return {name: weight_of(values) for name, values in written.items()}


def _past(problem: ShareProblem, now: float | None) -> dict[str, dict[str, int]]:
    """Past usage as it counts now; without a half-life it does not count."""
    result: dict[str, dict[str, int]] = {}
    for row, namespace in enumerate(problem.namespaces):
        for number, past in enumerate(namespace.past):
            path = f"$.namespaces[{row}].past[{number}]"
            at = moment(past.at, f"{path}.at")
            usage = amounts(past.usage, f"{path}.usage")
            if problem.half_life is not None and now is not None and at is not None:
                sums = result.setdefault(namespace.name, {})
                for name, amount in usage.items():
                    sums[name] = sums.get(name, 0) + decayed(amount, int(now - at), problem.half_life)
    return result


def _job(job: JobIn, path: str, name: str, default: str) -> QueuedJob:
    since, created = moment(job.since, f"{path}.since"), moment(job.created, f"{path}.created")
    return QueuedJob(
        name=name,
        queue=job.queue or default,
        namespace=job.namespace,
        roles=_roles(job, path),
        min_member=job.min_member,
        min_resources=amounts(plain_names(job.min_resources), f"{path}.minResources"),
        priority=job.priority,
        created=created,
        since=UNSET if since is None else int(since),
        preempts=job.preemption_policy != "Never",
    )


def _with_budgets(jobs: list[QueuedJob], rows: Sequence[JobIn]) -> list[QueuedJob]:
    """The running replicas of a job with a budget know its row."""
    number = 0
    for place, row in enumerate(rows):
        if row.budget is not None:
            roles = tuple(
                replace(role, held=tuple(replace(held, budget=number) for held in role.held))
                for role in jobs[place].roles
            )
            jobs[place] = replace(jobs[place], roles=roles)
            number += 1
    return jobs


def _roles(job: JobIn, path: str) -> tuple[Role, ...]:
    """The tasks of a job, or its replicas as the only one."""
    if job.tasks is None:
        replicas = 1 if job.replicas is None else job.replicas
        tasks = [TaskIn(replicas=replicas, request=job.request or {}, running=job.running)]
    elif job.replicas is not None or job.request is not None or job.running:
        raise InputError(f"{path}.tasks", "is there together with replicas, request or running; expected one of them")
    else:
        tasks = job.tasks
    roles = []
    for number, task in enumerate(tasks):
        place = path if job.tasks is None else f"{path}.tasks[{number}]"
        by_node: Mapping[str, int] = task.running if isinstance(task.running, dict) else {"": task.running}
        if sum(by_node.values()) > task.replicas:
            message = f"{sum(by_node.values())}; expected at most the {task.replicas} replicas"
            raise InputError(f"{place}.running", message)
        roles.append(
            Role(
                name=task.name,
                replicas=task.replicas,
                request=amounts(task.request, f"{place}.request"),
                minimum=task.min_member,
                held=tuple(
                    RunningReplicas(count=count, node=node, preemptable=job.preemptable, protected=job.system)
                    for node, count in by_node.items()
                    if count
                ),
                nodes=None if job.nodes is None else frozenset(job.nodes),
            )
        )
    return tuple(roles)


def _job_names(rows: Sequence[JobIn]) -> list[str]:
    """A name that several namespaces use is told with its namespace."""
    seen: dict[str, int] = {}
    for row in rows:
        seen[row.name] = seen.get(row.name, 0) + 1
    return [row.name if seen[row.name] == 1 else f"{row.namespace}/{row.name}" for row in rows]


def moment(value: Moment | None, path: str) -> float | None:
    """Seconds since 1970, from a number or from a time such as 2026-01-02T03:04:05Z."""
    if not isinstance(value, str):
        if value is not None and abs(value) > MOST_SECONDS:
            raise InputError(path, f"{value} is no time; expected seconds since 1970, at most 2^53")
        return value
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(path, f"{value!r} is not a time; expected such as 2026-01-02T03:04:05Z") from None
