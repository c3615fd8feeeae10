"""What Volcano's own tests expect, and where and why Fairlead differs."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.manifests.queue import queue_of
from fairlead.levels.queue.grants.order import queue_measure
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import SharePolicy
from fairlead.model.queuestate import QueueState, weight_of
from fairlead.problems.share import solve_state

DATA = json.loads(Path(__file__).with_name("data").joinpath("volcano.json").read_text())
CASES = {case["id"]: case for case in DATA["cases"]}

DIFFERENCES = {
    "reclaim-8": "a gang of two of which only one can ever be placed: we evict only for a gang that then starts",
    "hier-level1": "we compare the branches below the common ancestor, where grand-b holds less than it deserves",
}
"""Cases with another answer on purpose, and why."""
NOT_OURS = ("enq-1", "enq-3", "enq-5", "oc-2", "oc-4")
"""Phases of a PodGroup and the factor of the enqueue gate: there is no such gate, a job waits in its queue."""


def manifests(case: dict[str, Any]) -> list[Manifest]:
    """The case as real objects."""
    objects: list[dict[str, Any]] = []
    for name, node in case.get("nodes", {}).items():
        meta = {"name": name, "labels": node["labels"]}
        objects.append(
            {"apiVersion": "v1", "kind": "Node", "metadata": meta, "status": {"allocatable": node["allocatable"]}}
        )
    for name, value in case.get("priorityClasses", {}).items():
        objects.append(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": value,
            }
        )
    for name, queue in case["queues"].items():
        fields = ("weight", "capability", "deserved", "parent", "priority")
        spec = {field: queue[field] for field in fields if field in queue}
        objects.append(_volcano("Queue", {"name": name}, spec, {"state": queue["state"]}))
    for key, group in case["podgroups"].items():
        namespace, name = key.split("/")
        fields = ("minMember", "minTaskMember", "minResources", "queue", "priorityClassName")
        spec = {field: group[field] for field in fields if field in group}
        objects.append(_volcano("PodGroup", {"namespace": namespace, "name": name}, spec, {"phase": group["phase"]}))
    objects.extend(_pods(case))
    return [Manifest(case["id"], value) for value in objects]


def _volcano(kind: str, meta: dict[str, Any], spec: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    group = "scheduling.volcano.sh/v1beta1"
    return {"apiVersion": group, "kind": kind, "metadata": meta, "spec": spec, "status": status}


def _pods(case: dict[str, Any]) -> list[dict[str, Any]]:
    pods = dict(case["pods"])
    for rule in pods.pop("__generate__", ()):
        for i in range(rule["count"]):
            pods[f"{rule['namespace']}/{rule['name'].format(i=i)}"] = rule
    return [_pod(key, pod, case) for key, pod in pods.items()]


def _pod(key: str, pod: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    namespace, name = key.split("/")
    annotations = {"scheduling.k8s.io/group-name": pod["podgroup"], "volcano.sh/task-spec": pod.get("taskSpec", "")}
    labels = {"volcano.sh/preemptable": str(pod["preemptable"]).lower()} if "preemptable" in pod else {}
    group = case["podgroups"][f"{namespace}/{pod['podgroup']}"]
    spec: dict[str, Any] = {
        "containers": [{"name": "main", "resources": {"requests": pod["requests"]}}],
        "nodeSelector": pod.get("nodeSelector", {}),
        "priority": pod.get("priority", case.get("priorityClasses", {}).get(group.get("priorityClassName"), 0)),
    }
    if "node" in pod:
        spec["nodeName"] = pod["node"]
    if "preemptionPolicy" in pod:
        spec["preemptionPolicy"] = pod["preemptionPolicy"]
    meta = {"namespace": namespace, "name": name, "annotations": annotations, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": pod["phase"]}}


def solved(case: dict[str, Any]) -> tuple[QueueState, Sharing]:
    """The decision on the case."""
    found = catalogue(manifests(case))
    assert not found.errors
    state = queue_of(found).state
    may_evict = bool({"preempt", "reclaim"} & set(case["actions"]))
    return state, solve_state(state, SharePolicy(preempt=may_evict))


def evicted(state: QueueState, decision: Sharing) -> list[str]:
    """Names of the pods that are evicted."""
    return sorted(name for victim in decision.victims for name in state.running.names[victim.row][: victim.count])


def bound(state: QueueState, decision: Sharing) -> Counter[tuple[str, str]]:
    """New pods by job and node."""
    assert state.room is not None
    counts: Counter[tuple[str, str]] = Counter()
    for role, spots in decision.spots.items():
        job = state.jobs.names[int(state.jobs.role_job[role])]
        for node, count in spots.items():
            counts[job, state.room.names[node]] += count
    return counts


PORTABLE = [name for name in CASES if name not in DIFFERENCES and name not in NOT_OURS]


@pytest.mark.parametrize("name", [name for name in PORTABLE if "evict" in CASES[name]["expect"]])
def test_evictions_are_those_of_volcano(name: str) -> None:
    """The same pods have to go, and no others."""
    state, decision = solved(CASES[name])
    assert evicted(state, decision) == sorted(CASES[name]["expect"]["evict"])


@pytest.mark.parametrize(
    "name", [name for name in PORTABLE if "allocate" in CASES[name]["actions"] and "bind" in CASES[name]["expect"]]
)
def test_new_pods_are_those_of_volcano(name: str) -> None:
    """As many pods of each group on each node; what waits for a victim's room is on the nodes Volcano allows."""
    case = CASES[name]
    state, decision = solved(case)
    want: Counter[tuple[str, str]] = Counter()
    for pod, node in case["expect"]["bind"].items():
        want[f"{pod.split('/')[0]}/{case['pods'][pod]['podgroup']}", node] += 1
    got = bound(state, decision)
    waits = case["expect"].get("pipelined", {})
    assert {key: count for key, count in got.items() if key[0] not in waits} == want
    for group, nodes in waits.items():
        assert {node for job, node in got if job == group} <= set(nodes)


