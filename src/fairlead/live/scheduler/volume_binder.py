"""Volumes before pods: tells the cluster where a claim's volume is needed, waits for it, then lets the pod be bound."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.codec.volumes import volume_terms
from fairlead.kube.errors import KubeError
from fairlead.kube.objects.storage import PersistentVolumeClaim
from fairlead.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from fairlead.kube.volumes.claim_cache import SELECTED_NODE, ClaimCache
from fairlead.live.cluster.identity import Uid
from fairlead.live.cluster.records import PodRecord
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.model.faults import fault
from fairlead.model.selectors import Term

PATIENCE = 600.0
"""Seconds until the room is given back."""
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"

Choices = Mapping[str, str]
"""Claim to the volume chosen for it; empty where one is to be made."""


class GivenUpError(Exception):
    """The volumes will not come this way."""


@dataclass(slots=True, eq=False)
class VolumeBinder:
    """`on_ready` is called when all claims of a pod are bound, `on_failed` when that will not happen."""

    client: Client
    storage: ClaimCache
    labels_of: Callable[[str], Mapping[str, str]]
    on_ready: Callable[[PodRecord, str], None]
    on_failed: Callable[[PodRecord, str], None]
    _: KW_ONLY
    pulse: Pulse
    patience: float = PATIENCE
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _tasks: dict[Uid, tuple[PodRecord, Choices, asyncio.Task[None]]] = field(default_factory=dict, init=False)
    """By uid of the pod."""

    def news(self) -> None:
        """Something about claims or volumes changed."""
        self._news.set()
        self._news = asyncio.Event()

    def begin(self, pod: PodRecord, node: str, choices: Choices) -> None:
        """Promise the claims to the node and see to their volumes."""
        for claim, volume in choices.items():
            self.storage.promise(pod, claim, node, volume)
        uid, task = pod.metadata.uid, asyncio.create_task(self._see_to(pod, node, choices))
        self._tasks[uid] = pod, choices, task
        task.add_done_callback(lambda task: self._ended(uid, task))

    def give_up(self, pod: PodRecord) -> None:
        """The pod does not go there after all: the wait ends without a word, and its claims are promised to no node."""
        known = self._tasks.pop(pod.metadata.uid, None)
        if known is not None:
            _, choices, task = known
            task.cancel()
            self._release(pod, choices)

    def clear(self) -> None:
        """Every wait ends: this instance leads no longer."""
        for pod, _, _ in list(self._tasks.values()):
            self.give_up(pod)
            self.on_failed(pod, "its volumes were not there before this instance stopped leading")

    def _release(self, pod: PodRecord, choices: Choices) -> None:
        for claim in choices:
            self.storage.release(pod, claim)

    def _ended(self, uid: Uid, task: asyncio.Task[None]) -> None:
        if uid in self._tasks and self._tasks[uid][2] is task:
            del self._tasks[uid]

    async def run(self) -> None:
        """Until cancelled; then every wait ends, and what was promised is found again from what was written."""
        try:
            await asyncio.Event().wait()
        finally:
            tasks = [task for _, _, task in self._tasks.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _see_to(self, pod: PodRecord, node: str, choices: Choices) -> None:
        with self.pulse.under_way("volumes", self.patience + CALL_SECONDS):
            await self._bring(pod, node, choices)

    async def _bring(self, pod: PodRecord, node: str, choices: Choices) -> None:
        failure, namespace = "", pod.metadata.namespace
        try:
            async with asyncio.timeout(self.patience):
                meant = {claim: self._claim(namespace, claim).metadata.uid for claim in choices}
                for claim, volume in choices.items():
                    await self._ask(self._claim(namespace, claim, meant[claim]), node, volume)
                await self._bound(namespace, node, meant)
        except (KubeError, GivenUpError) as error:
            failure = str(error)
        except TimeoutError:
            failure = f"volumes were not bound within {self.patience:g} s"
        except Exception as error:
            # A volume that cannot be read, or a defect: unless it is told, the pod counts on its node for good.
            failure = fault(error)
        self._release(pod, choices)
        if failure:
            self.on_failed(pod, failure)
        else:
            self.on_ready(pod, node)

    def _claim(self, namespace: str, name: str, uid: str = "") -> PersistentVolumeClaim:
        """The claim as it is known now; another one of the same name is not the one that was decided for."""
        claim = self.storage.claims.get((namespace, name))
        if claim is None or claim.metadata.uid != (uid or claim.metadata.uid):
            raise GivenUpError(f"claim {name} is gone")
        return claim

    async def _ask(self, claim: PersistentVolumeClaim, node: str, chosen: str) -> None:
        """Write the claim's node, or tie the chosen volume to the claim."""
        meta = claim.metadata
        namespace, name = meta.namespace, meta.name
        if not chosen:
            if meta.annotations.get(SELECTED_NODE) != node:
                same = {"uid": meta.uid, "resourceVersion": meta.resource_version}
                change = {"metadata": {**same, "annotations": {SELECTED_NODE: node}}}
                await self.client.patch(PERSISTENT_VOLUME_CLAIMS, name, change, namespace=namespace)
            return
        volume = self.storage.volumes.get(("", chosen))
        if volume is None:
            raise GivenUpError(f"volume {chosen} is gone")
        same = {"uid": volume.metadata.uid, "resourceVersion": volume.metadata.resource_version}
        reference = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": namespace,
            "name": name,
            "uid": meta.uid,
            "resourceVersion": meta.resource_version,
        }
        change = {
            "metadata": {**same, "annotations": {BOUND_BY_CONTROLLER: "yes"}},
            "spec": {"claimRef": reference},
        }
        await self.client.patch(PERSISTENT_VOLUMES, chosen, change)

    async def _bound(self, namespace: str, node: str, meant: Mapping[str, str]) -> None:
        """Until every claim has its volume, and each can be reached from the node. `meant` are their uids by name."""
        seen: set[str] = set()
        while True:
            news = self._news
            claims = [self._claim(namespace, name, uid) for name, uid in meant.items()]
            open_ = [claim for claim in claims if not self._settled(claim, node, seen)]
            if not open_:
                return
            await news.wait()

    def _settled(self, claim: PersistentVolumeClaim, node: str, seen: set[str]) -> bool:
        name, volume = claim.metadata.name, self.storage.volume(claim)
        if volume is not None:
            terms = volume_terms(volume)
            if terms is not None and not any(_matches(term, self.labels_of(node), node) for term in terms):
                raise GivenUpError(f"volume {volume.metadata.name} cannot be reached from {node}")
            return True
        if claim.metadata.annotations.get(SELECTED_NODE) == node:
            seen.add(name)
        elif name in seen:
            # The provisioner takes the annotation away where it cannot make the volume.
            raise GivenUpError(f"no volume could be made for claim {name} on {node}")
        return False


def _matches(term: Term, labels: Mapping[str, str], node: str) -> bool:
    return bool(term.labels or term.fields) and (
        all(each.holds(labels.get(each.key)) for each in term.labels) and all(each.holds(node) for each in term.fields)
    )
