"""Gated mode: one elected replica counts the pods that are stored, gives each its tier and lifts its gate.

Pods are counted after they exist, so there are no reservations. That two replicas may believe to be elected for a
moment does no harm: what takes a slot is written to the ledger by compare-and-swap before any pod is changed, and a
pod whose gate is gone is not changed again.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, field
from typing import Any

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.admission import patches
from fairlead.kube.admission.admit import Lookup, owner_of
from fairlead.kube.admission.review import Patch
from fairlead.kube.admission.rules import GATE, MARKER, PENDING, SLOT
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, KubeError
from fairlead.kube.objects.meta import OwnerReference, Raw
from fairlead.kube.objects.tier import MarkedPod
from fairlead.kube.resources import PODS, REPLICA_SETS
from fairlead.levels.tier.split import Target, target_of
from fairlead.live.runtime.aside import WRITING, Aside
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.webhook.ledger import chosen
from fairlead.live.webhook.listing import TEMPLATE_HASH
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import BeatenError, LedgerStore, Scope
from fairlead.model.owners import OwnerKind

GATHER_SECONDS = 0.02
LOOK_AGAIN_SECONDS = 2.0
"""After so long pods are looked at again without news: something may have failed."""
ORPHAN_SECONDS = 60.0
"""A gated pod without a controller is let go after so long. Whoever deletes a ReplicaSet with `--cascade=orphan` to
create it anew does so within a minute, and the new one adopts its pods at once; no other way leads to a tier."""
IN_FLIGHT = 32

log = structlog.get_logger("webhook")


@dataclass(slots=True, eq=False)
class Assigner:
    """Runs in every replica and acts in the elected one."""

    client: Client
    store: LedgerStore
    owners: Owners
    tiers: LiveTiers
    _: KW_ONLY
    pods: Callable[[], Iterable[MarkedPod]]
    leads: Callable[[], bool]
    clock: Callable[[], float]
    pulse: Pulse
    aside: Aside = field(default_factory=Aside)
    _alone: dict[str, float] = field(default_factory=dict, init=False)
    """Since when this process knows of a pending pod, by its uid, that no controller owns it."""
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(IN_FLIGHT), init=False)

    def saw(self, pod: MarkedPod) -> None:
        """A marked pod changed; one that is pending is work."""
        if pod.metadata.labels.get(MARKER) == PENDING:
            self._news.set()

    async def run(self) -> None:
        """Assign whenever something is pending, until cancelled."""
        while True:
            self.pulse.beat("assigner", CALL_SECONDS)
            try:
                async with asyncio.timeout(LOOK_AGAIN_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()
            await asyncio.sleep(GATHER_SECONDS)
            if self.leads():
                await self.round()

    async def round(self) -> None:
        """Every ReplicaSet with a pending pod, one after the other; a failure of one does not stop the others."""
        waiting = [pod for pod in self.pods() if pod.metadata.labels.get(MARKER) == PENDING and pod.active]
        owned = ((pod.metadata.controller, pod) for pod in waiting)
        pending = {controller.uid: (controller, pod) for controller, pod in owned if controller is not None}
        for controller, pod in pending.values():
            self.pulse.beat("assigner", CALL_SECONDS)
            about = REPLICA_SETS.refer(controller.name, namespace=pod.metadata.namespace, uid=controller.uid)
            try:
                with self.aside.around(about, WRITING, KubeError, BeatenError):
                    await self._assign(controller, pod)
            except (KubeError, BeatenError) as error:
                log.warning("pods wait for their tier", replica_set=controller.name, error=error)
        await self._let_go([pod for pod in waiting if pod.metadata.controller is None])

    async def _let_go(self, orphans: Iterable[MarkedPod]) -> None:
        """Lift the gates of pods that no controller has adopted for long enough; without one there is no tier."""
        now = self.clock()
        found = {pod.metadata.uid: pod.metadata for pod in orphans}
        self._alone = {uid: self._alone.get(uid, now) for uid in found}
        for uid, since in self._alone.items():
            if now - since < ORPHAN_SECONDS:
                continue
            self.pulse.beat("assigner", CALL_SECONDS)
            name, namespace = found[uid].name, found[uid].namespace
            try:
                with self.aside.around(PODS.refer(name, namespace=namespace, uid=uid), WRITING, KubeError):
                    await self._release(name, namespace)
            except KubeError as error:
                log.warning("a pod without a controller waits behind its gate", pod=f"{namespace}/{name}", error=error)

    async def _release(self, name: str, namespace: str) -> None:
        """Lift the gate of a pod without a controller, unless it was changed (adopted, say) after it was read."""
        try:
            pod = await self.client.get(PODS.raw, name, namespace=namespace)
        except ApiError as error:
            if not error.not_found:
                raise
            return
        owned = any(each.get("controller") for each in pod["metadata"].get("ownerReferences", ()))
        if owned or _tier(pod) != PENDING:
            return
        version = pod["metadata"]["resourceVersion"]
        guard = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
        log.info("no controller owns a gated pod, its gate is lifted without a tier", pod=f"{namespace}/{name}")
        await self._change_one(pod, guard + patches.release(pod) + patches.unmark(pod))

    async def _assign(self, controller: OwnerReference, sample: MarkedPod) -> None:
        """Read the ledger, list the pods, write the ledger, change the pods: in this order."""
        namespace = sample.metadata.namespace
        ledger = await self.store.read(controller.uid)
        template = sample.metadata.labels.get(TEMPLATE_HASH, "")
        labels = MARKER + (f",{TEMPLATE_HASH}={template}" if template else "")
        page = await self.client.page(PODS.raw, namespace=namespace, labels=labels, limit=0)
        own = [pod for pod in page.items if _controlled(pod, controller.uid) and _active(pod)]
        gated = sorted((pod for pod in own if _gated(pod)), key=_age)
        # Their gate was lifted by another: the scheduler has them, and no rule can be added any more.
        loose = [(pod, patches.unmark(pod)) for pod in own if _tier(pod) == PENDING and not _gated(pod)]
        target, deployment = await self._target(controller, namespace)
        if target is None or target.count is None:
            await self._change([(pod, patches.release(pod) + patches.unmark(pod)) for pod in gated] + loose)
            return
        placed = [slot for pod in own if not _gated(pod) and _tier(pod) == "on-demand" and (slot := _slot(pod))]
        after, granted = chosen(ledger, [pod["metadata"]["uid"] for pod in gated], placed, target.count)
        if after.granted != ledger.granted:
            scope = Scope(
                uid=controller.uid,
                namespace=namespace,
                replica_set=controller.name,
                deployment=deployment,
                deployment_uid="",
            )
            spot = len(own) - len(loose) - len(after.granted)
            await self.store.write(scope, after, target=target.count, spot=spot)
        await self._change([(pod, self._patch(pod, granted, target.single)) for pod in gated] + loose)

    def _patch(self, pod: Raw, granted: frozenset[str], single: bool) -> Patch:
        uid = pod["metadata"]["uid"]
        if uid in granted:
            return patches.on_demand(pod, self.tiers.now, slot=uid, selector=single) + patches.release(pod)
        return patches.spot(pod, self.tiers.now) + patches.release(pod)

    async def _target(self, controller: OwnerReference, namespace: str) -> tuple[Target | None, str]:
        """min(M, N) of the Deployment as stored now, None where there is none; and its name."""
        found = await self.owners.cached(
            Lookup(kind="ReplicaSet", namespace=namespace, name=controller.name, uid=controller.uid)
        )
        parent = None if found is None else found.metadata.controller
        if parent is None:
            return None, ""
        deployment = await self.owners.live(
            Lookup(kind="Deployment", namespace=namespace, name=parent.name, uid=parent.uid)
        )
        if deployment is None or deployment.metadata.uid != parent.uid:
            return None, parent.name
        return target_of(owner_of(OwnerKind.DEPLOYMENT, deployment), self.tiers.policy), parent.name

    async def _change(self, changes: list[tuple[Raw, Patch]]) -> None:
        """Change the pods, many at a time. One that is gone or was changed meanwhile is left to the next look."""
        await asyncio.gather(*(self._change_one(pod, patch) for pod, patch in changes))

    async def _change_one(self, pod: Raw, patch: Patch) -> None:
        metadata = pod["metadata"]
        guard = [{"op": "test", "path": "/metadata/uid", "value": metadata["uid"]}]
        async with self._places:
            try:
                await self.client.patch(
                    PODS.of(MarkedPod), metadata["name"], guard + patch, kind="json", namespace=metadata["namespace"]
                )
            except ApiError as error:
                if not (error.not_found or error.conflict or error.invalid):
                    raise


def _controlled(pod: Raw, uid: str) -> bool:
    return any(each.get("controller") and each.get("uid") == uid for each in pod["metadata"].get("ownerReferences", ()))


def _active(pod: Raw) -> bool:
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not finished and not pod["metadata"].get("deletionTimestamp")


def _gated(pod: Raw) -> bool:
    return any(each.get("name") == GATE for each in pod["spec"].get("schedulingGates") or ())


def _tier(pod: Raw) -> Any:
    return (pod["metadata"].get("labels") or {}).get(MARKER)


def _slot(pod: Raw) -> Any:
    """The slot that a pod carries: its uid, or what webhook mode named it if that was the mode when it was created."""
    return (pod["metadata"].get("annotations") or {}).get(SLOT)


def _age(pod: Raw) -> tuple[str, str]:
    return pod["metadata"].get("creationTimestamp") or "", pod["metadata"]["name"]
