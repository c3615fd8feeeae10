"""Nodes."""

from msgspec import field

from fairlead.kube.objects.affinity import TaintSpec
from fairlead.kube.objects.meta import ApiShape, Condition, ObjectMeta, Quantities


class NodeSpec(ApiShape, frozen=True):
    unschedulable: bool = False
    taints: tuple[TaintSpec, ...] = ()


class NodeStatus(ApiShape, frozen=True):
    capacity: Quantities = field(default_factory=dict)
    allocatable: Quantities = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(ApiShape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)
