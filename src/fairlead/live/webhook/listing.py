"""Which slots pods of a ReplicaSet carry: by one consistent list, or by reading the few pods that settle it."""

import asyncio
from collections.abc import Mapping

from fairlead.kube.admission.rules import MARKER, SLOT
from fairlead.kube.client import Client
from fairlead.kube.objects.tier import MarkedPod
from fairlead.kube.resources import PODS
from fairlead.live.webhook.ledger import Listing
from fairlead.live.webhook.store import Scope

MARKED_PODS = PODS.of(MarkedPod)
TEMPLATE_HASH = "pod-template-hash"
MOST_READS = 8
"""Pods that are read one by one; more are listed."""


async def slots_of(client: Client, scope: Scope) -> Listing:
    """One consistent list (without a resource version) of the slots that pods of the ReplicaSet carry."""
    labels = f"{MARKER}=on-demand" + (f",{TEMPLATE_HASH}={scope.template}" if scope.template else "")
    page = await client.page(MARKED_PODS, namespace=scope.namespace, labels=labels, limit=0)
    slots = {slot: pod.active for pod in page.items if (slot := _slot(pod, scope)) is not None}
    return Listing(frozenset(slots), frozenset(slot for slot, active in slots.items() if active))


async def active_slots(client: Client, scope: Scope, stored: Mapping[str, str]) -> frozenset[str]:
    """Which of the slots in `stored` (slot to name of its pod) were carried by active pods, all at one moment from now.

    A pod is active from when it is stored to its end, and never again. These were stored when this is called, so those
    that are active when they are read were active together at that moment (docs/decisions/0420). A few pods are read
    one by one, for a consistent list has to wait until the API server's cache has caught up.
    """
    if len(stored) > MOST_READS:
        return (await slots_of(client, scope)).active & stored.keys()
    reads = (client.get(MARKED_PODS, name, namespace=scope.namespace) for name in stored.values())
    pods = [pod for pod in await asyncio.gather(*reads, return_exceptions=True) if isinstance(pod, MarkedPod)]
    return frozenset(slot for pod in pods if pod.active and (slot := _slot(pod, scope)) is not None and slot in stored)


def _slot(pod: MarkedPod, scope: Scope) -> str | None:
    """The slot that a pod of the ReplicaSet carries."""
    controller = pod.metadata.controller
    own = controller is not None and controller.uid == scope.uid
    return pod.metadata.annotations.get(SLOT) if own else None
