"""A random mix of pods decided cycle by cycle without a server: the independent checker finds no fault."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.policy import Namespace
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.pod_sets import grouped
from fairlead.live.cluster.records import Records
from fairlead.live.scheduler.decide import batches, decide
from tests.cluster.checker import Cluster, violations
from tests.cluster.mixes import HOST, Mix, node_labels

SPACE = "shop"
NAMESPACE = {"metadata": {"name": SPACE, "labels": {"kubernetes.io/metadata.name": SPACE}}}


class Unclaimed(Mix):
    """Every constraint but volumes, for which a server is needed."""

    def _use(self, spec: dict[str, Any], claim: str) -> None:
        pass

    def _ephemeral(self, spec: dict[str, Any], name: str, labels: dict[str, Any]) -> None:
        pass


def node(number: int) -> dict[str, Any]:
    """Two sorts of nodes, some cordoned, some tainted."""
    kept = number % 3 == 0
    amounts = {"cpu": "16", "memory": "8Gi", "pods": "20", "example.com/device": "2"} if kept else {}
    return {
        "metadata": {"name": f"n{number}", "labels": {**node_labels(SPACE, number), HOST: f"n{number}"}},
        "spec": {
            "unschedulable": number % 10 == 0,
            "taints": [{"key": "kept", "effect": "NoSchedule"}] if kept else [],
        },
        "status": {"allocatable": amounts or {"cpu": "8", "memory": "16Gi", "pods": "110"}},
    }


def pods_of(sets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The pods that controllers would make."""
    made = []
    for each in sets:
        name, template = each["metadata"]["name"], each["spec"]["template"]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}
        for number in range(each["spec"]["replicas"]):
            meta = {
                "name": f"{name}-{number}",
                "namespace": SPACE,
                "uid": f"{name}-{number}",
                "ownerReferences": [owner],
            }
            made.append(
                {
                    "metadata": {**template["metadata"], **meta},
                    "spec": dict(template["spec"]),
                    "status": {"phase": "Pending"},
                }
            )
    return made


def settle(cache: Cache) -> None:
    """Cycles until one of them places nobody."""
    while True:
        before = len(cache.waiting)
        for batch in batches(grouped(cache.waiting.values())):
            for outcome in decide(cache.view(), batch, cache.per_node, cache.storage.demand):
                for pod, place in outcome.placed:
                    cache.assume(pod.key, place)
        if len(cache.waiting) == before:
            return


@pytest.mark.parametrize("seed", range(6))
def test_mix_without_volumes_keeps_every_rule(seed: int) -> None:
    """Nothing is placed in violation, and nobody is left out who had a place."""
    nodes = [node(number) for number in range(40)]
    mix = Unclaimed(SPACE, [each["metadata"]["name"] for each in nodes], seed, {"made": "", "static": ""})
    pods = pods_of(mix.workloads(400, 12))
    cache, records = Cache(), Records()
    cache.on_namespace(Change("added", msgspec.convert(NAMESPACE, Namespace)))
    for each in nodes:
        cache.on_node(Change("added", msgspec.convert(each, Node)))
    for one in pods:
        cache.on_pod(Change("added", records.record(msgspec.convert(one, Pod))))
    settle(cache)
    for one in pods:
        place = cache.assumed.get((SPACE, one["metadata"]["name"]))
        if place:
            one["spec"]["nodeName"] = place
    cluster = Cluster(nodes, pods, [NAMESPACE])
    assert violations(cluster) == []
    assert len(cluster.bound) > 100
