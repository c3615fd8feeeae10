"""Explanations of a whole plan, as a person asks for them: the shop, every kind of thing, why it is not elsewhere."""

from dataclasses import replace
from pathlib import Path

import pytest

from fairlead.engine.explain import node_lines, volume_lines, volume_name, workload_lines
from fairlead.engine.plan import Plan, plan
from fairlead.engine.why_not import why_not
from fairlead.kube.manifests.catalogue import Catalogue, catalogue
from fairlead.kube.manifests.load import parse_manifests, read_manifests
from fairlead.kube.manifests.pods import pod_lines
from fairlead.kube.manifests.snapshot import snapshot
from fairlead.model.errors import InputError
from fairlead.problems import balance
from fairlead.text.documents import strict

SHOP = Path(__file__).parents[2] / "examples" / "shop"

MORE = b"""
apiVersion: v1
kind: Node
metadata: {name: west-tainted, annotations: {resource.karmada.io/cached-from-cluster: west}}
spec: {taints: [{key: dedicated, value: ml, effect: NoSchedule}]}
status: {allocatable: {cpu: "8", memory: 32Gi, pods: "50"}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: level
  namespace: ops
  annotations: {resource.karmada.io/cached-from-cluster: north, fairlead.io/strategy: global-greedy}
spec:
  replicas: 2
  template: {spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: lone, namespace: ops, annotations: {resource.karmada.io/cached-from-cluster: north}}
spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: huge, namespace: ops, annotations: {resource.karmada.io/cached-from-cluster: north}}
spec: {containers: [{name: c, resources: {requests: {cpu: "100"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: gated, namespace: ops, annotations: {resource.karmada.io/cached-from-cluster: north}}
spec: {schedulingGates: [{name: example.com/quota}], containers: [{name: c}]}
---
apiVersion: v1
kind: Pod
metadata: {name: done, namespace: ops, annotations: {resource.karmada.io/cached-from-cluster: north}}
spec: {nodeName: north-od-1, containers: [{name: c}]}
status: {phase: Succeeded}
"""


@pytest.fixture(scope="module")
def shop() -> tuple[Catalogue, Plan]:
    """The shop with a tainted node, a workload that levels use, and a few pods of nobody."""
    manifests, errors = read_manifests([str(SHOP)])
    more = [each for each in parse_manifests(MORE, "more") if not isinstance(each, InputError)]
    found = catalogue([*manifests, *more])
    view = snapshot(found)
    assert not [*errors, *found.errors]
    return found, plan(view)


WORKLOADS = {
    "a Deployment through fleet and tier": (
        "deploy/shop/web",
        ["drawn with odds 67 in 115", "Tier: 3 must be on on-demand nodes", "west-od-2 0 → 2, west-od-3 0 → 1"],
    ),
    "a StatefulSet": ("sts/cart", ["StatefulSet shop/cart on cluster west: 5 replicas", "Node (spot): 2 of 2 placed"]),
    "a Job in a queue": ("job/train", ["Queue batch: 8 of 10 may start", "namespace ml (weight 2)", "QueueCapability"]),
    "a workload that levels use": ("ops/level", ["first the lowest use: north-spot-3 0% →"]),
    "what spot nodes are to a tiered workload": ("shop/cart", ["first the preferred nodes, then the fewest replicas"]),
}


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload_in_sentences(name: str, shop: tuple[Catalogue, Plan]) -> None:
    """Counts, names, scores and odds."""
    words, wants = WORKLOADS[name]
    text = "\n".join(workload_lines(shop[1], words))
    for want in wants:
        assert want in text


WHY_NOT = {
    "a node of another tier": (
        "shop/web",
        "west-spot-1",
        "it has node.kubernetes.io/capacity=spot, asked for is In on-demand",
    ),
    "a full node": ("ml/train", "node/west-od-1", "0 cpu left, a replica needs 3"),
    "a tainted node": (
        "ml/train",
        "west-tainted",
        "TaintNotTolerated, the node has a taint that the replica does not tolerate (dedicated=ml:NoSchedule)",
    ),
    "a node that would do": (
        "shop/admin",
        "north-od-1",
        "shop/admin has no replicas on cluster north; it is planned on cluster west",
    ),
    "what the queue holds back": (
        "analytics/report",
        "west-spot-4",
        "it gets 2, and the queue lets only 12 of 16 start",
    ),
    "a cluster that lost the draw": ("shop/web", "north", "it drew with odds 48 in 115 and did not win"),
    "a cluster that won it": ("shop/web", "cluster/west", "west gets 9 of 14 replicas of shop/web"),
    "a cluster for what nobody divides": (
        "shop/admin",
        "north",
        "no propagation policy selects it, so all of it is on west",
    ),
    "a disk that has one": ("cart-data", "west-od-1/bulk", "west-od-1/bulk does get a replica of cart-data"),
    "a disk beside the one that has it": (
        "volume/cart-data",
        "west-od-1/fast",
        "on bulk (imbalance with the first replica there 0.9286, on west-od-1/bulk 0.5714)",
    ),
    "a node with two disks": ("volumes", "west-od-2", "west-od-2/fast gets none"),
}


