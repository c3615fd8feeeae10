"""What the tier webhook reads and writes: controllers and pods seen by a few fields, and its own ledger."""

from fairlead.kube.objects.meta import ApiShape, LabelSelectorSpec, ObjectMeta
from fairlead.kube.objects.workloads import Ordinals, ReplicaStatus


class ControllerSpec(ApiShape, frozen=True):
    replicas: int | None = None
    ordinals: Ordinals = Ordinals()


class TieredController(ApiShape, frozen=True):
    """A Deployment, ReplicaSet or StatefulSet without its pod template, so that a cache of all of them stays small."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ControllerSpec = ControllerSpec()
    status: ReplicaStatus = ReplicaStatus()


class LabelledNode(ApiShape, frozen=True):
    """A node by its labels, which tell its tier."""

    metadata: ObjectMeta = ObjectMeta()


class MarkedStatus(ApiShape, frozen=True):
    phase: str = ""


class MarkedPod(ApiShape, frozen=True):
    """A stored pod that carries labels and annotations of the tier level."""

    metadata: ObjectMeta = ObjectMeta()
    status: MarkedStatus = MarkedStatus()

    @property
    def active(self) -> bool:
        """Neither finished nor on its way out."""
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Succeeded", "Failed")


class SelectingWebhook(ApiShape, frozen=True):
    """A webhook by the namespaces that the API server asks it about; without a selector, all."""

    namespace_selector: LabelSelectorSpec = LabelSelectorSpec()


class WebhookConfiguration(ApiShape, frozen=True):
    """A MutatingWebhookConfiguration."""

    metadata: ObjectMeta = ObjectMeta()
    webhooks: tuple[SelectingWebhook, ...] = ()


class LedgerSpec(ApiShape, frozen=True):
    """Whose slots these are."""

    namespace: str = ""
    replica_set: str = ""
    deployment: str = ""


class LedgerSlots(ApiShape, frozen=True):
    """`seen` are those of `granted` that a stored pod was found to carry."""

    granted: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


class LedgerCount(ApiShape, frozen=True):
    """The numbers for people, as of the last write."""

    target: int = 0
    held: int = 0
    reserved: int = 0
    spot: int = 0


class TierLedger(ApiShape, frozen=True):
    """The slots granted within one ReplicaSet, whose uid is the ledger's name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LedgerSpec = LedgerSpec()
    slots: LedgerSlots = LedgerSlots()
    count: LedgerCount = LedgerCount()
