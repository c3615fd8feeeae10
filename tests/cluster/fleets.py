"""Deployments whose pods the webhook splits, and what became of them."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tools.controlplane.api import Api

MINIMUM = "distributed-scheduling/min-available"
CAPACITY = "node.kubernetes.io/capacity"
WAKE_SECONDS = 15.0


def deployment(name: str, replicas: int, minimum: str | None, **labels: str) -> dict[str, Any]:
    """A Deployment of small pods."""
    annotations = {} if minimum is None else {MINIMUM: minimum}
    template = {
        "metadata": {"labels": {"app": name} | labels},
        "spec": {"containers": [{"name": "c", "image": "x"}], "terminationGracePeriodSeconds": 0},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


class Fleet:
    """The Deployments of one namespace, and what became of their pods."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
        self.pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self.quiet_points: list[int] = []
        """Versions of the store at which everything was quiet."""

    def create(self, *bodies: dict[str, Any]) -> None:
        self.api.create_many(self.path, bodies)

    def patch(self, name: str, body: dict[str, Any]) -> None:
        self.api.patch(f"{self.path}/{name}", body)

    def settled(self, *, seconds: float = 180) -> None:
        """Wait until every Deployment has exactly its pods, all of the current template, all available.

        After failed creations a ReplicaSet's controller waits, in the end for minutes; a change wakes it.
        """
        wake = time.monotonic() + WAKE_SECONDS

        def holds() -> bool:
            nonlocal wake
            if self._quiet() is not None:
                return True
            if time.monotonic() > wake:
                wake = time.monotonic() + WAKE_SECONDS
                self._wake(str(wake))
            return False

        self.api.wait("all Deployments are complete", holds, seconds=seconds)

    def quiet(self, *, mended: bool) -> None:
        """Wait for a quiet point and check it; where repair is at work, until it has nothing more to do."""
        self.settled(seconds=1800)
        while mended and self.off():
            time.sleep(1)
            self.settled(seconds=1800)
        self.check()
        version = self._quiet()
        if version is not None:
            self.quiet_points.append(version)

    def required(self, name: str) -> int:
        """Active pods of the Deployment that are bound to on-demand nodes."""
        return self._required()[name]

    def check(self) -> None:
        """Exactly min(M, N) pods of every Deployment are bound to on-demand nodes."""
        assert self.off() == {}

    def off(self) -> dict[str, tuple[int, int]]:
        """Deployments with more or fewer pods bound to on-demand nodes than they ask for, and both numbers."""
        found, wanted = self._required(), {each["metadata"]["name"]: target(each) for each in self.api.items(self.path)}
        return {name: (found[name], count) for name, count in wanted.items() if found[name] != count}

    def _wake(self, turn: str) -> None:
        for each in self.api.items(self.path):
            if not _complete(each):
                self.patch(each["metadata"]["name"], {"metadata": {"annotations": {"turn": turn}}})

    def _quiet(self) -> int | None:
        """The version of the store if all Deployments are complete in it."""
        found = self.api.get(self.path)
        return int(found["metadata"]["resourceVersion"]) if all(map(_complete, found["items"])) else None

    def _required(self) -> Counter[str]:
        pods = self.api.items(self.pods_path)
        return Counter(pod["metadata"]["labels"]["app"] for pod in pods if active(pod) and required(pod))


def _complete(found: dict[str, Any]) -> bool:
    status, replicas = found.get("status", {}), found["spec"]["replicas"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    counts = [status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")]
    return counts == [replicas] * 3 and not status.get("terminatingReplicas")


def target(found: dict[str, Any]) -> int:
    """min(M, N) of a Deployment with a whole number as its minimum; one replica alone is on demand anyway."""
    replicas: int = found["spec"]["replicas"]
    minimum = (found["metadata"].get("annotations") or {}).get(MINIMUM, "0")
    return 1 if replicas == 1 else min(int(minimum), replicas)


def active(pod: dict[str, Any]) -> bool:
    """Neither going nor over."""
    return not pod["metadata"].get("deletionTimestamp") and pod["status"].get("phase") not in ("Succeeded", "Failed")


def required(pod: dict[str, Any]) -> bool:
    """Whether the pod is bound to on-demand nodes."""
    spec = pod["spec"]
    if spec.get("nodeSelector", {}).get(CAPACITY) == "on-demand":
        return True
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return "requiredDuringSchedulingIgnoredDuringExecution" in affinity


@dataclass(frozen=True)
class Size:
    """How large a story is: Deployments, replicas of each, and rounds of scaling at random."""

    deployments: int
    replicas: int
    rounds: int


def minimum_of(number: int, size: Size) -> int:
    """Minimums spread from 1 to half of the replicas."""
    return 1 + number * (size.replicas // 2 - 1) // max(size.deployments - 1, 1)


def tell(fleet: Fleet, size: Size, disturb: Callable[[], None]) -> None:
    """All at once, then rolled, then scaled at random, `disturb` in the middle of each: exact at quiet points."""
    names = [f"web-{number}" for number in range(size.deployments)]
    fleet.create(*(deployment(name, size.replicas, str(minimum_of(row, size))) for row, name in enumerate(names)))
    disturb()
    fleet.quiet(mended=False)
    for name in names:
        fleet.patch(name, {"spec": {"template": {"metadata": {"labels": {"turn": "2"}}}}})
    disturb()
    fleet.quiet(mended=False)
    for row in range(size.rounds):
        scale(fleet, size, random.Random(row))
        disturb()
        fleet.quiet(mended=False)


def tell_more(fleet: Fleet, size: Size, disturb: Callable[[], None]) -> None:
    """Afterwards, where repair is on: scaled while `disturb` happens, and again before it is quiet.

    So some pods are created without the webhook, and some that were given a slot and no node yet are removed again.
    """
    for row in range(size.rounds):
        scale(fleet, size, random.Random(f"up {row}"), least=size.replicas // 2)
        disturb()
        scale(fleet, size, random.Random(f"down {row}"))
        fleet.quiet(mended=True)


def scale(fleet: Fleet, size: Size, chance: random.Random, *, least: int = 1) -> None:
    """Every Deployment to a number of replicas at random."""
    for number in range(size.deployments):
        fleet.patch(f"web-{number}", {"spec": {"replicas": chance.randint(least, size.replicas)}})
