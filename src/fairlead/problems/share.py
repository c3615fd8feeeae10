"""The JSON of `fairlead share`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from fairlead.levels.queue.decay import decayed
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.levels.queue.result import JobRow, NamespaceRow, QueueRow, Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.amounts import Quantity, amounts, quantities
from fairlead.model.decision import decision_record
from fairlead.model.errors import InputError
from fairlead.model.jobs import UNSET
from fairlead.model.queuestate import Held, Job, Queue, QueueState, Role, queue_state, weight_of
from fairlead.model.reasons import Finding

MOST = 2**40
"""More replicas of one job than this are refused: amounts of them would not fit."""

Count = Annotated[int, Meta(ge=0, le=MOST)]
Priority = Annotated[int, Meta(ge=-(2**31), le=2**31)]
Moment = int | float | str
Amounts = dict[str, Quantity]


class _Strict(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A part of a problem."""


class QueueIn(_Strict, kw_only=True, frozen=True):
    """A queue. `weight` out of range is told as a reason of this queue, not as bad input."""

    name: str
    weight: int = 1
    capability: Amounts = {}
    guarantee: Amounts = {}
    deserved: Amounts = {}
    parent: str = ""
    priority: Priority = 0
    state: str = "Open"
    reclaimable: bool = True


class UsageIn(_Strict, kw_only=True, frozen=True):
    """Usage of the past: amounts that were held until `at`."""

    usage: Amounts
    at: Moment


class NamespaceIn(_Strict, kw_only=True, frozen=True):
    """A namespace; listed more than once (several quotas) the highest valid weight counts. Invalid ones count as 1."""

    name: str
    weight: Any = 1
    past: list[UsageIn] = []


class TaskIn(_Strict, kw_only=True, frozen=True):
    """A role of a job: replicas that ask for the same."""

    name: str = ""
    replicas: Count = 1
    request: Amounts = {}
    min_member: Count = 0
    running: Count | dict[str, Count] = 0


class JobIn(_Strict, kw_only=True, frozen=True):
    """A job: `replicas` of `request`, or several `tasks`. `running` replicas are part of `replicas`.

    `running` is a number, or by node where there are nodes. `preemptable` and `system` hold for those that run.
    """

    name: str
    queue: str | None = None
    namespace: str = "default"
    replicas: Count | None = None
    request: Amounts | None = None
    tasks: list[TaskIn] | None = None
    min_member: Count = 1
    min_resources: Amounts = {}
    priority: Priority = 0
    running: Count | dict[str, Count] = 0
    created: Moment | None = None
    since: Moment | None = None
    preemptable: bool = True
    system: bool = False
    budget: Count | None = None
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    nodes: list[str] | None = None


class NodeIn(_Strict, kw_only=True, frozen=True):
    """A node: what it may hold, and what others than the jobs here hold of it."""

    name: str
    allocatable: Amounts
    used: Amounts = {}


class Problem(_Strict, kw_only=True, frozen=True):
    """Everything there is (`total`, else the sum of the nodes), and who asks for it.

    `reserveAfter` and `halfLife` are seconds; both need `now`.
    """

    total: Amounts | None = None
    nodes: list[NodeIn] | None = None
    queues: list[QueueIn] | None = None
    namespaces: list[NamespaceIn] = []
    jobs: list[JobIn] = []
    preempt: bool = False
    now: Moment | None = None
    reserve_after: Count | None = None
    half_life: Annotated[int, Meta(ge=1)] | None = None


def solve(problem: Problem) -> Sharing:
    """Whose turn it is, and how far everybody gets."""
    now = _moment(problem.now, "$.now")
    if now is None and (problem.reserve_after is not None or problem.half_life is not None):
        raise InputError("$.now", "is missing; expected the time that reserveAfter and halfLife are counted to")
    policy = SharePolicy(preempt=problem.preempt, reserve_after=problem.reserve_after)
    return solve_state(state_of(problem, now), policy, int(now or 0))


def solve_state(state: QueueState, policy: SharePolicy, now: int = 0) -> Sharing:
    """The decision on tables, with the nodes asked where there are any."""
    fits = None
    if state.room is not None:
        fits = NodeRoom(state.jobs.resources, state.room.free, state.jobs.role_request, state.room.eligible)
    return share(
        state.jobs,
        state.queues,
        state.namespaces,
        state.whole,
        fits,
        running=state.running,
        policy=policy,
        now=now,
    )


def state_of(problem: Problem, now: float | None = None) -> QueueState:
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


def _room(problem: Problem) -> tuple[dict[str, int], dict[str, dict[str, int]] | None]:
    """Everything there is, and what is free on each node before the jobs here are counted."""
    if problem.nodes is None:
        if problem.total is None:
            raise InputError("$.total", "is missing; expected the amounts there are, or nodes")
        return amounts(problem.total, "$.total"), None
    free: dict[str, dict[str, int]] = {}
    for row, node in enumerate(problem.nodes):
        if node.name in free:
            raise InputError(f"$.nodes[{row}].name", f"{node.name!r} is there twice; expected distinct names")
        free[node.name] = amounts(node.allocatable, f"$.nodes[{row}].allocatable")
        for name, used in amounts(node.used, f"$.nodes[{row}].used").items():
            free[node.name][name] = free[node.name].get(name, 0) - used
    if problem.total is not None:
        return amounts(problem.total, "$.total"), free
    named = dict.fromkeys(name for node in free.values() for name in node)
    return {name: sum(max(0, node.get(name, 0)) for node in free.values()) for name in named}, free


