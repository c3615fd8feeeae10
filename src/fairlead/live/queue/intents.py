"""Gangs are recorded before they are bound: a bound pod cannot be moved, so what began must be brought to its end.

The annotation on the PodGroup names the node of every pod. The next leader finds it, binds what is still missing,
and takes it away when all are bound or gone.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Key
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError, NotLeadingError
from fairlead.kube.patches import JsonPatch
from fairlead.kube.resources import NATIVE_POD_GROUPS, POD_GROUPS, Resource
from fairlead.live.cluster.identity import JobKey, JobSource, PodKey
from fairlead.live.cluster.records import PodRecord
from fairlead.live.cluster.turn_types import LiveJob, Place, Promise
from fairlead.live.queue.pod_groups import INTENT
from fairlead.live.runtime.outbox import Outbox
from fairlead.live.runtime.pulse import Pulse
from fairlead.model.errors import InputError
from fairlead.text.mistakes import UNREADABLE, words

IN_FLIGHT = 8
VERSION = 1
"""Of the form of an intent. Those of 0.1 have none, and are of this one; a newer one is not guessed at
(docs/compatibility.md)."""
PAUSE = 2.0
"""Seconds before the server is asked again to forget an intent."""
RESOURCES: Mapping[JobSource, Resource[Any]] = {JobSource.GROUP: POD_GROUPS, JobSource.NATIVE: NATIVE_POD_GROUPS}

log = structlog.get_logger("queue")


class _Intent(msgspec.Struct, frozen=True):
    """What the annotation holds: names without their common beginning, by node. `at` is for people to read."""

    at: float
    prefix: str
    nodes: dict[str, list[str]]
    version: int = VERSION


def written(places: Mapping[PodKey, str], at: float) -> str:
    """The text of an intent; `at` is in seconds of the wall clock."""
    found = sorted((node, name) for (_, name), node in places.items())
    prefix = _common([name for _, name in found])
    nodes: dict[str, list[str]] = {}
    for node, name in found:
        nodes.setdefault(node, []).append(name.removeprefix(prefix))
    return msgspec.json.encode(_Intent(at, prefix, nodes)).decode()


def _common(names: list[str]) -> str:
    """What all names begin with."""
    first, last = min(names), max(names)
    same = next((place for place in range(len(first)) if not last.startswith(first[: place + 1])), len(first))
    return first[:same]


def promised(job: JobKey, namespace: str, text: str, seen: float) -> Promise:
    """The promise that an intent makes; `InputError` where it cannot be read.

    It counts from when this instance saw it (docs/decisions/0208): the clock of the machine that wrote it may be wrong.
    """
    try:
        intent = msgspec.json.decode(text, type=_Intent)
    except UNREADABLE as error:
        raise InputError(f"annotation {INTENT}", f"cannot be read and counts for nothing: {words(error)[0]}") from None
    if intent.version > VERSION:
        raise InputError(
            f"annotation {INTENT}",
            f"is of version {intent.version}, this scheduler reads up to {VERSION}",
        )
    places: Mapping[PodKey, str] = {
        PodKey((namespace, intent.prefix + name)): node for node, names in intent.nodes.items() for name in names
    }
    return Promise(job=job, places=places, at=seen, begun=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """A gang to record on the PodGroup with this uid, and the pods to bind then.

    `record` has these, and the places of an earlier intent that are still open.
    """

    job: LiveJob
    uid: str
    places: tuple[Place, ...]
    record: Mapping[PodKey, str]


@dataclass(frozen=True, slots=True)
class End:
    """An intent that counts no longer."""

    source: JobSource
    group: Key
    text: str


class Intents:
    """Writes intents, then binds; takes them away when a gang is complete.

    `refused` is told of every pod whose gang could not be recorded.
    """

    def __init__(
        self,
        client: Client,
        bind: Callable[[PodRecord, str], None],
        refused: Callable[[PodRecord, str], None],
        wall: Callable[[], float],
        pulse: Pulse,
    ) -> None:
        self._client = client
        self._bind = bind
        self._refused = refused
        self._wall = wall
        self.outbox: Outbox[Begin | End] = Outbox(
            self._send, in_flight=IN_FLIGHT, name="intents", pulse=pulse, given_up=self._given_up
        )

    def begin(self, begin: Begin) -> None:
        """Record the gang and bind it."""
        self.outbox.put(begin)

    def end(self, end: End) -> None:
        """The gang is complete, or given up: the intent goes, if it is still the same one."""
        self.outbox.put(end)

    async def _send(self, work: Begin | End) -> None:
        if isinstance(work, Begin):
            await self._begin(work)
        else:
            await self._end(work)

    async def _begin(self, begin: Begin) -> None:
        job, term = begin.job, self._client.term
        text = written(begin.record, self._wall())
        try:
            await self._client.patch(
                RESOURCES[job.source],
                job.name,
                {"metadata": {"uid": begin.uid, "annotations": {INTENT: text}}},
                namespace=job.namespace,
            )
        except KubeError as error:
            self._not_begun(begin, f"its gang was not recorded: {error}")
            return
        if self._client.term != term:
            self._not_begun(begin, "the lease was lost while its gang was recorded")
            return
        for pod, node in begin.places:
            self._bind(pod, node)

    def _not_begun(self, begin: Begin, why: str) -> None:
        for pod, _ in begin.places:
            self._refused(pod, why)

    async def _end(self, end: End) -> None:
        namespace, name = end.group
        place = ("metadata", "annotations", INTENT)
        patch = JsonPatch().test(end.text, *place).remove(*place).operations
        try:
            await self._client.patch(RESOURCES[end.source], name, patch, kind="json", namespace=namespace)
        except NotLeadingError:
            return  # the instance that leads finds it
        except KubeError as error:
            if isinstance(error, ApiError) and (error.not_found or error.invalid):
                return  # the group is gone, or another intent stands there by now
            log.warning("intent not taken away yet", group=f"{namespace}/{name}", why=error)
            await asyncio.sleep(PAUSE)
            self.end(end)

    def _given_up(self, work: Begin | End) -> None:
        if isinstance(work, Begin):
            self._not_begun(work, "its gang was not recorded before this instance stopped leading")
