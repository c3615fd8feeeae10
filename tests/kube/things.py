"""Objects for tests, as the API would store them, and a client on a fake that does not wait."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.resources import PODS
from fairlead.kube.transport import Transport
from tests.fake import FakeApi


def pod(name: str, *, namespace: str = "shop", labels: dict[str, str] | None = None, node: str = "") -> dict[str, Any]:
    spec: dict[str, Any] = {"containers": [{"name": "main", "resources": {"requests": {"cpu": "100m"}}}]}
    if node:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def config_map(name: str, *, namespace: str = "shop", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def client(api: Transport, waits: list[float] | None = None) -> Client:
    """A client whose waits take no time; they are written down in `waits`. The jitter is always its highest."""
    return Client(api, sleep=counting(waits), jitter=lambda: 1.0)


def counting(waits: list[float] | None) -> Callable[[float], Awaitable[None]]:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)
        await asyncio.sleep(0)

    return sleep


async def until(condition: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Let other tasks run until the condition holds."""
    for _ in range(int(seconds * 1000)):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError(f"not so after {seconds} s")


def shop(*names: str) -> FakeApi:
    """A fake with these pods in the namespace shop."""
    api = FakeApi()
    for name in names:
        api.put(PODS, pod(name))
    return api


def uid_of(api: FakeApi, name: str) -> str:
    """The uid that the fake gave to a pod in shop."""
    found = api.find(PODS, name, namespace="shop")
    assert found is not None
    uid: str = found["metadata"]["uid"]
    return uid
