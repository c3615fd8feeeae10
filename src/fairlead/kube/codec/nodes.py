"""Nodes, with the pods that run on them, to node records."""

from collections import defaultdict
from collections.abc import Iterable

from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.model.amounts import LARGEST, bounded
from fairlead.model.nodestate import NodeRecord
from fairlead.model.selectors import CORDONED, NOT_READY, UNREACHABLE, Effect, Taint


def node_records(nodes: Iterable[Node], pods: Iterable[Pod]) -> list[NodeRecord]:
    """One record a node, what its unfinished pods ask for counted as used."""
    used = _used_on_nodes(pods)
    return [node_record(node, used.get(node.metadata.name, {})) for node in nodes]


def _used_on_nodes(pods: Iterable[Pod]) -> dict[str, dict[str, int]]:
    """What unfinished pods ask for, by node."""
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for pod in pods:
        if pod.spec.node_name and not pod.finished:
            held = used[pod.spec.node_name]
            for name, value in request_of_pod(pod).items():
                held[name] += value
    return used


def node_record(node: Node, used: dict[str, int]) -> NodeRecord:
    """One node. One that is cordoned or not ready is closed, except to pods that tolerate the taint that says so."""
    return NodeRecord(
        name=node.metadata.name,
        allocatable=bounded(node.status.allocatable, LARGEST, f"Node {node.metadata.name}: status.allocatable"),
        used=dict(used),
        labels=node.metadata.labels,
        taints=taints_of(node),
        unschedulable=bool(_closing(node)),
        features=node.status.declared_features,
    )


def taints_of(node: Node) -> tuple[Taint, ...]:
    """The node's taints, in order, those among them that its being closed implies."""
    closing = _closing(node)
    if not node.spec.taints and not closing:
        return ()
    found = {Taint(each.key, each.effect, each.value) for each in node.spec.taints}
    said = {
        each.key for each in found if each.effect == Effect.NO_SCHEDULE and (each.key != CORDONED or not each.value)
    }
    return tuple(sorted(found.union(each for each in closing if each.key not in said), key=repr))


def _closing(node: Node) -> list[Taint]:
    """The taints that the node lifecycle controller gives such a node, at once instead of a moment later (0236).

    A node without a Ready condition (a manifest written by hand) gets the benefit of the doubt.
    """
    found = [Taint(CORDONED, implied=True)] if node.spec.unschedulable else []
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    if ready != "True":
        found.append(Taint(NOT_READY if ready == "False" else UNREACHABLE, implied=True))
    return found
