"""Nodes."""

from msgspec import field

from fairlead.kube.objects.affinity import Taint
from fairlead.kube.objects.meta import Condition, ObjectMeta, Quantities, Shape


class NodeSpec(Shape, frozen=True):
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()
    provider_id: str = field(name="providerID", default="")


class NodeImage(Shape, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeSystem(Shape, frozen=True):
    architecture: str = ""
    operating_system: str = ""
    kubelet_version: str = ""


class NodeStatus(Shape, frozen=True):
    capacity: Quantities = field(default_factory=dict)
    allocatable: Quantities = field(default_factory=dict)
    conditions: tuple[Condition, ...] = ()
    images: tuple[NodeImage, ...] = ()
    node_info: NodeSystem = NodeSystem()
    volumes_in_use: tuple[str, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Shape, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def ready(self) -> bool:
        return any(c.type == "Ready" and c.status == "True" for c in self.status.conditions)
