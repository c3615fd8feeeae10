"""What goes on beside the turns, at a pace of its own: the ends of promises and rests, status, and metrics."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, field
from functools import partial
from typing import Any

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.changes import Key
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.volcano import NativePodGroup, PodGroup, VolcanoQueue
from fairlead.kube.resources import NATIVE_POD_GROUPS, POD_GROUPS, QUEUES, Resource
from fairlead.live.cluster.identity import JobSource, PodKey
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import LiveJob, QueueTurn
from fairlead.live.queue import status
from fairlead.live.queue.evictor import Evictor
from fairlead.live.queue.gangs import gathers
from fairlead.live.queue.gate import Asking
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.queue.promise_ends import PromiseEnds
from fairlead.live.runtime.aside import WRITING, Aside
from fairlead.live.runtime.outbox import together
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import every
from fairlead.model.reasons import Finding

MOST_WRITES = 100
"""Status patches a round; the rest waits for the next one, those written longest ago first."""
IN_FLIGHT = 8
DUTY = 50
"""A look at the whole takes at most one part in so many of the time."""

What = tuple[Resource[Any], Key]
Write = tuple[What, dict[str, Any]]
"""A merge patch of the status of one object."""
Standing = tuple[Key, PodGroup, LiveJob, Finding | None]
"""A PodGroup, its job, and what stops that."""

log = structlog.get_logger("queue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What the loop reads: the objects as the server has them, pods as the cache has them, and turns."""

    groups: Callable[[], Mapping[Key, PodGroup]]
    native: Callable[[], Mapping[Key, NativePodGroup]]
    queues: Callable[[], Mapping[Key, VolcanoQueue]]
    pod: Callable[[PodKey], PodRecord | None]
    generation: Callable[[], int]
    """Grows with every change of what is shared."""
    look: Callable[[], QueueTurn]
    """How every job stands, without granting anything."""
    would: Callable[[], QueueTurn]
    """A turn with evictions that is not acted on."""
    gate: Callable[[], Asking]
    """PodGroups without pods."""