def test_hierarchical_dominant_shares_of_blocked_siblings() -> None:
    """Five queues, one branch of two: each cpu user gets 10 of 30 cpu, each memory user 15 of 30 G."""
    case = CASES["hdrf-2"]
    queues = {name: {**queue, "parent": "root-pg3" if "pg3" in name else ""} for name, queue in case["queues"].items()}
    queues["root-pg3"] = {"weight": 1, "state": "Open"}
    _, decision = solved({**case, "queues": queues})
    assert {row.name: row.admitted for row in decision.jobs} == {
        group: amounts["pods"] for group, amounts in case["expect"]["allocated"].items()
    }


@pytest.mark.parametrize("name", DIFFERENCES)
def test_wanted_difference_from_volcano(name: str) -> None:
    """Where we differ on purpose the difference is really there."""
    state, decision = solved(CASES[name])
    assert evicted(state, decision) != sorted(CASES[name]["expect"]["evict"])


def test_share_of_a_queue_is_that_of_the_capacity_plugin_but_for_queues_that_deserve_nothing() -> None:
    """max allocated/deserved; a queue that deserves nothing starts at 1 and, unlike Volcano's, grows as it borrows."""
    whole = [16, 16]
    for row in DATA["shares"]:
        right = row["deserved"] or {}
        deserved = [Fraction(right.get(name, 0)) for name in ("cpu", "memory_gi")]
        scaled = [Fraction(str(row["allocated"].get(name, 0))) * 2 for name in ("cpu", "memory_gi")]
        measure = queue_measure([amount * 2 for amount in deserved], [amount * 2 for amount in whole], 1, [0, 1])
        got = measure.share([int(amount) for amount in scaled])
        if any(deserved):
            assert got == Fraction(str(row["share"]))
        else:
            assert got == 1 + max(amount / 32 for amount in scaled)


def test_weight_of_a_namespace_follows_its_quotas_step_by_step() -> None:
    """Set, changed and deleted quotas: the highest that is left, 1 without any."""
    quotas: dict[str, Any] = {}
    for step in DATA["weights"]:
        quotas |= step.get("set", {})
        gone = step.get("delete", [])
        for name in [gone] if isinstance(gone, str) else gone:
            quotas.pop(name.partition("(")[0], None)
        if "weight" in step:
            assert weight_of(1 if value is None else value for value in quotas.values()) == step["weight"]
