"""Gangs are recorded before they are bound: a bound pod cannot be moved, so what began must be brought to its end.

The annotation on the PodGroup names the node of every pod. Whoever leads next finds it, binds what is still missing,
and takes it away when all are bound or gone.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.patches import JsonPatch
from fairlead.kube.resources import NATIVE_POD_GROUPS, POD_GROUPS, Resource
from fairlead.live.queue.groups import INTENT
from fairlead.live.queue.turn import Grant, Place, Promise, Source
from fairlead.live.scheduler.records import Key, PodRecord
from fairlead.model.errors import InputError

IN_FLIGHT = 8
PAUSE = 2.0
"""Seconds before the server is asked again to forget an intent."""
RESOURCES: Mapping[Source, Resource[Any]] = {Source.GROUP: POD_GROUPS, Source.NATIVE: NATIVE_POD_GROUPS}

log = structlog.get_logger("queue")


class _Intent(msgspec.Struct, frozen=True):
    """What the annotation holds: names without their common beginning, by node."""

    at: float
    prefix: str
    nodes: dict[str, list[str]]


def written(places: Iterable[Place], at: float) -> str:
    """The text of an intent."""
    found = sorted((node, pod.metadata.name) for pod, node in places)
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


def promised(job: str, namespace: str, text: str) -> Promise:
    """The promise that an intent makes; `InputError` where it cannot be read."""
    try:
        intent = msgspec.json.decode(text, type=_Intent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"annotation {INTENT}", f"cannot be read and counts for nothing: {error}") from None
    places: Mapping[Key, str] = {
        (namespace, intent.prefix + name): node for node, names in intent.nodes.items() for name in names
    }
    return Promise(job=job, places=places, at=intent.at, begun=True)


@dataclass(frozen=True, slots=True)
class End:
    """An intent that counts no longer."""

    source: Source
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
    ) -> None:
        self._client = client
        self._bind = bind
        self._refused = refused
        self._wall = wall
        self._queue: asyncio.Queue[Grant | End] = asyncio.Queue()

    def begin(self, grant: Grant) -> None:
        """Record the gang and bind it."""
        self._queue.put_nowait(grant)

    def end(self, end: End) -> None:
        """The gang is complete, or given up: the intent goes, if it is still the same one."""
        self._queue.put_nowait(end)

    async def run(self) -> None:
        """Write until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(IN_FLIGHT):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            work = await self._queue.get()
            if isinstance(work, Grant):
                await self._begin(work)
            else:
                await self._end(work)

    async def _begin(self, grant: Grant) -> None:
        job = grant.job
        text = written(grant.places, self._wall())
        try:
            await self._client.patch(
                RESOURCES[job.source],
                job.name,
                {"metadata": {"annotations": {INTENT: text}}},
                namespace=job.namespace,
            )
        except KubeError as error:
            for pod, _ in grant.places:
                self._refused(pod, f"its gang was not recorded: {error}")
            return
        for pod, node in grant.places:
            self._bind(pod, node)

    async def _end(self, end: End) -> None:
        namespace, name = end.group
        place = ("metadata", "annotations", INTENT)
        patch = JsonPatch().test(end.text, *place).remove(*place).operations
        try:
            await self._client.patch(RESOURCES[end.source], name, patch, kind="json", namespace=namespace)
        except KubeError as error:
            if isinstance(error, ApiError) and (error.not_found or error.invalid):
                return  # the group is gone, or another intent stands there by now
            log.warning("intent not taken away yet", group=f"{namespace}/{name}", why=str(error))
            await asyncio.sleep(PAUSE)
            self.end(end)
