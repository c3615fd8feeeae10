"""All four components on a fake API server, with ordinary work beside whatever poison is put there."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from fairlead.kube.client import Client
from fairlead.kube.events import Recorder
from fairlead.kube.fake import FakeApi
from fairlead.kube.resources import (
    EVENTS,
    LONGHORN_NODES,
    LONGHORN_REPLICAS,
    LONGHORN_VOLUMES,
    PODS,
    RESOURCE_BINDINGS,
    TIER_LEDGERS,
    Resource,
)
from fairlead.kube.watch import Reflector
from fairlead.live.fleet import component as fleet
from fairlead.live.queue.duties import Duties
from fairlead.live.runtime.aside import Aside
from fairlead.live.scheduler import component as scheduler
from fairlead.live.settings import DEFAULTS
from fairlead.live.storage import component as storage
from fairlead.live.webhook.janitor import Janitor
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import LedgerStore
from tests.live import longhorn_objects as longhorn
from tests.poison.objects import Made, Object, Told, binding, cluster, ledger, node, pod

NAMESPACE, SYSTEM = "shop", "fairlead-system"
EPOCH = 1_767_225_600.0
"""2026-01-01, at which the fake says that everything was created."""


class Town:
    """The components as tasks of one loop."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self._clock = asyncio.get_running_loop().time
        self._number = 0
        self.put(node("n1", labels={"pool": "shop"}))
        for name in ("m1", "m2"):
            self.put(cluster(name))
        self.put((LONGHORN_NODES, longhorn.node("disks", d=1000)))
        self._begin()

    def _begin(self) -> None:
        client, now = Client(self.api), self._clock
        self.recorder = Recorder(client, component="test", instance="one", clock=now, now=self._wall)
        given: dict[str, Any] = {"recorder": self.recorder, "monotonic": now, "wall": self._wall}
        self.scheduler = scheduler.Scheduler(client, scheduler.Options(), **given)
        self.duties = Duties(client, self.scheduler, DEFAULTS, **given)
        self.fleet = fleet.Fleet(client, fleet.Options(), **given)
        self.storage = storage.StorageKeeper(client, storage.Options(act=True), **given, aside=_inline)
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

    def ordinary(self) -> list[Told]:
        """Ordinary work of every kind, and what has to become of it."""
        self._number += 1
        name = f"ordinary-{self._number}"
        self.put(pod(name, nodeSelector={"pool": "shop"}))
        self.put(binding(name))
        body = longhorn.volume(name, 1)
        self.put((LONGHORN_VOLUMES, body))
        self.put((LONGHORN_REPLICAS, longhorn.replica(body, 1)))
        self.put(ledger(name, {"namespace": "gone", "replicaSet": "gone", "deployment": "gone"}))
        return [
            Told("bound", name),
            Told("divided", name),
            Told("stored", f"{name}-r1"),
            Told("tidied", name),
        ]

    def failed(self) -> dict[str, str]:
        """The components that have ended, and why."""
        ended = {name: task for name, task in self.tasks.items() if task.done()}
        return {name: repr(task.exception()) for name, task in ended.items()}

    async def stop(self) -> None:
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    def holds(self, told: Told) -> bool:
        """Whether people are told so, or the work is done."""
        check = getattr(self, f"_{told.how}")
        return bool(check(told.who, told.text))

    def _find(self, resource: Resource[Any], name: str) -> Object:
        return self.api.find(resource, name, namespace=home(resource)) or {}

    def _pod(self, name: str, text: str) -> bool:
        return text in _condition(self._find(PODS, name), "PodScheduled")

    def _binding(self, name: str, text: str) -> bool:
        found = self._find(RESOURCE_BINDINGS, name)
        return bool(found.get("status", {}).get("conditions")) and text in _condition(found, "Scheduled")

    def _event(self, name: str, text: str) -> bool:
        events = self.api.store.listed(f"{EVENTS.root}/{EVENTS.plural}", "", "", "")
        return any(
            each["reason"] == "SetAside" and each["regarding"]["name"] == name and text in each["note"]
            for each in events
        )

    def _report(self, name: str, text: str) -> bool:
        page = msgspec.json.decode(self.storage.page())
        return any(name in str(each) and text in str(each) for each in (*page["errors"], *page["unscheduled"]))

    def _works(self, name: str, text: str) -> bool:
        return bool(
            self._find(PODS, name).get("spec", {}).get("nodeName")
            or self._find(RESOURCE_BINDINGS, name).get("status", {}).get("conditions")
            or self._find(LONGHORN_REPLICAS, name).get("spec", {}).get("nodeID")
        )

    def _bound(self, name: str, text: str) -> bool:
        return bool(self._find(PODS, name)["spec"].get("nodeName"))

    def _divided(self, name: str, text: str) -> bool:
        return bool(self._find(RESOURCE_BINDINGS, name)["spec"].get("clusters"))

    def _stored(self, name: str, text: str) -> bool:
        return bool(self._find(LONGHORN_REPLICAS, name)["spec"].get("nodeID"))

    def _tidied(self, name: str, text: str) -> bool:
        return not self._find(TIER_LEDGERS, name)


def home(resource: Resource[Any]) -> str:
    """The namespace of objects of a kind."""
    if not resource.namespaced:
        return ""
    if resource is TIER_LEDGERS:
        return SYSTEM
    return longhorn.NAMESPACE if resource.group == "longhorn.io" else NAMESPACE


def _condition(found: Object, kind: str) -> str:
    conditions = found.get("status", {}).get("conditions", [])
    return next((str(each.get("message", "")) for each in conditions if each["type"] == kind), "")


async def _inline(call: Callable[..., Any], *arguments: Any) -> Any:
    """Instead of a thread, which a virtual clock does not know."""
    return call(*arguments)
