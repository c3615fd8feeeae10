"""Real objects to tables: weights, roles, budgets, other schedulers, nodes that are closed."""

from typing import Any

from fairlead.cli.share_manifests import problem_of, solve
from fairlead.kube.manifests.catalogue import catalogue
from fairlead.kube.manifests.manifest import Manifest
from fairlead.kube.manifests.queue import queue_of
from fairlead.model.jobs import UNSET
from fairlead.model.queuestate import QueueState


def obj(kind: str, name: str, group: str = "v1", namespace: str = "", **more: Any) -> dict[str, Any]:
    """An object."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **more.pop("meta", {})}
    return {"apiVersion": group, "kind": kind, "metadata": meta, **more}


def node(name: str, **spec: Any) -> dict[str, Any]:
    """A node of 4 cpu and 10 pods."""
    labels = {"zone": name}
    return obj("Node", name, meta={"labels": labels}, spec=spec, status={"allocatable": {"cpu": "4", "pods": "10"}})


def pod(name: str, namespace: str = "ns", group: str = "", cpu: str = "1", **more: Any) -> dict[str, Any]:
    """A pod; `meta` and fields of the spec as given."""
    meta = more.pop("meta", {})
    annotations = {**({"scheduling.k8s.io/group-name": group} if group else {}), **meta.pop("annotations", {})}
    spec = {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **more}
    return obj("Pod", name, namespace=namespace, meta={**meta, "annotations": annotations}, spec=spec)


def state(*objects: dict[str, Any]) -> QueueState:
    """The tables of the objects."""
    found = catalogue([Manifest("here", each) for each in objects])
    assert not found.errors
    return queue_of(found).state


def group(name: str, **spec: Any) -> dict[str, Any]:
    """A PodGroup in ns."""
    return obj("PodGroup", name, "scheduling.volcano.sh/v1beta1", "ns", spec=spec)


def quota(name: str, **hard: Any) -> dict[str, Any]:
    """A ResourceQuota in ns."""
    return obj("ResourceQuota", name, namespace="ns", spec={"hard": hard})


def test_weight_of_a_namespace_is_the_highest_of_its_quotas() -> None:
    """Invalid ones and quotas without a weight count as 1."""
    weight = "volcano.sh/namespace.weight"
    quotas = [quota("a", **{weight: "3"}), quota("b", **{weight: "abc"}), quota("c", **{"limits.memory": "2Gi"})]
    tables = state(node("n1"), pod("p", group="g"), group("g"), *quotas)
    assert tables.namespaces.weight.tolist() == [3]


def test_one_queue_is_there_even_if_none_is_declared() -> None:
    """A group without a queue goes to `default`."""
    tables = state(node("n1"), pod("p", group="g"), group("g"))
    assert (tables.queues.names, tables.jobs.queue.tolist()) == (("default",), [0])


def test_pods_of_a_group_are_roles_by_task_request_and_nodes() -> None:
    """A driver and two kinds of workers; minimums by task."""
    task = "volcano.sh/task-spec"
    tables = state(
        node("n1"),
        node("n2"),
        group("g", minMember=3, minTaskMember={"driver": 1, "worker": 2}),
        pod("d", group="g", cpu="2", meta={"annotations": {task: "driver"}}),
        pod("w1", group="g", meta={"annotations": {task: "worker"}}),
        pod("w2", group="g", meta={"annotations": {task: "worker"}}, nodeSelector={"zone": "n2"}),
    )
    assert tables.jobs.role_names == ("driver", "worker", "worker")
    assert tables.jobs.role_minimum.tolist() == [1, 1, 1]
    assert tables.room is not None
    assert tables.room.eligible.tolist() == [[True, True], [True, True], [False, True]]


def test_quota_names_in_minimums_and_bounds_are_read_as_what_they_mean() -> None:
    """What Volcano's job controller writes: the words of a ResourceQuota beside the plain ones."""
    written = {"cpu": "2", "count/pods": "2", "pods": "2", "requests.cpu": "2", "limits.cpu": "9", "limits.memory": "1"}
    queue = obj("Queue", "default", "scheduling.volcano.sh/v1beta1", spec={"capability": {"requests.cpu": "3500m"}})
    tables = state(node("n1"), queue, group("g", minMember=2, minResources=written), pod("a", group="g"))
    assert tables.jobs.resources == ("cpu", "pods")
    assert tables.jobs.min_resources.tolist() == [[2000, 2]]
    assert tables.queues.capability.tolist() == [[3500, UNSET]]


