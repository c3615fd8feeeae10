"""Deployments whose pods the webhook splits, and what became of them."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tools.controlplane.api import Api

MINIMUM = "distributed-scheduling/min-available"
CAPACITY = "node.kubernetes.io/capacity"


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

    def create(self, *bodies: dict[str, Any]) -> None:
        self.api.create_many(self.path, bodies)

    def patch(self, name: str, body: dict[str, Any]) -> None:
        self.api.patch(f"{self.path}/{name}", body)

    def quiet(self) -> None:
        """Wait for a quiet point and check it."""
        self.settled(seconds=1800)
        self.check()

    def settled(self, *, seconds: float = 180) -> None:
        """Wait until every Deployment has exactly its pods, all of the current template, all available."""
        self.api.wait(
            "all Deployments are complete", lambda: all(map(_complete, self.api.items(self.path))), seconds=seconds
        )

    def required(self, name: str) -> int:
        """Active pods of the Deployment that are bound to on-demand nodes."""
        pods = self.api.items(self.pods_path, labelSelector=f"app={name}")
        return sum(required(pod) for pod in pods if not pod["metadata"].get("deletionTimestamp"))

    def check(self) -> None:
        """Exactly min(M, N) pods of every Deployment are bound to on-demand nodes, and run there."""
        for each in self.api.items(self.path):
            name, replicas = each["metadata"]["name"], each["spec"]["replicas"]
            minimum = int((each["metadata"].get("annotations") or {}).get(MINIMUM, replicas == 1))
            assert self.required(name) == min(minimum, replicas), name


def _complete(found: dict[str, Any]) -> bool:
    status, replicas = found.get("status", {}), found["spec"]["replicas"]
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return False
    counts = [status.get(each, 0) for each in ("replicas", "updatedReplicas", "availableReplicas")]
    return counts == [replicas] * 3 and not status.get("terminatingReplicas")


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


def tell(fleet: Fleet, size: Size, disturb: Callable[[], None]) -> int:
    """All at once, then rolled, then scaled at random while `disturb` happens: exact at each quiet point.

    Returns the least number of pods that were admitted on the way.
    """
    chance = random.Random(size.deployments)
    names = [f"web-{number}" for number in range(size.deployments)]
    bodies = (deployment(name, size.replicas, str(minimum_of(row, size))) for row, name in enumerate(names))
    fleet.create(*bodies)
    fleet.quiet()
    for name in names:
        fleet.patch(name, {"spec": {"template": {"metadata": {"labels": {"turn": "2"}}}}})
    fleet.quiet()
    admitted = 2 * size.deployments * size.replicas
    replicas = dict.fromkeys(names, size.replicas)
    for _ in range(size.rounds):
        for name in names:
            wanted = chance.randint(1, size.replicas)
            admitted += max(wanted - replicas[name], 0)
            replicas[name] = wanted
            fleet.patch(name, {"spec": {"replicas": wanted}})
        disturb()
        fleet.quiet()
    return admitted
