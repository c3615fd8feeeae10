"""The JSON of `fairlead share`."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from fairlead.levels.queue.result import JobRow, NamespaceRow, QueueRow, Sharing
from fairlead.levels.queue.share import share
from fairlead.model.amounts import Quantity, quantities
from fairlead.model.decision import decision_record
from fairlead.model.reasons import Finding

MOST = 2**40
"""More replicas of one job than this are refused: amounts of them would not fit."""

Count = Annotated[int, Meta(ge=0, le=MOST)]
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
    priority: int = 0
    state: str = "Open"
    reclaimable: bool = True


class PastIn(_Strict, kw_only=True, frozen=True):
    """Usage of the past: amounts that were held until `at` (seconds)."""

    usage: Amounts
    at: int


class NamespaceIn(_Strict, kw_only=True, frozen=True):
    """A namespace; listed more than once (several quotas) the highest valid weight counts. Invalid ones count as 1."""

    name: str
    weight: Any = 1
    past: list[PastIn] = []


class TaskIn(_Strict, kw_only=True, frozen=True):
    """A role of a job: replicas that ask for the same."""

    name: str
    replicas: Count = 1
    request: Amounts = {}
    min_member: Count = 0
    running: Count = 0


class JobIn(_Strict, kw_only=True, frozen=True):
    """A job: `replicas` of `request`, or several `tasks`. `running` replicas are part of `replicas`."""

    name: str
    queue: str | None = None
    namespace: str = "default"
    replicas: Count | None = None
    request: Amounts | None = None
    tasks: list[TaskIn] | None = None
    min_member: Count = 1
    min_resources: Amounts = {}
    priority: int = 0
    running: Count = 0
    created: int | float | str | None = None
    preemptable: bool = True
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"


class Problem(_Strict, kw_only=True, frozen=True):
    """Everything there is (`total`), and who asks for it."""

    total: Amounts | None = None
    queues: list[QueueIn] | None = None
    namespaces: list[NamespaceIn] = []
    jobs: list[JobIn] = []
    preempt: bool = False


def solve(problem: Problem) -> Sharing:
    """Whose turn it is, and how far everybody gets."""
    from fairlead.problems.share_tables import tables

    case = tables(problem)
    return share(case.jobs, case.queues, case.namespaces, case.whole)


def answer(problem: Problem, decision: Sharing) -> dict[str, Any]:
    """The decision as JSON values."""
    return {
        "queues": {row.name: _queue(row) for row in decision.queues},
        "namespaces": [_namespace(row) for row in decision.namespaces],
        "jobs": {row.name: _job(row) for row in decision.jobs},
        **decision_record(decision),
    }


def _queue(row: QueueRow) -> dict[str, Any]:
    return {
        "deserved": quantities(row.deserved),
        "allocated": quantities(row.allocated),
        "share": float(row.share),
        **_reason(row.finding),
    }


def _namespace(row: NamespaceRow) -> dict[str, Any]:
    return {
        "queue": row.queue,
        "namespace": row.namespace,
        "weight": row.weight,
        "allocated": quantities(row.allocated),
        "share": float(row.share),
    }


def _job(row: JobRow) -> dict[str, Any]:
    return {"admitted": row.admitted, "pending": row.pending, **_reason(row.finding)}


def _reason(finding: Finding | None) -> dict[str, Any]:
    if finding is None:
        return {"reason": None}
    return {"reason": finding.code, "message": finding.sentence, "cure": finding.reason.cure.value}