def test_minimum_of_pods_is_met_where_nodes_do_not_limit_them() -> None:
    """Otherwise no gang that Volcano made would ever start there."""
    bare = obj("Node", "n1", status={"allocatable": {"cpu": "4"}})
    tables = state(bare, group("g", minResources={"count/pods": "1"}), pod("a", group="g"))
    assert tables.jobs.min_resources.tolist() == [[0, 0]]


def test_minimum_of_a_task_without_pods_keeps_the_gang_waiting() -> None:
    """The master is not created yet."""
    tables = state(node("n1"), group("g", minMember=2, minTaskMember={"master": 1, "": 1}), pod("w", group="g"))
    assert tables.jobs.role_replicas.tolist() == [1, 0]
    assert tables.jobs.role_minimum.tolist() == [1, 1]


def test_affinity_taints_and_cordons_decide_where_a_pod_may_run() -> None:
    """Required terms, NoSchedule taints, unschedulable nodes; what tolerates every taint may use cordoned ones."""
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["n1", "n3"]}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    tainted = node("n3", taints=[{"key": "gpu", "effect": "NoSchedule"}])
    fields = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
    by_name = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": fields}}}
    tables = state(
        node("n1"),
        node("n2"),
        tainted,
        node("n4", unschedulable=True),
        group("g"),
        pod("a", group="g", affinity=affinity),
        pod("b", group="g", cpu="2", tolerations=[{"operator": "Exists"}]),
        pod("c", group="g", cpu="3", affinity=by_name),
    )
    assert tables.room is not None
    assert tables.room.eligible.tolist() == [
        [True, False, False, False],
        [True, True, True, True],
        [False, True, False, False],
    ]


def test_running_pods_are_told_apart_by_what_decides_their_eviction() -> None:
    """Node, priority, label, system and budget; one that is going already is nobody's any more."""
    budget = obj(
        "PodDisruptionBudget",
        "b",
        "policy/v1",
        "ns",
        spec={"selector": {"matchLabels": {"app": "x"}}},
        status={"disruptionsAllowed": 2},
    )
    running = {"group": "g", "nodeName": "n1"}
    tables = state(
        node("n1"),
        budget,
        obj("PriorityClass", "high", "scheduling.k8s.io/v1", value=9),
        group("g", priorityClassName="high"),
        pod("p1", **running),
        pod("p2", **running),
        pod("p3", **running, meta={"labels": {"volcano.sh/preemptable": "false"}}),
        pod("p4", **running, priorityClassName="system-node-critical"),
        pod("p5", **running, meta={"labels": {"app": "x"}}),
        pod("p6", **running, meta={"deletionTimestamp": "2026-01-01T00:00:00Z"}, priority=4),
    )
    table = tables.running
    rows = zip(
        table.count.tolist(),
        table.priority.tolist(),
        table.preemptable.tolist(),
        table.protected.tolist(),
        table.budget.tolist(),
        strict=True,
    )
    assert list(rows) == [
        (2, 0, True, False, UNSET),
        (1, 0, False, False, UNSET),
        (1, 2_000_001_000, True, True, UNSET),
        (1, 0, True, False, 0),
    ]
    assert tables.jobs.priority.tolist() == [9]
    assert table.allowed.tolist() == [2]


def test_of_pods_that_are_alike_the_youngest_stand_first() -> None:
    """Then natural order of names, whatever the order of the manifests: who goes first does not depend on it."""
    born = {"p10": "2026-01-01T00:00:00Z", "p9": "2026-01-01T00:00:00Z", "p1": "2026-01-02T00:00:00Z", "p2": None}
    pods = [
        pod(name, group="g", nodeName="n1", meta={"creationTimestamp": created} if created else {})
        for name, created in born.items()
    ]
    for given in (pods, pods[::-1]):
        tables = state(node("n1"), group("g"), *given)
        assert tables.running.names == (("ns/p1", "ns/p9", "ns/p10", "ns/p2"),)


