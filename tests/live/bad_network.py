"""A scheduler on a fake API server behind a load balancer that breaks, on a virtual clock."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fairlead.kube.client import Client
from fairlead.kube.errors import UnreachableError
from fairlead.kube.resources import NODES, PODS
from fairlead.kube.transport import Query, Response
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.model.amounts import amount
from tests.fake import FakeApi

CPU = 8
"""Cores of every node."""
BAD_GATEWAY = Response(status=502, body=b"<html>bad gateway")


class Balancer(FakeApi):
    """While `broken`, watches are cut and answers are lost; whether a request is acted upon first is drawn.

    A request that is acted upon may be so late: long after its sender gave up. `most` is the most cpu that any node had
    bound to it at any time. `hold` are seconds before a bind is acted upon, by uid.
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.random = random.Random(seed)
        self.broken = False
        self.hold: dict[str, float] = {}
        self.late = 0.0
        self.most = 0
        self.binds: list[str] = []
        self._later: set[asyncio.Task[Any]] = set()

    def node(self, name: str) -> None:
        offer = {"cpu": str(CPU), "pods": "50"}
        self.put(NODES, {"metadata": {"name": name}, "status": {"allocatable": offer}})

    def pod(self, name: str, uid: str = "", cpu: int = 6, **more: Any) -> None:
        spec = {"schedulerName": "fairlead", "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}
        self.put(PODS, {"metadata": {"name": name, "namespace": "ns", "uid": uid or name}, "spec": spec | more})

    def drop(self, name: str) -> None:
        self.remove(PODS, name, namespace="ns")

    def on(self, name: str) -> str:
        """The node of a pod."""
        found = self.find(PODS, name, namespace="ns")
        return "" if found is None else found["spec"].get("nodeName") or ""

    def used(self) -> dict[str, int]:
        """Cores bound, by node."""
        sums: dict[str, int] = {}
        for pod in self.store.listed("/api/v1/pods", "", "", ""):
            node = pod["spec"].get("nodeName")
            if node:
                asked = pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]
                sums[node] = sums.get(node, 0) + amount("cpu", asked) // 1000
        return sums

    async def request(self, method: str, path: str, **rest: Any) -> Response:
        bind = path.endswith("/binding")
        if bind:
            await asyncio.sleep(self.hold.get(path.split("/")[-2], 0.0))
        if not self.broken:
            return await self._acted(method, path, **rest)
        if self.random.random() < 0.5:
            await self._perhaps_later(method, path, **rest)
        await asyncio.sleep(0.05)
        if self.random.random() < 0.3:
            await asyncio.sleep(rest.get("within") or 30)
            raise UnreachableError(path, "no answer in time")
        return BAD_GATEWAY

    async def _perhaps_later(self, method: str, path: str, **rest: Any) -> None:
        if not self.late or self.random.random() < 0.5:
            await self._acted(method, path, **rest)
            return

        async def late() -> None:
            await asyncio.sleep(self.random.uniform(0, self.late))
            await self._acted(method, path, **rest)

        task = asyncio.create_task(late())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _acted(self, method: str, path: str, **rest: Any) -> Response:
        answer = await super().request(method, path, **rest)
        if path.endswith("/binding"):
            if answer.status == 201:
                self.binds.append(path.split("/")[-2])
            self.most = max(self.most, *self.used().values(), 0)
        return answer

    async def stream(self, path: str, query: Query) -> AsyncGenerator[bytes, None]:
        if self.broken:
            raise UnreachableError(path, "the balancer is broken")
        async for line in super().stream(path, query):
            if self.broken:
                raise UnreachableError(path, "the balancer is broken")
            yield line

    def nodes(self) -> list[str]:
        """The names of the nodes there are."""
        return [node["metadata"]["name"] for node in self.store.listed("/api/v1/nodes", "", "", "")]

    async def outage(self, seconds: float) -> None:
        """Break for so long."""
        self.broken = True
        self.end_watches(cut=True)
        await asyncio.sleep(seconds)
        self.broken = False


@asynccontextmanager
async def scheduler(api: FakeApi, seed: int = 0, **options: Any) -> AsyncIterator[Scheduler]:
    """A scheduler that follows the fake, synced."""
    clock, jitter = asyncio.get_running_loop().time, random.Random(seed).random
    made = Scheduler(Instance(Client(api, jitter=jitter), monotonic=clock, wall=clock), Options(**options))
    task = asyncio.create_task(made.run())
    try:
        await asyncio.sleep(0.1)
        yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
