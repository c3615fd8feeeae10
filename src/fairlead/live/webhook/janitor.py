"""Keeping ledgers in order: one elected replica frees what is gone or lapsed, and removes the ledgers of the gone.

An ownerReference would not do: the garbage collector removes at once what names an owner in another namespace. Nothing
here is needed for the count to be right; it keeps the numbers that people see fresh, and the namespace small.

In gated mode only the numbers are brought up to date. Which slots are free is for the assigner to say: between its
write and its change of a pod, a slot of that pod looks like one whose pod is gone.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, field

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.admission.admit import Lookup
from fairlead.kube.admission.rules import MARKER, PENDING, SLOT
from fairlead.kube.client import Client
from fairlead.kube.errors import AnswerError, ApiError, KubeError
from fairlead.kube.objects.tier import MarkedPod, TierLedger
from fairlead.kube.resources import TIER_LEDGERS
from fairlead.live.runtime.aside import WRITING, Aside
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.runtime.reconcile_loop import every
from fairlead.live.webhook.ledger import tidied
from fairlead.live.webhook.listing import TEMPLATE_HASH, slots_of
from fairlead.live.webhook.memory import Memory
from fairlead.live.webhook.owners import Owners
from fairlead.live.webhook.store import BeatenError, LedgerStore, Scope, ledger_of
from fairlead.model.errors import InputError

PERIOD_SECONDS = 5.0

log = structlog.get_logger("webhook")


@dataclass(slots=True, eq=False)
class _Shown:
    """What the active pods of one ReplicaSet show: slots carried on demand, and how many are spot or wait."""

    slots: set[str] = field(default_factory=set)
    spot: int = 0
    pending: int = 0


@dataclass(slots=True, eq=False)
class Janitor:
    """Runs in every replica and acts in the elected one. `counts` is off in gated mode, where the assigner counts."""

    client: Client
    store: LedgerStore
    owners: Owners
    memory: Memory
    _: KW_ONLY
    ledgers: Callable[[], Iterable[TierLedger]]
    pods: Callable[[], Iterable[MarkedPod]]
    leads: Callable[[], bool]
    counts: bool = True
    pulse: Pulse
    aside: Aside = field(default_factory=Aside)

    async def run(self) -> None:
        """Keep ledgers and memory in order until cancelled; the memory in every instance."""
        await every(PERIOD_SECONDS, self._either, name="ledgers", pulse=self.pulse)

    async def _either(self) -> None:
        self.memory.forget()
        if self.leads():
            await self.round()

    async def round(self) -> None:
        """Look at every ledger once; one that cannot be used is set aside, and the others go on."""
        shown = _shown(self.pods())
        for stored in tuple(self.ledgers()):
            self.pulse.beat("ledgers", CALL_SECONDS)
            meta = stored.metadata
            about = TIER_LEDGERS.refer(meta.name, namespace=meta.namespace, uid=meta.uid)
            try:
                with self.aside.around(about, WRITING, KubeError):
                    await self._keep(stored, shown)
            except AnswerError as error:
                self.aside.tell(about, InputError(f"TierLedger {meta.name}", str(error)), WRITING)
            except ApiError as error:
                log.warning("a ledger could not be kept in order", ledger=meta.name, error=error)

    async def _keep(self, stored: TierLedger, pods: Mapping[str, _Shown]) -> None:
        spec, uid = stored.spec, stored.metadata.name
        if not (spec.namespace and spec.replica_set):
            raise InputError(f"TierLedger {uid}: spec", "names no ReplicaSet; expected namespace and replicaSet")
        lookup = Lookup(kind="ReplicaSet", namespace=spec.namespace, name=spec.replica_set, uid=uid)
        try:
            found = await self.owners.cached(lookup)
        except InputError as error:
            raise InputError(f"TierLedger {uid}: spec", error.message) from None
        if found is None or found.metadata.uid != uid:
            await self.store.delete(uid, stored.metadata.resource_version)
            return
        shown = pods.get(uid) or _Shown()
        held = len(shown.slots & set(stored.slots.granted))
        stale = (held, shown.spot) != (stored.count.held, stored.count.spot)
        if self.counts and (stale or self._overdue(stored)):
            await self._tidy(stored, shown.spot, found.metadata.labels)
        elif not self.counts and stale and not shown.pending:
            # While pods wait the assigner is about to write, and would only be beaten.
            await self.store.recount(stored, held=held, spot=shown.spot)

    def _overdue(self, stored: TierLedger) -> bool:
        """Whether a reservation has lapsed. Looking starts its clock, for a process that had not met it yet."""
        return bool(self.memory.met(stored.metadata.name, ledger_of(stored)).lapsed)

    async def _tidy(self, stored: TierLedger, spot: int, labels: Mapping[str, str]) -> None:
        spec, uid = stored.spec, stored.metadata.name
        scope = Scope(
            uid=uid,
            namespace=spec.namespace,
            replica_set=spec.replica_set,
            deployment=spec.deployment,
            deployment_uid="",
            template=labels.get(TEMPLATE_HASH, ""),
        )
        ledger = await self.store.read(uid)
        if ledger.version is None:
            return
        knowledge = self.memory.met(uid, ledger)
        after = tidied(ledger, knowledge, await slots_of(self.client, scope))
        if after == ledger and spot == stored.count.spot:
            return
        try:
            await self.store.write(scope, after, target=stored.count.target, spot=spot)
        except BeatenError:
            log.debug("a ledger changed meanwhile; next time", ledger=uid)


def _shown(pods: Iterable[MarkedPod]) -> dict[str, _Shown]:
    """What active pods show, by the uid of their ReplicaSet."""
    shown: dict[str, _Shown] = defaultdict(_Shown)
    for pod in pods:
        controller = pod.metadata.controller
        if controller is None or not pod.active:
            continue
        here = shown[controller.uid]
        match pod.metadata.labels.get(MARKER):
            case "on-demand":
                here.slots.add(pod.metadata.annotations.get(SLOT, ""))
            case "spot":
                here.spot += 1
            case value:
                here.pending += value == PENDING
    return shown
