"""What passes between the job cache, the decision of a turn and the actions on it."""

from collections.abc import Collection, Mapping
from dataclasses import field

from fairlead.dataclass import dataclass
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.identity import JobKey, JobSource, PodKey, Uid
from fairlead.live.cluster.pod_sets import PodSetKey
from fairlead.live.cluster.records import PodRecord, Request
from fairlead.model.jobs import UNSET

Place = tuple[PodRecord, str]
"""A pod and the node it is on, or is to go to."""
Counts = Mapping[Request, int]
"""How many pods run, by what each of them asks for."""
IdleCounts = Mapping[tuple[str, str], Counts]
"""The pods of idle jobs, by queue and namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRole:
    """Pods of a job that are alike. `task` is the name that a PodGroup's minimum by task refers to."""

    key: PodSetKey
    task: str
    waiting: tuple[PodRecord, ...]
    """In natural order of names."""
    running: tuple[Place, ...]
    """On a node, or about to be bound to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """A job as the cache has it at one moment. `key` is its name in the tables of the queue level.

    `created` and `since` (when it began to wait, UNSET while nothing waits) are seconds of the wall clock.
    """

    key: JobKey
    source: JobSource
    namespace: str
    name: str
    """The name of its PodGroup, or of its controller."""
    queue: str
    roles: tuple[LiveRole, ...]
    min_member: int = 1
    """What the gang needs, less its members that have succeeded."""
    min_tasks: Mapping[str, int] = field(default_factory=dict)
    min_resources: Mapping[str, int] = field(default_factory=dict)
    priority: int = 0
    created: float = 0.0
    since: int = UNSET
    preempts: bool = True
    unmet: str = ""
    """A field of its PodGroup that is not implemented: it waits."""
    may_wait: int | None = None
    """Seconds that it may wait before room is kept for it."""
    held_back: bool = False
    """A PodGroup whose pods are not to be created yet."""
    succeeded: int = 0
    failed: int = 0

    @property
    def waiting(self) -> int:
        """Pods that wait for a node."""
        return sum(len(role.waiting) for role in self.roles)

    @property
    def running(self) -> int:
        """Pods on a node, or about to be."""
        return sum(len(role.running) for role in self.roles)

    @property
    def gang(self) -> bool:
        """Whether it starts with several pods at once, or with room to spare."""
        return self.min_member > 1 or bool(self.min_resources)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """Places kept for pods of a job: a gang that is being started, or room that others have to leave first.

    While the pods wait, no other pod gets these places. `begun`: part of the gang may be bound already; if so, every
    pod that fits goes ahead. Otherwise all go at once or none.
    """

    job: JobKey
    places: Mapping[PodKey, str]
    """Pod → node."""
    at: float
    """Seconds of this instance's own clock, which never goes back."""
    begun: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictionOrder:
    """A pod that should go. `action` is `preempt`, `reclaim` or `release` (a gang that cannot be completed)."""

    pod: PodRecord
    node: str
    beneficiary: str
    """The key of the job it makes room for; empty for a release."""
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTerms:
    """What one turn goes by beside jobs and promises, put together when it begins (docs/decisions/0455)."""

    policy: SharePolicy = field(default_factory=SharePolicy)
    tried: frozenset[str] = frozenset()
    """Jobs that turns within a budget searched victims for already, see `Sharing.cursor`."""
    spared: Collection[Uid] = frozenset()
    """Uids of pods that may not be chosen for eviction."""
    barred: Collection[JobKey] = frozenset()
    """Keys of jobs that may not evict."""
    yielding: Collection[PodKey] = frozenset()
    """Pods about to be evicted; their jobs get nothing until they are gone: a gang is evicted as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """Pods of a job that are bound now. A gang that starts has its intent recorded first."""

    job: LiveJob
    places: tuple[Place, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTurn:
    """One turn of the queue level. `jobs` are in the order of `sharing.jobs`."""

    sharing: Sharing
    jobs: tuple[LiveJob, ...]
    grants: tuple[Grant, ...]
    evictions: tuple[EvictionOrder, ...] = ()
    promises: tuple[Promise, ...] = ()
    """The room that the evictions make, by job; not to be bound before it is there."""
    reserved: str = ""
    """The key of the job that room is kept for."""
    released: tuple[LiveJob, ...] = ()
    """Gangs that were begun, could not be completed in time, and are given up."""
    void: tuple[JobKey, ...] = ()
    """The keys of jobs whose intent counts no longer: nothing of it is bound, and not all of it fits."""
    at: float = 0.0
    """When it began, in seconds of this instance's own clock."""
    idle: IdleCounts = field(default_factory=dict)
    """Pods of jobs that are not in `jobs`."""