def _charge(jobs: Sequence[Job], free: dict[str, dict[str, int]]) -> None:
    """Take what runs on known nodes off what is free there."""
    for job in jobs:
        for role in job.roles:
            for held in role.held:
                if held.node in free:
                    node = free[held.node]
                    asked = {"pods": 1, **role.request} if "pods" in node else role.request
                    for name, amount in asked.items():
                        node[name] = node.get(name, 0) - amount * held.count


def _queues(problem: Problem) -> list[Queue]:
    """The queues listed; where the field is absent, those that jobs name."""
    if problem.queues is None:
        return [Queue(name=name) for name in dict.fromkeys(job.queue or "default" for job in problem.jobs)]
    return [
        Queue(
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


def _past(problem: Problem, now: float | None) -> dict[str, dict[str, int]]:
    """Past usage as it counts now; without a half-life it does not count."""
    result: dict[str, dict[str, int]] = {}
    for row, namespace in enumerate(problem.namespaces):
        for number, past in enumerate(namespace.past):
            path = f"$.namespaces[{row}].past[{number}]"
            at = _moment(past.at, f"{path}.at")
            usage = amounts(past.usage, f"{path}.usage")
            if problem.half_life is not None and now is not None and at is not None:
                sums = result.setdefault(namespace.name, {})
                for name, amount in usage.items():
                    sums[name] = sums.get(name, 0) + decayed(amount, int(now - at), problem.half_life)
    return result


def _job(job: JobIn, path: str, name: str, default: str) -> Job:
    since, created = _moment(job.since, f"{path}.since"), _moment(job.created, f"{path}.created")
    return Job(
        name=name,
        queue=job.queue or default,
        namespace=job.namespace,
        roles=_roles(job, path),
        min_member=job.min_member,
        min_resources=amounts(job.min_resources, f"{path}.minResources"),
        priority=job.priority,
        created=created,
        since=UNSET if since is None else int(since),
        preempts=job.preemption_policy != "Never",
    )


def _with_budgets(jobs: list[Job], rows: Sequence[JobIn]) -> list[Job]:
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
                    Held(count=count, node=node, preemptable=job.preemptable, protected=job.system)
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


def _moment(value: Moment | None, path: str) -> float | None:
    """Seconds since 1970, from a number or from a time such as 2026-01-02T03:04:05Z."""
    if not isinstance(value, str):
        return value
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise InputError(path, f"{value!r} is not a time; expected such as 2026-01-02T03:04:05Z") from None


def answer(problem: Problem, decision: Sharing) -> dict[str, Any]:
    """The decision as JSON values."""
    return record(decision, preempt=problem.preempt)


def record(decision: Sharing, *, preempt: bool) -> dict[str, Any]:
    """The JSON of a sharing; `victims` and `evictions` where it was allowed to evict."""
    result = {
        "queues": {row.name: _queue(row) for row in decision.queues},
        "namespaces": [_namespace(row) for row in decision.namespaces],
        "jobs": {row.name: _job_record(row) for row in decision.jobs},
        **decision_record(decision),
    }
    if preempt:
        result |= victims(decision)
    if decision.reserved is not None:
        result["reserved"] = decision.reserved
    return result


def victims(decision: Sharing) -> dict[str, Any]:
    """`victims`: replicas evicted by job; `evictions`: the same with beneficiary and action."""
    sums: dict[str, int] = {}
    for victim in decision.victims:
        sums[victim.job] = sums.get(victim.job, 0) + victim.count
    return {
        "victims": sums,
        "evictions": [
            {"job": each.job, "replicas": each.count, "for": each.beneficiary, "action": each.action}
            for each in decision.victims
        ],
    }


def _queue(row: QueueRow) -> dict[str, Any]:
    return {
        "deserved": quantities(row.deserved),
        "allocated": quantities(row.allocated),
        "requested": quantities(row.requested),
        "share": float(row.share),
        "distance": float(row.distance),
        **_reason(row.finding),
    }


def _namespace(row: NamespaceRow) -> dict[str, Any]:
    return {
        "queue": row.queue,
        "namespace": row.namespace,
        "weight": row.weight,
        "allocated": quantities(row.allocated),
        "requested": quantities(row.requested),
        "fair": quantities(row.fair),
        "share": float(row.share),
        "distance": float(row.distance),
    }


def _job_record(row: JobRow) -> dict[str, Any]:
    return {"admitted": row.admitted, "running": row.running, "pending": row.pending, **_reason(row.finding)}


def _reason(finding: Finding | None) -> dict[str, Any]:
    if finding is None:
        return {"reason": None}
    return {"reason": finding.code, "message": finding.sentence, "cure": finding.reason.cure.value}