@pytest.mark.parametrize("name", WHY_NOT)
def test_why_not_there(name: str, shop: tuple[Catalogue, Plan]) -> None:
    """What stands in the way, in figures."""
    what, target, want = WHY_NOT[name]
    assert want in "\n".join(why_not(shop[1], what, target))


PODS = {
    "a pod that runs": ("shop/web-7c9f-1", "it runs on west-od-1; a plan does not move it.", "Deployment/shop/web"),
    "a pod that waits": ("lone", "it waits, and would go to north-", "Pod/ops/lone"),
    "a pod without a place": ("ops/huge", "it waits, and the plan has no place for it.", "Pod/ops/huge"),
    "a pod behind a gate": ("gated", "it waits behind the scheduling gate example.com/quota.", "Pod/ops/gated"),
    "a pod that has ended": ("done", "it has ended, and takes no room.", "Pod/ops/done"),
}


@pytest.mark.parametrize("name", PODS)
def test_pod_in_sentences(name: str, shop: tuple[Catalogue, Plan]) -> None:
    """Where it is or would be, and whose it is."""
    words, want, key = PODS[name]
    lines, owner = pod_lines(*shop, words)
    assert want in lines[0]
    assert owner == key


def test_node_and_volumes(shop: tuple[Catalogue, Plan]) -> None:
    """What comes to a node; a volume by its name, by `volume/` and among all."""
    _, decided = shop
    assert "  ml/train: 0 running, 1 new" in node_lines(decided, "west-od-1")
    assert [volume_name(decided, each) for each in ("volumes", "volume/x", "cart-data", "shop/cart")] == [
        "",
        "x",
        "cart-data",
        None,
    ]
    assert volume_lines(decided, "cart-data") == volume_lines(decided)


UNKNOWN = {
    "a workload": lambda decided: workload_lines(decided, "deploy/cart"),
    "a volume": lambda decided: volume_lines(decided, "x"),
    "a node": lambda decided: node_lines(decided, "x"),
    "a workload for why-not": lambda decided: why_not(decided, "x", "west-od-1"),
    "a target for why-not": lambda decided: why_not(decided, "shop/web", "moon"),
    "a disk for why-not": lambda decided: why_not(decided, "volumes", "moon"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_is_not_there_is_bad_input(name: str, shop: tuple[Catalogue, Plan]) -> None:
    """One line that says so."""
    with pytest.raises(InputError, match="no such"):
        UNKNOWN[name](shop[1])


def test_a_pod_that_is_not_there_is_bad_input(shop: tuple[Catalogue, Plan]) -> None:
    """One line that says so."""
    with pytest.raises(InputError, match="no such pod"):
        pod_lines(*shop, "nobody")


def stored(*usable: int) -> Plan:
    """A plan of nothing but one storage replica of 20, over nodes with a disk of so much each."""
    nodes = [
        {"name": f"n{row}", "disks": [{"name": "d", "usable": each, "total": 1000}]} for row, each in enumerate(usable)
    ]
    decision = balance.solve(strict({"size": 20, "replicas": 1, "nodes": nodes}, balance.PROBLEM))
    assert isinstance(decision, balance.Balance)
    return Plan(divided=(), sites=(), storage={"": decision})


DISKS = {
    "a disk that would leave things less even": (
        (100, 60),
        "n1",
        "n1/d could take a replica of the volume, but others",
    ),
    "both figures beside it": ((100, 60), "n1", "(imbalance with the first replica there 0.8571, on n0 0.2857)"),
    "a disk that is too small": ((100, 10), "n1/d", "n1/d takes no replica of the volume: "),
    "a disk that has it": ((100, 60), "n0", "n0/d does get a replica of the volume"),
}


@pytest.mark.parametrize("name", DISKS)
def test_why_not_that_disk(name: str) -> None:
    """Refused with its reason, or compared with the chosen one."""
    usable, target, want = DISKS[name]
    (line,) = why_not(stored(*usable), "volumes", target)
    assert want in line


def test_why_not_a_cluster_that_the_policy_does_not_choose_from(shop: tuple[Catalogue, Plan]) -> None:
    """A cluster of the plan that is not among those of the policy."""
    decided = shop[1]
    web = decided.divided[0]
    kept = {"west": web.division.placements["west"]}
    narrowed = replace(decided, divided=(replace(web, division=replace(web.division, placements=kept)),))
    (line,) = why_not(narrowed, web.workload.title, "north")
    assert line == f"north is not among the clusters that the policy of {web.workload.title} chooses from."
