"""Lets PodGroups in, at a pace of its own: nothing of a Job exists before, so a Job waits for every moment here."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, field
from typing import Any, Protocol

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube import timestamps
from fairlead.kube.changes import Key
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.volcano import PodGroup
from fairlead.kube.resources import POD_GROUPS
from fairlead.live.cluster.identity import JobKey, JobSource, group_job
from fairlead.live.queue import status
from fairlead.live.queue.arrivals import Arrivals, Burst
from fairlead.live.queue.gate import ASKS, Asking
from fairlead.live.runtime.aside import WRITING, Aside
from fairlead.live.runtime.outbox import together
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import every

PACE = 0.2
"""Seconds between two looks at the gate."""
DUTY = 10
"""Looks take at most one part in so many of the processor's time: a busy machine makes them no rarer."""
IN_FLIGHT = 16

log = structlog.get_logger("queue")


class Ask(Protocol):
    """The gate itself: what becomes of every group without pods."""

    def __call__(self, *, burst: Burst, let_in: frozenset[JobKey]) -> Asking: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSight:
    """What the gate looks at: the groups as the server has them, and how often what is shared has changed."""

    groups: Callable[[], Mapping[Key, PodGroup]]
    generation: Callable[[], int]
    ask: Ask


@dataclass(slots=True, eq=False)
class GateLoop:
    """Runs in every instance and acts in the one that leads. `answers` are those of the last look, for the status."""

    client: Client
    sight: GateSight
    _: KW_ONLY
    wall: Callable[[], float]
    monotonic: Callable[[], float]
    processor: Callable[[], float] = time.thread_time
    leads: Callable[[], bool]
    writes: bool
    pulse: Pulse
    aside: Aside
    answers: Asking = field(default_factory=dict, init=False)
    looks: int = field(default=0, init=False)
    """Grows with every look."""
    _arrivals: Arrivals = field(default_factory=Arrivals, init=False)
    _seen: int = field(default=-1, init=False)
    _due: bool = field(default=True, init=False)
    _next_look: float = field(default=0.0, init=False)
    _sent: dict[Key, str] = field(default_factory=dict, init=False)
    """Groups let in, by the version that was written upon; until the server tells of another."""

    async def run(self) -> None:
        """Look until cancelled."""
        await every(PACE, self.round, name="gate", pulse=self.pulse, leads=self.leads)

    async def round(self) -> None:
        """One look, if something changed or groups still settle; then write to the groups that may have pods."""
        if (self.sight.generation() == self._seen and not self._due) or self.monotonic() < self._next_look:
            return
        begun = self.processor()
        self._seen = self.sight.generation()
        groups = self.sight.groups()
        if not (groups or self.answers or self._due):
            # No group asks, none did: every pod that is bound changes what is shared, and would make it look.
            return
        self._sent = {key: version for key, version in self._sent.items() if _version(groups.get(key)) == version}
        burst = self._arrivals.see(
            [_job(key) for key, group in groups.items() if group.status.phase in ASKS], self.monotonic()
        )
        self._due = not burst.over
        self.answers = self.sight.ask(burst=burst, let_in=frozenset(map(_job, self._sent)))
        self.looks += 1
        self._next_look = self.monotonic() + DUTY * (self.processor() - begun)
        if self.writes:
            await together(self._let_in, list(self._patches(groups)), in_flight=IN_FLIGHT)

    def _patches(self, groups: Mapping[Key, PodGroup]) -> Iterator[tuple[Key, dict[str, Any]]]:
        """For every group that may have pods and is not let in yet; a group that makes this raise is set aside."""
        now = timestamps.whole(self.wall())
        for job, finding in self.answers.values():
            key = job.namespace, job.name
            group = groups.get(key)
            if job.held_back or key in self._sent or group is None or group.status.phase not in ASKS:
                continue
            patch: dict[str, Any] | None = None
            with self.aside.around(POD_GROUPS.refer(job.name, namespace=job.namespace), WRITING):
                patch = status.group_patch(group, job, finding, now)
            if patch is not None:
                yield key, patch

    async def _let_in(self, write: tuple[Key, dict[str, Any]]) -> None:
        (namespace, name), patch = write
        self._sent[namespace, name] = patch["metadata"]["resourceVersion"]
        try:
            await self.client.patch(POD_GROUPS, name, patch, namespace=namespace)
        except KubeError as error:
            # Changed or deleted meanwhile: the watch tells, and the next look lets it in.
            del self._sent[namespace, name]
            self._due = True
            if not (isinstance(error, ApiError) and (error.conflict or error.not_found)):
                log.warning("group not let in", group=f"{namespace}/{name}", why=error)


def _job(key: Key) -> JobKey:
    return group_job((JobSource.GROUP, *key))


def _version(group: PodGroup | None) -> str:
    return "" if group is None else group.metadata.resource_version
