"""A ReplicaSet's controller and several webhook processes on a fake API server, on a virtual clock."""

import asyncio
import itertools
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from fairlead.kube.admission.review import decode, patch_of
from fairlead.kube.client import Client
from fairlead.kube.resources import DEPLOYMENTS, PODS, REPLICA_SETS
from fairlead.kube.watch import Reflector
from fairlead.live.webhook.counting import Counter
from fairlead.live.webhook.listing import MARKED_PODS
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.service import Mutator
from fairlead.live.webhook.store import LedgerStore
from tests.fake import FakeApi
from tests.tier.pods import CAPACITY, node_affinity, patched, review, web, web_pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_numbers = itertools.count(1)


@dataclass
class Process:
    """One webhook process: nothing is shared with another but the API server."""

    api: FakeApi
    client: Client = field(init=False)
    mutator: Mutator = field(init=False)
    counter: Counter = field(init=False)
    owners: Owners = field(init=False)
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)

    async def start(self, *, patience: float = 2.0) -> "Process":
        clock = asyncio.get_running_loop().time
        self.client = Client(self.api)
        owners, memory = Owners(self.client), Memory(clock)
        self.owners = owners
        pods = Reflector(self.client, MARKED_PODS, memory.saw, labels="distributed-scheduling/desired-capacity")
        self.tasks = [asyncio.create_task(each.run()) for each in (pods, *owners.reflectors)]
        await asyncio.gather(*(each.synced.wait() for each in (pods, *owners.reflectors)))
        store = LedgerStore(self.client, "fairlead")
        self.counter = Counter(self.client, store, owners, memory, LiveTiers(), clock=clock)
        self.mutator = Mutator(owners, self.counter, LiveTiers(), clock=clock, patience=patience)
        return self

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        for task in self.tasks:
            with suppress(asyncio.CancelledError):
                await task

    async def __aenter__(self) -> "Process":
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.stop()


@dataclass
class Shop:
    """Deployment web with one ReplicaSet, whose pods are admitted by the processes in turn."""

    api: FakeApi
    processes: list[Process]
    turn: itertools.count = field(default_factory=itertools.count)
    retries: int = 0

    async def admit(self, *, refused: bool = False, **more: Any) -> str:
        """Create one pod as its controller does: asked to come back it comes back. Returns its name."""
        while True:
            number = next(_numbers)
            process = self.processes[next(self.turn) % len(self.processes)]
            pod = web_pod()
            request = decode(msgspec.json.encode(review(pod, uid=f"u-{number}", **more))).request
            answer = await process.mutator.answer(request)
            if answer["response"]["allowed"]:
                break
            self.retries += 1
            assert answer["response"]["status"]["code"] == 429
            await asyncio.sleep(1)  # a controller backs off by itself
        pod = patched(pod, patch_of(answer))
        name = f"web-1-{number}"
        pod["metadata"] |= {"name": name, "uid": f"pod-{number}"}
        await asyncio.sleep(0.01)
        if not refused and not more.get("dryRun"):
            self.api.put(PODS, pod | {"status": {"phase": "Running"}})
        return name

    def on_demand(self) -> list[str]:
        """Names of the stored pods that are bound to on-demand nodes."""
        found = self.api.store.listed(f"{PODS.root}/{PODS.plural}", "", "", "")
        return sorted(pod["metadata"]["name"] for pod in found if _required(pod))


def _required(pod: Any) -> bool:
    selector = (pod["spec"].get("nodeSelector") or {}).get(CAPACITY)
    return selector == "on-demand" or REQUIRED in node_affinity(pod)


async def shop(stack: AsyncExitStack, *, replicas: int, minimum: str | None, processes: int = 3) -> Shop:
    """The shop with its processes running until the stack is closed."""
    api = FakeApi()
    deployment, replica_set = web(replicas, minimum)
    api.put(DEPLOYMENTS, deployment)
    api.put(REPLICA_SETS, replica_set)
    started = [await stack.enter_async_context(Process(api)) for _ in range(processes)]
    return Shop(api, started)
