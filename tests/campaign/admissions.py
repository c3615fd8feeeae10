"""A storm of admissions: Deployments that jump between few and many pods, and reviews about pods like theirs.

The pods of the storm name a scheduler that does not exist, so they cost one creation and one deletion each.
"""

import http.client
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from random import Random
from typing import Any

from tools.controlplane.api import Api, ApiError

from fairlead.kube.admission.rules import MARKER
from tests.cluster.fleets import Fleet, deployment
from tests.tier.pods import pod, reference, review

DEPLOYMENTS = 6
MANY = 60


class Storm:
    """The Deployments of one namespace; at rest each has `rest` pods, exactly its minimum of them on demand."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self.fleet = Fleet(api, namespace)

    def begin(self) -> None:
        """Create all of them, each with two pods."""
        for number in range(DEPLOYMENTS):
            body = deployment(f"storm-{number}", 2, str(2 + number % 3))
            body["spec"]["template"]["spec"]["schedulerName"] = "nobody"
            # All at once and without a look at readiness: these pods never run.
            body["spec"]["strategy"] = {"type": "Recreate"}
            self.fleet.create(body)

    def change(self, chance: Random) -> None:
        """One of them jumps."""
        replicas = chance.choice((1, 3, MANY // 2, MANY))
        self.fleet.patch(f"storm-{chance.randrange(DEPLOYMENTS)}", {"spec": {"replicas": replicas}})

    def rest(self, seconds: float) -> None:
        """Wait until all pods that are asked for exist, and exactly the minimum of each Deployment is on demand.

        Pods that were created while no webhook answered are replaced first. Repair does not, because these never run.
        """
        self._scale([f"storm-{number}" for number in range(DEPLOYMENTS)], 8, seconds)
        unseen = self._unseen()
        self._scale(unseen, 0, seconds)
        self._scale(unseen, 8, seconds)
        try:
            self._api.wait("no Deployment of the storm is off", lambda: not self.fleet.off(), seconds=seconds)
        except (AssertionError, TimeoutError) as error:
            off = f"held and wanted: {self.fleet.off()}, with pods that no webhook saw: {self._unseen()}"
            raise AssertionError(f"{error}; {off}") from error

    def _scale(self, names: Iterable[str], replicas: int, seconds: float) -> None:
        for name in names:
            self.fleet.patch(name, {"spec": {"replicas": replicas}})
        self._api.wait("the storm has its pods", self._there, seconds=seconds)

    def _unseen(self) -> list[str]:
        """Deployments with pods that carry no mark of the webhook."""
        labels = [each["metadata"]["labels"] for each in self._api.items(self.fleet.pods_path)]
        return sorted({each["app"] for each in labels if MARKER not in each})

    def _there(self) -> bool:
        return all(
            each.get("status", {}).get("replicas", 0) == each["spec"]["replicas"]
            for each in self._api.items(self.fleet.path)
        )

    def reviews(self) -> list[dict[str, Any]]:
        """Reviews about pods like those of the storm, and about pods that nobody counts."""
        sets = self._api.items(f"/apis/apps/v1/namespaces/{self._namespace}/replicasets")
        owned = [reference("ReplicaSet", each["metadata"]["name"], each["metadata"]["uid"]) for each in sets]
        counted = [pod(owner=each, generateName="r-", namespace=self._namespace) for each in owned]
        alone = [
            pod(name="bare", namespace=self._namespace),
            pod(name="job-1", owner=reference("Job", "job", "j"), namespace=self._namespace),
            pod(name="mine", spec={"nodeSelector": {"kubernetes.io/os": "linux"}}, namespace=self._namespace),
        ]
        made = [review(each, dryRun=True, namespace=self._namespace) for each in counted]
        return made + [review(each, namespace=self._namespace) for each in alone] * len(made)


def change_until(stop: threading.Event, chance: Random, change: Callable[[Random], None], seconds: float) -> None:
    """Change again and again, whatever the API server says meanwhile."""
    while not stop.wait(seconds):
        with suppress(OSError, ApiError, ValueError, http.client.HTTPException):
            change(chance)