@dataclass(slots=True, eq=False)
class StatusLoop:
    """Runs in every instance and acts in the one that leads. In shadow nothing is written."""

    client: Client
    sight: Sight
    ends: PromiseEnds
    evictor: Evictor
    measures: QueueMetrics
    _: KW_ONLY
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    nudge: Callable[[], None]
    leads: Callable[[], bool]
    period: float
    writes: bool
    tells_evictions: bool
    pulse: Pulse
    aside: Aside = field(default_factory=Aside)
    _seen: int = field(default=-1, init=False)
    _next_look: float = field(default=0.0, init=False)
    _unwritten: bool = field(default=False, init=False)
    _written: dict[What, int] = field(default_factory=dict, init=False)
    _round: int = field(default=0, init=False)
    _turn: QueueTurn | None = field(default=None, init=False)
    _asking: Asking = field(default_factory=dict, init=False)
    _found: dict[str, Finding] = field(default_factory=dict, init=False)
    _cools_until: float | None = field(default=None, init=False)
    _gathering: bool = field(default=False, init=False)
    """Whether members of some gang may still be on their way, of which nothing is said before they are late."""

    def took_turn(self, turn: QueueTurn) -> None:
        """Remember what the turn found: it asked the nodes, which a look does not."""
        self._found = {row.name: row.finding for row in turn.sharing.jobs if row.finding is not None}

    def lost(self) -> None:
        """This instance leads no longer: how queues stand is told by another one, and is old when it leads again."""
        self._seen, self._next_look = -1, 0.0
        self._found = {}
        self.ends.lost()
        self.measures.clear()

    async def run(self) -> None:
        """Keep promises, status and metrics up to date until cancelled."""
        await every(self.period, self.round, name="status", pulse=self.pulse, leads=self.leads)

    async def round(self) -> None:
        """One look at everything."""
        self.evictor.rested()
        await self.ends.check()
        if not self.leads():
            return  # the lease was lost meanwhile
        self._wake_after_cooldown()
        if (self.sight.generation() != self._seen or self._gathering) and self.monotonic() >= self._next_look:
            self._look()
        elif not self._unwritten:
            return
        if self.writes and self._turn is not None:
            await self._write(self._turn)

    def _wake_after_cooldown(self) -> None:
        """Look again at jobs that wait once a pod may be evicted that could not before: nothing else tells of that."""
        if self._cools_until is not None and self.wall() >= self._cools_until:
            self._cools_until = self._next_cool()
            self.nudge()

    def _next_cool(self) -> float | None:
        """When the next running pod may be evicted by its cooldown time, which counts from when it was scheduled.

        The server tells of that moment after the look in which the pod was only about to be bound.
        """
        jobs, now = self._turn.jobs if self._turn is not None else (), self.wall()
        running = (pod for job in jobs for role in job.roles for pod, _ in role.running)
        cooling = (self.sight.pod(pod.key) for pod in running if pod.queue_fields.cools_until)
        ends = (pod.queue_fields.cools_until for pod in cooling if pod is not None)
        return min((until for until in ends if until > now), default=None)

    def _look(self) -> None:
        """Ask how every job stands, at a cost that is bounded; what changes meanwhile is seen at the next look."""
        start = self.monotonic()
        self._seen = self.sight.generation()
        self._turn, self._asking = self.sight.look(), self.sight.gate()
        self._cools_until = self._next_cool()
        self.measures.show(self._turn.sharing)
        if self.tells_evictions and self._turn.sharing.unplaced:
            self.evictor.would(self.sight.would())
        self._next_look = self.monotonic() + DUTY * (self.monotonic() - start)

    async def _write(self, turn: QueueTurn) -> None:
        """Bring PodGroups and Queues up to date, no more than MOST_WRITES at once."""
        self._round += 1
        self._gathering = False
        jobs = self._by_group(turn, JobSource.GROUP)
        jobs |= {(job.namespace, job.name): (job, finding) for job, finding in self._asking.values()}
        # What is new since the last look is written after the next one.
        groups = [(key, group, *jobs[key]) for key, group in self.sight.groups().items() if key in jobs]
        work = [*self._group_writes(groups), *self._native_writes(turn), *self._queue_writes(turn, groups)]
        work.sort(key=lambda each: self._written.get(each[0], 0))
        self._unwritten = len(work) > MOST_WRITES
        await together(self._write_one, work[:MOST_WRITES], in_flight=IN_FLIGHT)
        there = {what for what, _ in work}
        self._written = {what: when for what, when in self._written.items() if what in there or when == self._round}

    async def _write_one(self, write: Write) -> None:
        what, patch = write
        name = "/".join((what[0].label, *what[1]))
        self._written[what] = self._round
        try:
            await self._patch(what, patch)
        except ApiError as error:
            # Changed or deleted meanwhile: the watch tells, and the next round writes what is right then.
            self._unwritten = True
            if not (error.conflict or error.not_found):
                log.warning("status not written", what=name, why=error)
        except KubeError as error:
            self._unwritten = True
            log.warning("status not written", what=name, why=error)

    async def _patch(self, what: What, patch: dict[str, Any]) -> None:
        resource, (namespace, name) = what
        # Volcano's PodGroup has no status subresource.
        part = "" if resource is POD_GROUPS else "status"
        await self.client.patch(resource, name, patch, namespace=namespace, subresource=part)

    def _by_group(self, turn: QueueTurn, source: JobSource) -> dict[Key, tuple[LiveJob, Finding | None]]:
        """The jobs of PodGroups by namespace and name, with what stops them."""
        rows = zip(turn.jobs, turn.sharing.jobs, strict=True)
        return {
            (job.namespace, job.name): (job, self._finding_of(job, row.finding or self._found.get(job.key)))
            for job, row in rows
            if job.source is source
        }

    def _finding_of(self, job: LiveJob, finding: Finding | None) -> Finding | None:
        """What is said of a job that waits."""
        waiting = [pod for role in job.roles for pod in role.waiting]
        if not waiting:
            return None
        early = gathers(finding, waiting, self.wall())
        self._gathering |= early
        return None if early else finding

    def _group_writes(self, groups: Iterable[Standing]) -> Iterator[Write]:
        now = timestamps.whole(self.wall())
        queues = {name: queue for (_, name), queue in self.sight.queues().items()}
        for key, group, job, finding in groups:
            make = partial(status.group_patch, group, job, finding, now, queues.get(job.queue))
            yield from self._made(POD_GROUPS, key, make)

    def _native_writes(self, turn: QueueTurn) -> Iterator[Write]:
        """Only groups with pods of ours: the others may be those of another scheduler."""
        now = timestamps.whole(self.wall())
        groups = self.sight.native()
        for key, (job, finding) in self._by_group(turn, JobSource.NATIVE).items():
            if key in groups:
                make = partial(status.native_patch, groups[key], job, finding, now)
                yield from self._made(NATIVE_POD_GROUPS, key, make)

    def _made(self, resource: Resource[Any], key: Key, make: Callable[[], dict[str, Any] | None]) -> Iterator[Write]:
        """The write of one object's status; one that makes this raise is set aside (docs/decisions/0201)."""
        patch: dict[str, Any] | None = None
        with self.aside.around(resource.refer(key[1], namespace=key[0]), WRITING):
            patch = make()
        if patch is not None:
            yield (resource, key), patch

    def _queue_writes(self, turn: QueueTurn, groups: Iterable[Standing]) -> Iterator[Write]:
        queues = {name: queue for (_, name), queue in self.sight.queues().items()}
        if not queues:
            return
        held = status.allocated(turn.jobs, turn.idle, queues)
        phases: dict[str, Counter[str]] = defaultdict(Counter)
        for _, _, job, finding in groups:
            phases[job.queue][status.phase(job, finding)] += 1
        for name, queue in queues.items():
            yield from self._made(QUEUES, ("", name), partial(status.queue_patch, queue, held[name], phases[name]))
