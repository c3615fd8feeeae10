"""Nodes, with the pods that run on them, to node records."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.model.amounts import LARGEST, bounded
from fairlead.model.nodestate import NodeRecord
from fairlead.model.selectors import Taint


def node_records(nodes: Iterable[Node], pods: Iterable[Pod]) -> list[NodeRecord]:
    """One record a node, what its unfinished pods ask for counted as used."""
    used = used_on_nodes(pods)
    return [node_record(node, used.get(node.metadata.name, {})) for node in nodes]


def used_on_nodes(
    pods: Iterable[Pod], request: Callable[[Pod], Mapping[str, int]] = request_of_pod
) -> dict[str, dict[str, int]]:
    """What unfinished pods ask for, by node."""
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in pods:
        if pod.spec.node_name and not pod.finished:
            held = used[pod.spec.node_name]
            for name, value in request(pod).items():
                held[name] += value
    return used


def node_record(node: Node, used: dict[str, int]) -> NodeRecord:
    """One node. A node that is not ready is treated as cordoned: nothing new should start there."""
    return NodeRecord(
        name=node.metadata.name,
        allocatable=bounded(node.status.allocatable, LARGEST, f"Node {node.metadata.name}: status.allocatable"),
        used=dict(used),
        labels=node.metadata.labels,
        taints=tuple(sorted((Taint(each.key, each.effect, each.value) for each in node.spec.taints), key=repr)),
        unschedulable=node.spec.unschedulable or not _may_be_ready(node),
    )


def _may_be_ready(node: Node) -> bool:
    """A node without a Ready condition (a manifest written by hand) gets the benefit of the doubt."""
    return node.ready or not any(condition.type == "Ready" for condition in node.status.conditions)
