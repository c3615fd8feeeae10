"""Live clusters as a source: lists and watches of what a plan reads, planned again when something has changed."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.engine.plan import plan
from fairlead.engine.plan_settings import DEFAULT_SETTINGS, PlanSettings
from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.config import Connection
from fairlead.kube.errors import ApiError
from fairlead.kube.manifests.catalogue import CLUSTER, KINDS, Catalogue
from fairlead.kube.manifests.controllers import Owners
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.kube.objects.pod import Pod
from fairlead.kube.resources import ALL, NODES, PODS, REPLICA_SETS, Resource
from fairlead.kube.watch import Reflector
from fairlead.kube.wire.http import connect
from fairlead.web.evictions import SeenEviction, eviction_of, mark_of
from fairlead.web.stage import ViewStage, failure_of
from fairlead.web.views import Look

PAUSE_S = 0.5
"""Changes that come together are planned together."""
REST = 2.0
"""After a plan that took long the next one waits for this many times as long, so that most of a core stays free."""
AGAIN_S = 30.0
"""After a plan that could not be made it is tried again without a change too."""

MOST_TROUBLES = 2


READ = tuple(each for each in ALL if KINDS.get((each.group, each.kind)) is each.shape)


@dataclass(frozen=True, slots=True)
class Followed:
    """One cluster; `name` is empty where there is only one."""

    name: str
    connection: Connection


class LiveSource:
    """Follows every kind that a plan reads, in each cluster. Nodes are shown as soon as they are listed.

    A defect of planning ends that round: the last plan stays, and the page says why there is no newer one.
    """

    live = True

    def __init__(
        self,
        clusters: Sequence[Followed],
        title: str,
        *,
        client: Callable[[Connection], Client] = connect,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        settings: PlanSettings = DEFAULT_SETTINGS,
    ) -> None:
        self.title = title
        self._settings = settings
        self._clusters = tuple(clusters)
        self._client = client
        self._sleep = sleep
        self._changed = asyncio.Event()
        self._reflectors: list[Reflector[Any]] = []
        self._clusters_of: dict[Reflector[Any], str] = {}
        self._failure = ""
        """Why the last look could not be made or planned."""

    async def run(self, stage: ViewStage) -> None:
        """Follow until cancelled."""
        clients = [self._client(each.connection) for each in self._clusters]
        try:
            async with asyncio.TaskGroup() as tasks:
                for each, client in zip(self._clusters, clients, strict=True):
                    for resource in sorted(READ, key=lambda one: one is not NODES):
                        tasks.create_task(self._follow(client, resource, each.name, stage).run())
                tasks.create_task(self._show(stage))
        finally:
            for client in clients:
                await client.close()

    def _follow(self, client: Client, resource: Resource[Any], cluster: str, stage: ViewStage) -> Reflector[Any]:
        def marked(found: Any) -> Any:
            if cluster:
                found.metadata.annotations[CLUSTER] = cluster
            return found

        sink = self._on_pod(stage, cluster) if resource is PODS else self._on_change
        reflector: Reflector[Any] = Reflector(client, resource, sink, keep=marked)
        self._reflectors.append(reflector)
        self._clusters_of[reflector] = cluster
        return reflector

    def _on_change(self, change: Change[Any]) -> None:
        self._changed.set()

    def _on_pod(self, stage: ViewStage, cluster: str) -> Callable[[Change[Pod]], None]:
        """Tells the history of evictions as they are seen: the pod may be gone before the next plan."""
        marked: dict[str, SeenEviction] = {}

        def sink(change: Change[Pod]) -> None:
            self._changed.set()
            pod, uid, mark = change.object, change.object.metadata.uid, mark_of(change.object)
            if change.kind == "deleted":
                marked.pop(uid, None)
            elif mark is None and uid in marked:
                stage.history.spared(marked.pop(uid))
            elif mark is not None and uid not in marked:
                # The first to write the condition says for whom; the API server writes over it.
                marked[uid] = eviction_of(pod, mark, self._owners(cluster))
                stage.evicted(marked[uid])

        return sink

    def _owners(self, cluster: str) -> Owners:
        """The ReplicaSets of a cluster with what controls them."""
        return {
            key: each.metadata.controller
            for reflector, own in self._clusters_of.items()
            if reflector.resource is REPLICA_SETS and own == cluster
            for key, each in reflector.objects.items()
        }

    async def _show(self, stage: ViewStage) -> None:
        await self._settled(stage, [each for each in self._reflectors if each.resource is NODES])
        await self._round(stage, self._look)
        await self._settled(stage, self._reflectors)
        loop = asyncio.get_running_loop()
        while True:
            self._changed.clear()
            began = loop.time()
            await self._round(stage, self._planned)
            pause = PAUSE_S + REST * (loop.time() - began)
            await self._news(stage, AGAIN_S if self._failure else None)
            await self._sleep(pause)

    async def _round(self, stage: ViewStage, make: Callable[[], Awaitable[Look]]) -> None:
        """Show what is made; where that fails, what was shown before with the reason."""
        try:
            look = await make()
            self._failure = ""
            await stage.show(replace(look, trouble=self._trouble()))
        except Exception as error:
            self._failure = f"no new plan: {failure_of(error)}"
            await stage.show(replace(stage.look, trouble=self._trouble()))

    async def _settled(self, stage: ViewStage, reflectors: Sequence[Reflector[Any]]) -> None:
        """Wait until each is listed or refused; what stands in the way meanwhile is shown."""
        while not all(each.synced.is_set() or _refused(each) for each in reflectors):
            if self._trouble() != stage.look.trouble:
                await stage.show(replace(stage.look, trouble=self._trouble()))
            await self._sleep(PAUSE_S / 10)

    async def _news(self, stage: ViewStage, within: float | None) -> None:
        """Wait for a change, of the cluster or of the connection to it; so many seconds at most."""
        shown, loop = stage.look.trouble, asyncio.get_running_loop()
        until = None if within is None else loop.time() + within
        while not self._changed.is_set() and self._trouble() == shown and (until is None or loop.time() < until):
            try:
                async with asyncio.timeout(PAUSE_S):
                    await self._changed.wait()
            except TimeoutError:
                pass

    def _trouble(self) -> str:
        """What stands in the way: of planning, then kind by kind; of several clusters in which one."""
        found = sorted(
            {
                f"{cluster}{': ' if cluster else ''}{each.resource.label}: {each.trouble}"
                for each, cluster in self._clusters_of.items()
                if each.trouble is not None
            }
        )
        more = f" (and {len(found) - MOST_TROUBLES} more kinds)" if len(found) > MOST_TROUBLES else ""
        return "; ".join(filter(None, (self._failure, *found[:MOST_TROUBLES]))) + more

    async def _look(self) -> Look:
        """What is known now; the lists are copied on the loop, where they change."""
        found = Catalogue()
        for each in self._reflectors:
            found.objects[each.resource.shape] += each.objects.values()
        view = await asyncio.to_thread(snapshot, found, self._settings)
        return Look(title=self.title, found=found, view=view)

    async def _planned(self) -> Look:
        """What is known now, with its plan."""
        look = await self._look()
        return replace(look, decided=await asyncio.to_thread(plan, look.view))


def _refused(reflector: Reflector[Any]) -> bool:
    """Whether this kind may not be read here; the plan is made without it, and the page says so."""
    return isinstance(reflector.trouble, ApiError) and reflector.trouble.status in (401, 403)
