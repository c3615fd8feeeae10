"""One admission request after the other: the flow of `admit`, driven by the cluster."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.admission import admit, patches
from fairlead.kube.admission.review import ReviewRequest, allow
from fairlead.kube.errors import KubeError
from fairlead.kube.objects.meta import ObjectReference
from fairlead.kube.objects.tier import TieredController
from fairlead.levels.tier import reasons
from fairlead.levels.tier.split import Split, TierVerdict, split, target_of, unmanaged
from fairlead.live.webhook.counting import Counter
from fairlead.live.webhook.listing import TEMPLATE_HASH
from fairlead.live.webhook.live_tiers import LiveTiers
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import Scope
from fairlead.model.owners import HeldSlots, Owner, OwnerKind, TierPin

Report = Callable[[Split, ObjectReference | None], None]
"""Told of every decision, with the workload it concerns where that is known."""


@dataclass(slots=True, eq=False)
class Mutator:
    """Answers reviews of pods. `patience` is how many seconds a request that cannot be decided may wait.

    With `gated` the pods that have to be counted are only held back; the assigner gives them their tier. In `shadow`
    the verdict is worked out and reported, and every pod is admitted as it is.
    """

    owners: Owners
    counter: Counter
    tiers: LiveTiers
    _: KW_ONLY
    clock: Callable[[], float]
    patience: float
    gated: bool = False
    shadow: bool = False
    report: Report = lambda decision, workload: None

    async def answer(self, request: ReviewRequest) -> dict[str, Any]:
        """The response to one request."""
        asking = admit.begin(request, self.tiers.now)
        if isinstance(asking, Split):
            self.report(asking, None)
            return admit.answer(request, None, asking, self.tiers.now)
        owner, workload = await self.owners.resolve(asking)
        if isinstance(owner, Owner) and self.gated and not self.shadow and self._counted(asking, owner):
            return allow(request.uid, patch=patches.hold(asking.raw))
        decision = owner if isinstance(owner, Split) else await self._decide(request, asking, owner, workload)
        self.report(decision, None if workload is None else _reference(asking, workload))
        if self.shadow:
            return allow(request.uid, audit=admit.audit(decision))
        soon, refused = self.counter.soon(asking.controller.uid), ""
        if decision.verdict is TierVerdict.RETRY:
            refused = await self._refused(asking)
        return admit.answer(request, asking, decision, self.tiers.now, soon=soon, refused=refused)

    async def _refused(self, asking: admit.Asking) -> str:
        """Why earlier pods of the ReplicaSet were refused: a quota's words must not be hidden behind ours."""
        reference = asking.controller
        lookup = admit.Lookup(kind=reference.kind, namespace=asking.namespace, name=reference.name, uid=reference.uid)
        try:
            found = await self.owners.live(lookup)
        except KubeError:
            return ""
        return "" if found is None else admit.refusal(found)

    def _counted(self, asking: admit.Asking, owner: Owner) -> bool:
        """Whether the verdict depends on a count; all others follow from the pod and its owner alone."""
        if owner.kind is not OwnerKind.DEPLOYMENT or asking.newcomer.pin is not TierPin.NONE:
            return False
        return target_of(owner, self.tiers.policy).count is not None

    async def _decide(
        self, request: ReviewRequest, asking: admit.Asking, owner: Owner, workload: TieredController | None
    ) -> Split:
        if workload is None or not self._counted(asking, owner):
            return split(asking.newcomer, owner, HeldSlots(), self.tiers.policy)
        scope = Scope(
            uid=asking.controller.uid,
            namespace=asking.namespace,
            replica_set=asking.controller.name,
            deployment=workload.metadata.name,
            deployment_uid=workload.metadata.uid,
            template=asking.pod.metadata.labels.get(TEMPLATE_HASH, ""),
        )
        if request.dry_run or self.shadow:
            counted = await self.counter.preview(scope, request.uid)
        else:
            counted = await self.counter.count(scope, request.uid, until=self.clock() + self.patience)
        if counted.owner is None:
            return unmanaged(reasons.OWNER_NOT_FOUND, warn=True, kind="Deployment", owner=scope.deployment)
        return split(asking.newcomer, counted.owner, counted.held, self.tiers.policy)


def _reference(asking: admit.Asking, workload: TieredController) -> ObjectReference:
    return ObjectReference(
        api_version="apps/v1",
        kind="Deployment" if asking.controller.kind == "ReplicaSet" else asking.controller.kind,
        namespace=asking.namespace,
        name=workload.metadata.name,
        uid=workload.metadata.uid,
    )
