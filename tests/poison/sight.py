"""Whether people are told of a poison and ordinary work is done, on whatever API server."""

from abc import ABC, abstractmethod
from typing import Any

import msgspec

from fairlead.kube.resources import (
    LONGHORN_REPLICAS,
    LONGHORN_VOLUMES,
    PODS,
    RESOURCE_BINDINGS,
    TIER_LEDGERS,
    Resource,
)
from tests.live import longhorn_objects as longhorn
from tests.poison.objects import Made, Object, Told, binding, ledger, pod


class Sight(ABC):
    """Creates objects and looks at what becomes of them."""

    @abstractmethod
    def put(self, made: Made) -> None:
        """Create an object."""

    @abstractmethod
    def find(self, resource: Resource[Any], name: str) -> Object:
        """The object, empty where there is none."""

    @abstractmethod
    def events(self) -> list[Object]:
        """All events."""

    @abstractmethod
    def report(self) -> bytes:
        """The report of the storage component."""

    def ordinary(self, number: int) -> list[Told]:
        """Ordinary work of every kind, and what has to become of it."""
        name = f"ordinary-{number}"
        self.put(pod(name, nodeSelector={"pool": "ordinary"}))
        self.put(binding(name))
        volume = longhorn.volume(name, 1)
        self.put((LONGHORN_VOLUMES, volume))
        self.put((LONGHORN_REPLICAS, longhorn.replica(volume, 1)))
        self.put(ledger(name, {"namespace": "gone", "replicaSet": "gone", "deployment": "gone"}))
        return [Told("bound", name), Told("divided", name), Told("stored", f"{name}-r1"), Told("tidied", name)]

    def holds(self, told: Told) -> bool:
        """Whether people are told so, or the work is done."""
        return bool(getattr(self, f"_{told.how}")(told.who, told.text))

    def _pod(self, name: str, text: str) -> bool:
        return text in _condition(self.find(PODS, name), "PodScheduled")

    def _binding(self, name: str, text: str) -> bool:
        found = self.find(RESOURCE_BINDINGS, name)
        return bool(found.get("status", {}).get("conditions")) and text in _condition(found, "Scheduled")

    def _event(self, name: str, text: str) -> bool:
        said = [each for each in self.events() if each["reason"] == "SetAside" and each["regarding"]["name"] == name]
        return any(text in each["note"] for each in said)

    def _report(self, name: str, text: str) -> bool:
        page = msgspec.json.decode(self.report())
        told = (*page.get("errors", ()), *page.get("unscheduled", ()))
        return any(name in str(each) and text in str(each) for each in told)

    def _works(self, name: str, text: str) -> bool:
        """Whether the pod has a node, the binding a status, or the storage replica a disk."""
        return bool(
            self.find(PODS, name).get("spec", {}).get("nodeName")
            or self.find(RESOURCE_BINDINGS, name).get("status", {}).get("conditions")
            or self.find(LONGHORN_REPLICAS, name).get("spec", {}).get("nodeID")
        )

    def _bound(self, name: str, text: str) -> bool:
        return bool(self.find(PODS, name)["spec"].get("nodeName"))

    def _divided(self, name: str, text: str) -> bool:
        return bool(self.find(RESOURCE_BINDINGS, name)["spec"].get("clusters"))

    def _stored(self, name: str, text: str) -> bool:
        return bool(self.find(LONGHORN_REPLICAS, name)["spec"].get("nodeID"))

    def _tidied(self, name: str, text: str) -> bool:
        return not self.find(TIER_LEDGERS, name)


def _condition(found: Object, kind: str) -> str:
    conditions = found.get("status", {}).get("conditions", [])
    return next((str(each.get("message", "")) for each in conditions if each["type"] == kind), "")
