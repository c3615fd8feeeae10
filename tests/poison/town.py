"""All four components on a fake API server, with ordinary work beside whatever poison is put there."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.resources import (
    EVENTS,
    LONGHORN_NODES,
    TIER_LEDGERS,
    Resource,
)
from fairlead.kube.watch import Reflector
from fairlead.live.fleet import component as fleet
from fairlead.live.runtime.aside import Aside
from fairlead.live.runtime.elected import Instance
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.scheduler import component as scheduler
from fairlead.live.scheduler.wiring import QueueWiring
from fairlead.live.storage import component as storage
from fairlead.live.webhook.janitor import Janitor
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import LedgerStore
from fairlead.settings import DEFAULTS
from tests.fake import FakeApi
from tests.live import longhorn_objects as longhorn
from tests.poison.objects import Made, Object, cluster, node
from tests.poison.sight import Sight

NAMESPACE, SYSTEM = "shop", "fairlead-system"
EPOCH = 1_767_225_600.0
"""2026-01-01, at which the fake says that everything was created."""


class Town(Sight):
    """The components as tasks of one loop."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self._clock = asyncio.get_running_loop().time
        self.put(node("n1", labels={"pool": "ordinary"}))
        for name in ("m1", "m2"):
            self.put(cluster(name))
        self.put((LONGHORN_NODES, longhorn.node("disks", d=1000)))
        self._begin()

    def _begin(self) -> None:
        client, now = Client(self.api), self._clock
        self.recorder = Recorder(client, component="test", instance="one", clock=now, now=self._wall)
        given = Instance(client, recorder=self.recorder, monotonic=now, wall=self._wall)
        self.scheduler = scheduler.Scheduler(given, scheduler.Options())
        self.duties = QueueWiring(self.scheduler, DEFAULTS)
        self.fleet = fleet.Fleet(given, fleet.FleetOptions())
        self.storage = storage.StorageKeeper(given, storage.StorageOptions(act=True), aside=_inline)
        aside, owners = Aside(None, self.recorder), Owners(client)
        ledgers = Reflector[Any](client, TIER_LEDGERS, lambda change: None, namespace=SYSTEM, aside=aside.watched)
        janitor = Janitor(
            client,
            LedgerStore(client, SYSTEM),
            owners,
            Memory(now),
            ledgers=lambda: ledgers.objects.values(),
            pods=list,
            leads=lambda: True,
            pulse=Pulse(now),
            aside=aside,
        )
        work: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
            "scheduler": self.scheduler.run,
            "duties": self.duties.run,
            "fleet": self.fleet.run,
            "storage": self.storage.run,
            "ledgers": ledgers.run,
            "janitor": janitor.run,
            "recorder": self.recorder.run,
            **{f"owners {number}": each.run for number, each in enumerate(owners.reflectors)},
        }
        self.tasks = {name: asyncio.create_task(each()) for name, each in work.items()}

    def _wall(self) -> float:
        return EPOCH + self._clock()

    def put(self, made: Made) -> None:
        """Create an object."""
        resource, body = made
        self.api.put(resource, msgspec.json.decode(msgspec.json.encode(body)), namespace=home(resource))

    def failed(self) -> dict[str, str]:
        """The components that have ended, and why."""
        ended = {name: task for name, task in self.tasks.items() if task.done()}
        return {name: repr(task.exception()) for name, task in ended.items()}

    async def stop(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    def find(self, resource: Resource[Any], name: str) -> Object:
        """The object, empty where there is none."""
        return self.api.find(resource, name, namespace=home(resource)) or {}

    def events(self) -> list[Object]:
        """All events."""
        return self.api.store.listed(f"{EVENTS.root}/{EVENTS.plural}", "", "", "")

    def report(self) -> bytes:
        """The report of the storage component."""
        return self.storage.page()()


def home(resource: Resource[Any]) -> str:
    """The namespace of objects of a kind."""
    if not resource.namespaced:
        return ""
    if resource is TIER_LEDGERS:
        return SYSTEM
    return longhorn.NAMESPACE if resource.group == "longhorn.io" else NAMESPACE


async def _inline(call: Callable[..., Any], *arguments: Any) -> Any:
    """Instead of a thread, which a virtual clock does not know."""
    return call(*arguments)
