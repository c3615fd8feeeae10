"""What the played controllers read and write on the host: the bindings and clusters of one test."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tools.controlplane.api import Api, ApiError

from tests.cluster.karmada import CLUSTERS, WORK

Raw = dict[str, Any]
PACE = 0.05
"""Seconds between two looks of a controller."""


class Host:
    """The bindings of a namespace and the clusters whose label `pool` is its name."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.path = f"{WORK}/namespaces/{namespace}/resourcebindings"

    def bindings(self) -> list[Raw]:
        """Those that are not being deleted."""
        return [each for each in self.api.items(self.path) if "deletionTimestamp" not in each["metadata"]]

    def clusters(self) -> list[Raw]:
        return self.api.items(CLUSTERS, labelSelector=f"pool={self.namespace}")

    def update(self, binding: Raw) -> bool:
        """Write the whole object, as the controller manager does; False where another was faster."""
        return self._tried(lambda: self.api.replace(f"{self.path}/{binding['metadata']['name']}", binding))

    def report(self, binding: Raw) -> bool:
        """Write its status."""
        return self._tried(lambda: self.api.replace(f"{self.path}/{binding['metadata']['name']}/status", binding))

    def mark(self, cluster: Raw, spec: Raw, status: Raw) -> None:
        """Taints and status of a cluster; nothing where another was faster, whose taints must not be lost."""
        path = f"{CLUSTERS}/{cluster['metadata']['name']}"
        version = {"resourceVersion": cluster["metadata"]["resourceVersion"]}
        if self._tried(lambda: self.api.patch(path, {"metadata": version, "spec": spec})):
            self.api.patch(f"{path}/status", {"status": status})

    def _tried(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except ApiError as error:
            if error.status in (404, 409):
                return False
            raise
        return True


class Crew:
    """The steps of some controllers, again and again in a thread of their own until the end of the `with` block."""

    def __init__(self, *steps: Callable[[], None]) -> None:
        self._steps: Sequence[Callable[[], None]] = steps
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.failures: list[str] = []

    def __enter__(self) -> "Crew":
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()
        self._thread.join(60)

    def _work(self) -> None:
        while not self._over.wait(PACE):
            for step in self._steps:
                # A server that is away for a while is no failure of a controller: it looks again.
                with suppress(OSError, ApiError):
                    step()
