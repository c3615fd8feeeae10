"""Nodes, with the pods that run on them, to node records."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from fairlead.kube.codec.requests import request_of_pod
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.model.amounts import amounts
from fairlead.model.nodestate import NodeRecord
from fairlead.model.selectors import CORDONED, NOT_READY, UNREACHABLE, Effect, Taint


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
    """One node. One that is cordoned or not ready is closed, except to pods that tolerate the taint that says so."""
    closing, taints = _closing(node), {Taint(each.key, each.effect, each.value) for each in node.spec.taints}
    said = {each.key for each in taints if each.effect == Effect.NO_SCHEDULE and each.key != CORDONED}
    taints |= {each for each in closing if each.key not in said}
    return NodeRecord(
        name=node.metadata.name,
        allocatable=amounts(node.status.allocatable, f"Node {node.metadata.name}: status.allocatable"),
        used=dict(used),
        labels=node.metadata.labels,
        taints=tuple(sorted(taints, key=repr)),
        unschedulable=bool(closing),
        features=node.status.declared_features,
    )


def _closing(node: Node) -> list[Taint]:
    """The taints that the node lifecycle controller gives such a node, at once instead of a moment later (0236).

    A node without a Ready condition (a manifest written by hand) gets the benefit of the doubt.
    """
    found = [Taint(CORDONED)] if node.spec.unschedulable else []
    ready = next((each.status for each in node.status.conditions if each.type == "Ready"), "True")
    if ready != "True":
        found.append(Taint(NOT_READY if ready == "False" else UNREACHABLE))
    return found
