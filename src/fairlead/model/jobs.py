"""Jobs, queues and namespaces as columns: what each asks for, and with what right.

Amounts are int64 in the unit of their resource (cpu in milli, bytes, pieces), one column a resource of
`resources`, the same tuple in every table of one problem. `UNSET` stands for "not given".
"""

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.model.columns import Bool, Int, flags, ints

UNSET = -1
"""In a column of amounts: no such bound; in a column of rows or times: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTable:
    """One row a queue. `parents` are names, empty for a queue that stands directly below the whole."""

    names: tuple[str, ...]
    parents: tuple[str, ...]
    weight: Int
    priority: Int
    open: Bool
    reclaimable: Bool
    capability: Int
    """[queue, resource]: the most it may hold; UNSET: no bound of its own."""
    guarantee: Int
    """[queue, resource]: kept for it even while it does not use it."""
    deserved: Int
    """[queue, resource]: what the user says it deserves; UNSET: by weight."""
    faults: Mapping[int, str] = field(default_factory=dict)
    """By row, why a queue cannot be read; such a queue is refused."""

    def __post_init__(self) -> None:
        for column in ("weight", "priority", "capability", "guarantee", "deserved"):
            object.__setattr__(self, column, ints(getattr(self, column)))
        for column in ("open", "reclaimable"):
            object.__setattr__(self, column, flags(getattr(self, column)))

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceTable:
    """One row a namespace: its weight, and the usage of the past that still counts against it (decayed already)."""

    names: tuple[str, ...]
    weight: Int
    past: Int
    """[namespace, resource]: counted as usage by the order of grants, never by preemption."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", ints(self.weight))
        object.__setattr__(self, "past", ints(self.past))

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTable:
    """One row a job; its replicas come in one or more roles, the rows `role_start[j] … role_start[j + 1] − 1`.

    `running` replicas are part of `replicas`. A lower `age` is older. `min_member` 0: never a gang.
    """

    names: tuple[str, ...]
    resources: tuple[str, ...]
    queue: Int
    """Row in the queue table, UNSET where the queue does not exist."""
    queue_names: tuple[str, ...]
    namespace: Int
    priority: Int
    age: Int
    min_member: Int
    min_resources: Int
    """[job, resource]: room that has to be there before the gang starts, beyond what its replicas ask for."""
    preempts: Bool
    """Whether it may take room from others."""
    since: Int
    """When it began to wait, in seconds; UNSET: unknown."""
    role_start: Int
    role_names: tuple[str, ...]
    role_replicas: Int
    role_minimum: Int
    role_running: Int
    role_request: Int
    """[role, resource]: amounts one replica asks for."""
    unmet: Mapping[int, str] = field(default_factory=dict)
    """By job the field that it asks for and that is not implemented: it gets nothing."""
    may_wait: Mapping[int, int] = field(default_factory=dict)
    """By job how many seconds it may wait before room is kept for it, whatever the policy says."""

    def __post_init__(self) -> None:
        for column in ("queue", "namespace", "priority", "age", "min_member", "min_resources", "since"):
            object.__setattr__(self, column, ints(getattr(self, column)))
        for column in ("role_start", "role_replicas", "role_minimum", "role_running", "role_request"):
            object.__setattr__(self, column, ints(getattr(self, column)))
        object.__setattr__(self, "preempts", flags(self.preempts))

    def __len__(self) -> int:
        return len(self.names)

    @property
    def role_job(self) -> Int:
        """For each role the row of its job."""
        return np.repeat(np.arange(len(self)), np.diff(self.role_start))

    def per_job(self, role_column: Int) -> Int:
        """The sums of a column of roles, job by job."""
        if len(role_column) == len(self) and np.array_equal(self.role_start, np.arange(len(self) + 1)):
            return ints(role_column)  # one role each
        sums = np.zeros((len(self), *role_column.shape[1:]), dtype=np.int64)
        np.add.at(sums, self.role_job, role_column)
        return sums

    @property
    def replicas(self) -> Int:
        """Replicas of each job."""
        return self.per_job(self.role_replicas)

    @property
    def running(self) -> Int:
        """Running replicas of each job."""
        return self.per_job(self.role_running)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTable:
    """Running replicas by what decides whether they may be evicted; one row a group of equal ones."""

    job: Int
    role: Int
    """Row among the roles of the job table."""
    node: Int
    """Row among the nodes, UNSET where unknown."""
    count: Int
    priority: Int
    preemptable: Bool
    protected: Bool
    """Part of the system itself: never evicted."""
    budget: Int
    """Row in `allowed`, UNSET where no disruption budget covers it."""
    allowed: Int
    """Evictions each disruption budget still allows."""
    names: tuple[tuple[str, ...], ...] = ()
    """Names of the replicas of each row, where they have any."""
    ages: tuple[tuple[int, ...], ...] = ()
    """Their places by age among those of their role, the youngest first, where that is known."""

    def __post_init__(self) -> None:
        for column in ("job", "role", "node", "count", "priority", "budget", "allowed"):
            object.__setattr__(self, column, ints(getattr(self, column)))
        for column in ("preemptable", "protected"):
            object.__setattr__(self, column, flags(getattr(self, column)))

    def __len__(self) -> int:
        return len(self.job)


def running_of(jobs: JobTable) -> RunningTable:
    """The running replicas where nothing more is known of them: all may be evicted, at the priority of their job."""
    roles = np.flatnonzero(jobs.role_running)
    owners = jobs.role_job[roles]
    unknown = np.full(len(roles), UNSET)
    return RunningTable(
        job=owners,
        role=roles,
        node=unknown,
        count=jobs.role_running[roles],
        priority=jobs.priority[owners],
        preemptable=np.ones(len(roles), dtype=np.bool_),
        protected=np.zeros(len(roles), dtype=np.bool_),
        budget=unknown,
        allowed=np.zeros(0, dtype=np.int64),
    )
