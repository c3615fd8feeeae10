"""Bare pods: those that are alike are placed as one group, and are jobs of their own all the same."""

from typing import Any

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.objects.pod import Pod
from fairlead.levels.node.constraints.reasons import NO_ROOM, NOT_NEAR
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.pod_sets import PodSet, PodSetOutcome, grouped, pod_set_key
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.scheduler.decide import decide
from fairlead.live.scheduler.pending import FIRST_WAIT, Pending
from fairlead.model.decision import Rejection
from fairlead.model.reasons import Reason
from tests.live.queue_world import World
from tests.live.test_scheduler_decide import node

RECORDS = Records()
ZONES = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "ci"}}}


def bare(
    name: str, *, created: str = "2026-01-01T00:00:00Z", meta: dict[str, Any] | None = None, **spec: Any
) -> PodRecord:
    """A pod that nothing owns."""
    about = {
        "name": name,
        "namespace": "ci",
        "uid": f"uid-{name}",
        "labels": {"app": "ci"},
        "creationTimestamp": created,
    }
    body = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], **spec}
    return RECORDS.record(msgspec.convert({"metadata": about | (meta or {}), "spec": body}, Pod))


def cache(*pods: PodRecord, nodes: int = 3) -> Cache:
    """So many nodes of 4 cpu, and the pods."""
    made = Cache()
    for number in range(1, nodes + 1):
        made.on_node(Change("added", node(f"n{number}", 4)))
    for each in pods:
        made.on_pod(Change("added", each))
    return made


def test_alike_bare_pods_are_one_group() -> None:
    """Neither their names nor their ages tell them apart."""
    (group,) = grouped([bare("a"), bare("b", created="2026-01-02T00:00:00Z"), bare("c")])
    assert [pod.metadata.name for pod in group.pods] == ["a", "c", "b"]


OTHER = {
    "labels": bare("b", meta={"labels": {"app": "notebook"}}),
    "namespace": bare("b", meta={"namespace": "else"}),
    "request": bare("b", containers=[{"name": "c", "resources": {"requests": {"cpu": "2"}}}]),
    "priority": bare("b", priority=7),
    "priority class": bare("b", priorityClassName="high"),
    "preemption": bare("b", preemptionPolicy="Never"),
    "queue": bare("b", meta={"annotations": {"volcano.sh/queue-name": "q"}}),
    "strategy": bare("b", meta={"annotations": {"fairlead.io/strategy": "global-greedy"}}),
    "group": bare("b", meta={"annotations": {"scheduling.k8s.io/group-name": "g"}}),
    "controller": bare("b", meta={"ownerReferences": [{"kind": "Job", "name": "j", "controller": True}]}),
    "claims": bare("b", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]),
}


@pytest.mark.parametrize("other", OTHER.values(), ids=OTHER)
def test_bare_pods_that_differ_are_groups_of_their_own(other: PodRecord) -> None:
    """In whatever decides where they go, or when."""
    assert pod_set_key(bare("a")) != pod_set_key(other)
    assert len(grouped([bare("a"), other])) == 2


def test_two_bare_pods_with_claims_stay_apart() -> None:
    """A volume is promised to one pod at a time (docs/decisions/0090)."""
    claim = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
    assert len(grouped([bare("a", **claim), bare("b", **claim)])) == 2


def test_groups_of_bare_pods_come_by_priority_then_age_of_the_oldest() -> None:
    """As groups of controllers do."""
    late, early = "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z"
    small = [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]
    pods = [
        bare("young", created=late, containers=small),
        bare("b", created=late),
        bare("a", created=early),
        bare("first", created=late, priority=1),
    ]
    order = [[pod.metadata.name for pod in group.pods] for group in grouped(pods)]
    assert order == [["first"], ["a", "b"], ["young"]]


def test_a_group_of_bare_pods_is_levelled_over_nodes() -> None:
    """Six pods on three nodes: two each, whichever nodes have others of their kind."""
    made = cache(bare("there", nodeName="n1"), *(bare(f"p{number}") for number in range(6)), nodes=3)
    (outcome,) = decide(made.view(), grouped(made.waiting.values()), made.per_node)
    assert sorted(place for _, place in outcome.placed) == ["n1", "n1", "n2", "n2", "n3", "n3"]
    assert made.summary()["per controller"] == {}


