"""What the tier webhook reads and writes: workloads and pods seen by a few fields, and its own ledger."""

from fairlead.kube.objects.meta import ObjectMeta, Shape
from fairlead.kube.objects.workloads import Ordinals, ReplicaStatus


class WorkloadSpec(Shape, frozen=True):
    replicas: int | None = None
    ordinals: Ordinals = Ordinals()


class Workload(Shape, frozen=True):
    """A Deployment, ReplicaSet or StatefulSet without its pod template, so that a cache of all of them stays small."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
    status: ReplicaStatus = ReplicaStatus()


class MarkedStatus(Shape, frozen=True):
    phase: str = ""


class MarkedPod(Shape, frozen=True):
    """A stored pod that carries the marks of a tier."""

    metadata: ObjectMeta = ObjectMeta()
    status: MarkedStatus = MarkedStatus()

    @property
    def active(self) -> bool:
        """Neither finished nor on its way out."""
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Succeeded", "Failed")


class LedgerSpec(Shape, frozen=True):
    """Whose slots these are."""

    namespace: str = ""
    replica_set: str = ""
    deployment: str = ""


class LedgerSlots(Shape, frozen=True):
    """`seen` are those of `granted` that a stored pod was found to carry."""

    granted: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()


class LedgerCount(Shape, frozen=True):
    """The numbers for people, as of the last write."""

    target: int = 0
    held: int = 0
    reserved: int = 0
    spot: int = 0


class TierLedger(Shape, frozen=True):
    """The slots granted within one ReplicaSet, whose uid is the ledger's name."""

    metadata: ObjectMeta = ObjectMeta()
    spec: LedgerSpec = LedgerSpec()
    slots: LedgerSlots = LedgerSlots()
    count: LedgerCount = LedgerCount()
