"""The objects of a collection as a watch tells of them: to look at thousands costs the server next to nothing."""

import http.client
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tools.controlplane.api import Api, ApiError

WATCH_SECONDS = 2
"""A watch is begun anew after so long, so that the end is noticed soon."""


@dataclass
class Followed:
    """Every pod's last version by name; `since` is when one was last bound, told, created or deleted.

    `places` are the nodes that a pod was ever seen on, by uid. `told` is called with every name and what it is now.
    """

    api: Api
    path: str
    told: Callable[[str, dict[str, Any] | None], None] = lambda name, found: None
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    since: float = field(default_factory=time.monotonic)
    stop: threading.Event = field(default_factory=threading.Event)

    def __len__(self) -> int:
        return len(self.pods)

    @property
    def states(self) -> Counter[str]:
        """How many are bound, told why they wait, or neither (open)."""
        return Counter(map(state_of, list(self.pods.values())))

    @property
    def waiting(self) -> list[dict[str, Any]]:
        """Pods without a node."""
        return [pod for pod in list(self.pods.values()) if not pod["spec"].get("nodeName")]

    def follow(self) -> None:
        """Until stopped; after a pause where the server is away."""
        version = ""
        while not self.stop.is_set():
            try:
                version = self._watch(version or self._list())
            except (OSError, ApiError, http.client.HTTPException):
                version = ""
                self.stop.wait(0.5)

    def _list(self) -> str:
        found = self.api.get(self.path)
        there = {pod["metadata"]["name"]: pod for pod in found.get("items") or ()}
        for name in {*self.pods, *there}:
            self._put(name, there.get(name))
        return str(found["metadata"]["resourceVersion"])

    def _watch(self, version: str) -> str:
        query: dict[str, Any] = {"resourceVersion": version, "timeoutSeconds": WATCH_SECONDS}
        for event in self.api.watch(self.path, allowWatchBookmarks="true", **query):
            if event["type"] == "ERROR":
                return ""
            found = event["object"]
            version = found["metadata"]["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._put(found["metadata"]["name"], None if event["type"] == "DELETED" else found)
        return version

    def _put(self, name: str, pod: dict[str, Any] | None) -> None:
        before = self.pods.get(name)
        self.told(name, pod)
        if pod is None:
            self.pods.pop(name, None)
        else:
            self.pods[name] = pod
            if pod.get("spec", {}).get("nodeName"):
                self.places[pod["metadata"]["uid"]].add(pod["spec"]["nodeName"])
        if (before and state_of(before)) != (pod and state_of(pod)):
            self.since = time.monotonic()


def state_of(pod: dict[str, Any]) -> str:
    """Bound, told why it waits, or open."""
    if pod.get("spec", {}).get("nodeName"):
        return "bound"
    told = any(each["type"] == "PodScheduled" for each in pod.get("status", {}).get("conditions", ()))
    return "told" if told else "open"


@contextmanager
def following(api: Api, namespace: str) -> Iterator[Followed]:
    """The pods of the namespace, until the block ends."""
    with followed_until_end(Followed(api, f"/api/v1/namespaces/{namespace}/pods")) as followed:
        yield followed


@contextmanager
def followed_until_end(followed: Followed) -> Iterator[Followed]:
    """The same, in a thread of its own until the block ends."""
    thread = threading.Thread(target=followed.follow, daemon=True)
    thread.start()
    try:
        yield followed
    finally:
        followed.stop.set()
        thread.join(60)
