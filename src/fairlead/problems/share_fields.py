"""The fields of a problem of `fairlead share`."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from fairlead.model.amounts import Quantity

MOST = 2**40
"""More replicas of one job than this are refused: amounts of them would not fit."""

Count = Annotated[int, Meta(ge=0, le=MOST)]
Priority = Annotated[int, Meta(ge=-(2**31), le=2**31)]
Moment = int | float | str
Amounts = dict[str, Quantity]


class _Strict(Struct, forbid_unknown_fields=True, rename="camel", kw_only=True, frozen=True):
    """A part of a problem."""


class QueueInput(_Strict, kw_only=True, frozen=True):
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


class ShareProblem(_Strict, kw_only=True, frozen=True):
    """Everything there is (`total`, else the sum of the nodes), and who asks for it.

    `reserveAfter` and `halfLife` are seconds; both need `now`.
    """

    total: Amounts | None = None
    nodes: list[NodeIn] | None = None
    queues: list[QueueInput] | None = None
    namespaces: list[NamespaceIn] = []
    jobs: list[JobIn] = []
    preempt: bool = False
    now: Moment | None = None
    reserve_after: Count | None = None
    half_life: Annotated[int, Meta(ge=1)] | None = None
