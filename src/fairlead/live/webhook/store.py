"""Ledgers as custom resources: read with their version, written only over the version that was read."""

from fairlead.dataclass import dataclass
from fairlead.kube.client import Client
from fairlead.kube.errors import ApiError, UnreachableError
from fairlead.kube.objects.meta import Raw
from fairlead.kube.objects.tier import TierLedger
from fairlead.kube.resources import TIER_LEDGERS
from fairlead.live.webhook.ledger import SlotLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is counted together: one ReplicaSet of one Deployment. `template` is its pods' template hash label."""

    uid: str
    namespace: str
    replica_set: str
    deployment: str
    deployment_uid: str
    template: str = ""


class BeatenError(Exception):
    """The write did not go through, or that is not known: read again."""


class LedgerStore:
    """Ledgers in the namespace of the webhook, named by the uid of their ReplicaSet."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self.namespace = namespace

    async def read(self, uid: str) -> SlotLedger:
        """The ledger as stored now; an empty one without a version where there is none."""
        try:
            return ledger_of(await self._client.get(TIER_LEDGERS, uid, namespace=self.namespace))
        except ApiError as error:
            if not error.not_found:
                raise
            return SlotLedger()

    async def write(self, scope: Scope, ledger: SlotLedger, *, target: int, spot: int | None = None) -> SlotLedger:
        """Store the ledger over the version it carries; raises `BeatenError` where that is not the stored one.

        Returns it as stored, with its new version.
        """
        count = {"target": target, "held": len(ledger.seen), "reserved": len(ledger.granted - ledger.seen)}
        if spot is not None:
            count["spot"] = spot
        content: Raw = {"slots": {"granted": sorted(ledger.granted), "seen": sorted(ledger.seen)}, "count": count}
        try:
            if ledger.version is None:
                stored = await self._client.create(TIER_LEDGERS, _body(scope) | content, namespace=self.namespace)
            else:
                patch = {"metadata": {"resourceVersion": ledger.version}} | content
                stored = await self._client.patch(TIER_LEDGERS, scope.uid, patch, namespace=self.namespace)
        except UnreachableError as error:
            raise BeatenError(str(error)) from error
        except ApiError as error:
            if error.conflict or error.already_exists or error.not_found or error.server_side:
                raise BeatenError(str(error)) from error
            raise
        return ledger_of(stored)

    async def recount(self, stored: TierLedger, *, held: int, spot: int) -> None:
        """Bring the numbers for people up to date, the slots as they are; a ledger that has changed since is left."""
        name, version = stored.metadata.name, stored.metadata.resource_version
        patch = {"metadata": {"resourceVersion": version}, "count": {"held": held, "spot": spot}}
        try:
            await self._client.patch(TIER_LEDGERS, name, patch, namespace=self.namespace)
        except ApiError as error:
            if not (error.conflict or error.not_found):
                raise

    async def delete(self, uid: str, version: str) -> None:
        """Remove a ledger that has not changed since; one that has, or is gone, is left."""
        try:
            await self._client.delete(TIER_LEDGERS, uid, namespace=self.namespace, resource_version=version)
        except ApiError as error:
            if not (error.conflict or error.not_found):
                raise


def ledger_of(stored: TierLedger) -> SlotLedger:
    """The stored object as the protocol sees it."""
    slots = stored.slots
    return SlotLedger(stored.metadata.resource_version, frozenset(slots.granted), frozenset(slots.seen))


def _body(scope: Scope) -> Raw:
    return {
        "apiVersion": TIER_LEDGERS.api_version,
        "kind": TIER_LEDGERS.kind,
        "metadata": {"name": scope.uid},
        "spec": {"namespace": scope.namespace, "replicaSet": scope.replica_set, "deployment": scope.deployment},
    }
