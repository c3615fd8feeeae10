"""kube-scheduler's own filters about what Fairlead bound: would they allow each pod on its node, at rest?"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from tools.controlplane.api import Api
from tools.oracle.process import Oracle

Object = dict[str, Any]
KINDS = {
    "namespaces": "/api/v1/namespaces",
    "nodes": "/api/v1/nodes",
    "persistentvolumes": "/api/v1/persistentvolumes",
    "persistentvolumeclaims": "/api/v1/persistentvolumeclaims",
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    "csinodes": "/apis/storage.k8s.io/v1/csinodes",
    "csidrivers": "/apis/storage.k8s.io/v1/csidrivers",
    "csistoragecapacities": "/apis/storage.k8s.io/v1/csistoragecapacities",
    "volumeattachments": "/apis/storage.k8s.io/v1/volumeattachments",
}


def misplaced(api: Api, oracle: Oracle, namespaces: list[str]) -> tuple[int, list[str]]:
    """How many bound pods of the namespaces were asked about, and those whose node the filters refuse, as sentences.

    A pod is asked about as if it waited again, one pod of every node at a time: all others stay where they are. So a
    rule between pods of different nodes is judged a little too kindly, and a rule of one node exactly.
    """
    objects: dict[str, list[Object]] = {name: api.items(path) for name, path in KINDS.items()}
    pods = api.items("/api/v1/pods")
    asked, found = 0, []
    for apart in _one_of_each_node(pods, namespaces):
        waiting = {uid: _unbound(pod) for uid, pod in apart.items()}
        answer = oracle.ask({**objects, "pods": [waiting.get(each["metadata"]["uid"], each) for each in pods]})
        for pod in apart.values():
            name, node = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}", pod["spec"]["nodeName"]
            asked += 1
            if node not in answer.pods[name].feasible:
                found.append(f"kube-scheduler would not put pod {name} on {node}: {answer.pods[name].why(node)}")
    return asked, found


def _one_of_each_node(pods: list[Object], namespaces: list[str]) -> Iterator[dict[str, Object]]:
    """All bound pods of the namespaces that we bound and that run, by uid, at most one of each node at a time."""
    by_node: dict[str, list[Object]] = defaultdict(list)
    for pod in pods:
        ours = pod["metadata"]["namespace"] in namespaces and pod["spec"].get("schedulerName") == "fairlead"
        if ours and pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp"):
            by_node[pod["spec"]["nodeName"]].append(pod)
    for row in zip_longest(*by_node.values()):
        yield {pod["metadata"]["uid"]: pod for pod in row if pod}


def _unbound(pod: Object) -> Object:
    return {**pod, "spec": {key: value for key, value in pod["spec"].items() if key != "nodeName"}}