def test_bare_pods_that_keep_apart_get_a_node_each() -> None:
    """The constraint holds within the group, and against those that run."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    apart = {"affinity": {"podAntiAffinity": {required: [ZONES]}}}
    made = cache(bare("there", nodeName="n2", **apart), *(bare(f"p{number}", **apart) for number in range(4)))
    for name in ("n1", "n2", "n3"):
        labelled = node(name, 4)
        labelled.metadata.labels["kubernetes.io/hostname"] = name
        made.on_node(Change("modified", labelled))
    (outcome,) = decide(made.view(), grouped(made.waiting.values()), made.per_node)
    assert sorted(place for _, place in outcome.placed) == ["n1", "n3"]
    assert [pod.metadata.name for pod in outcome.waiting] == ["p2", "p3"]


def refused(pods: tuple[PodRecord, ...], reason: Reason, looked: tuple[PodRecord, ...] = ()) -> PodSetOutcome:
    """An outcome in which these pods of the group wait."""
    group = looked or pods
    return PodSetOutcome(
        group=PodSet(controller=group[0].controller, shape=group[0].shape, pods=group),
        placed=(),
        waiting=pods,
        considered=1,
        rejected=(Rejection(reason=reason, count=1, names=("n1",)),),
    )


def test_a_newcomer_leaves_its_parked_like_asleep() -> None:
    """It is decided alone, since bare pods are jobs of their own; what it waits for may help the others, too."""
    old, new = bare("old"), bare("new")
    pending = Pending()
    pending.park(refused((old,), NOT_NEAR), 0.0)
    assert pending.due([old, new], 1.0) == [new]
    pending.park(refused((new,), NO_ROOM), 1.0)
    assert len(pending) == 2
    assert pending.due([old, new], 2.0) == []
    assert pending.wake(Wake.POD_BOUND, bare("ci").resident) is False
    assert pending.wake(Wake.NAMESPACE) is True
    assert pending.due([old, new], 1.0 + 2 * FIRST_WAIT) == [old, new]


def test_what_is_gone_is_not_kept_with_its_group() -> None:
    """A pod that was deleted, or looked at and placed, is no member any more."""
    old, gone, new = bare("old"), bare("gone"), bare("new")
    pending = Pending()
    pending.park(refused((old, gone), NO_ROOM), 0.0)
    assert pending.due([old, new], 1.0) == [new]
    pending.park(refused((new,), NO_ROOM, looked=(old, new)), 1.0)
    assert len(pending) == 1
    assert pending.due([old, new], 1.0) == [old]


def test_alike_bare_pods_are_jobs_by_age() -> None:
    """Room for two: the oldest of each shape goes before the second of the older shape."""
    world = World(2)
    world.pod("one-a", created="1970-01-12T13:00:00Z")
    world.pod("one-b", created="1970-01-12T13:00:20Z")
    world.pod("two", created="1970-01-12T13:00:10Z", tolerations=[{"key": "x", "operator": "Exists"}])
    world.turn()
    assert world.held() == {"Pod/ns/one-a": 1, "Pod/ns/two": 1}


def test_bare_pods_of_one_shape_are_told_as_one_group() -> None:
    """One outcome for all of them; each is placed, the oldest first, or waits."""
    world = World(2)
    for number, created in enumerate(("13:00:30", "13:00:20", "13:00:10")):
        pod = bare(f"p{number}", created=f"1970-01-12T{created}Z", schedulerName="fairlead")
        world.cache.on_pod(Change("added", pod))
        world.job_cache.see(pod, "")
    _, (outcome,) = world.turn()
    assert {pod.metadata.name for pod, _ in outcome.placed} == {"p1", "p2"}
    assert [pod.metadata.name for pod in outcome.waiting] == ["p0"]
    assert len(outcome.group.pods) == 3
    assert outcome.finding is not None