def test_pods_of_others_take_room_and_ours_without_a_group_are_jobs() -> None:
    """A pod of the default scheduler lowers the whole; one of ours waits in the queue it names."""
    tables = state(
        node("n1"),
        node("n2", unschedulable=True),
        obj(
            "Queue",
            "q",
            "scheduling.volcano.sh/v1beta1",
            spec={"reclaimable": False, "guarantee": {"resource": {"cpu": "1"}}},
        ),
        pod("other", nodeName="n1"),
        pod("elsewhere", nodeName="n2"),
        pod("gone", nodeName="unknown"),
        pod("mine", schedulerName="fairlead", meta={"annotations": {"volcano.sh/queue-name": "q"}}),
        pod("held", schedulerName="fairlead", schedulingGates=[{"name": "wait"}]),
        pod("there", schedulerName="volcano", nodeName="n2"),
    )
    assert tables.jobs.names == ("ns/mine", "ns/there")
    whole = dict(zip(tables.jobs.resources, tables.whole.tolist(), strict=True))
    assert whole == {"cpu": 4000 - 1000 + 1000, "pods": 10 - 1 + 1}
    assert tables.room is not None
    assert tables.room.free[:, 0].tolist() == [3000, 2000]


def test_pods_of_others_take_no_more_than_their_node_has() -> None:
    """One was bound by hand to a node that cannot hold it: the other node offers what it did."""
    tables = state(node("n1"), node("n2"), group("g"), pod("p", group="g"), pod("vast", cpu="100", nodeName="n1"))
    assert dict(zip(tables.jobs.resources, tables.whole.tolist(), strict=True))["cpu"] == 4000


def test_a_job_does_not_preempt_if_any_waiting_pod_may_not() -> None:
    """By policy of the pod or of its class, which is the default one where it names none and has no priority yet."""
    never = obj("PriorityClass", "calm", "scheduling.k8s.io/v1", value=5, preemptionPolicy="Never", globalDefault=True)
    tables = state(
        node("n1"),
        never,
        group("g"),
        group("h"),
        group("i"),
        group("j"),
        group("k"),
        pod("a", group="g", preemptionPolicy="Never"),
        pod("b", group="h", priorityClassName="calm"),
        pod("c", group="i", meta={"creationTimestamp": "2026-01-01T00:00:00Z"}),
        pod("d", group="j", priority=0),
        pod("e", group="k", preemptionPolicy="PreemptLowerPriority"),
    )
    assert tables.jobs.preempts.tolist() == [False, False, False, True, True]
    assert tables.jobs.priority.tolist() == [5, 5, 5, 0, 5]


def test_a_pod_that_names_a_queue_is_a_job_whatever_its_scheduler() -> None:
    """A queue's name is enough, without a group and with any scheduler."""
    tables = state(node("n1"), pod("asked", meta={"annotations": {"volcano.sh/queue-name": "default"}}), pod("other"))
    assert tables.jobs.names == ("ns/asked",)


def test_pods_of_one_controller_are_one_job_as_on_a_cluster() -> None:
    """Else ten waiting pods would be ten jobs beside one of another controller, and get ten shares."""

    def owned(name: str, by: str, **more: Any) -> dict[str, Any]:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "uid": by, "controller": True}
        return pod(name, schedulerName="fairlead", meta={"ownerReferences": [owner], **more.pop("meta", {})}, **more)

    asks = {"annotations": {"volcano.sh/queue-name": "default"}}
    tables = state(
        node("n1"),
        group("bare", minMember=2),
        *(owned(f"web-{row}", "web", nodeName="n1" if row < 1 else "") for row in range(3)),
        owned("db-0", "db"),
        owned("db-1", "db", meta=asks),
        owned("held", "db", schedulingGates=[{"name": "wait"}]),
        pod("bare", schedulerName="fairlead"),
        pod("g-1", group="bare"),
    )
    assert tables.jobs.names == (
        "Pod/ns/bare", "ReplicaSet/ns/db", "ReplicaSet/ns/db@default", "ns/bare", "ns/web",
    )  # fmt: skip
    assert tables.jobs.role_replicas.tolist() == [1, 1, 1, 1, 3]


def test_controllers_get_equal_shares_of_a_namespace() -> None:
    """As the live scheduler has it: the older of two does not take everything because its pods are older."""
    pods = [
        pod(
            f"{by}-{row}",
            schedulerName="fairlead",
            meta={
                "creationTimestamp": f"2026-01-01T00:0{minute}:00Z",
                "ownerReferences": [{"kind": "ReplicaSet", "name": by, "uid": by, "controller": True}],
            },
        )
        for minute, by in enumerate(("old", "new"))
        for row in range(4)
    ]
    decision = solve(problem_of(catalogue([Manifest("here", each) for each in (node("n1"), *pods)]), "here"))
    assert {job.name: job.admitted for job in decision.jobs} == {"ns/old": 2, "ns/new": 2}
