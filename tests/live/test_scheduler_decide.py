"""One cycle decided: strategies by annotation, claims one at a time, and what a pod is told."""

import asyncio
from collections import Counter

import msgspec
import pytest

from fairlead.kube.changes import Change
from fairlead.kube.client import Client
from fairlead.kube.errors import KubeError, UnansweredError
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod
from fairlead.kube.objects.storage import PersistentVolume, PersistentVolumeClaim
from fairlead.kube.resources import PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES
from fairlead.kube.volumes.claim_cache import BIND_COMPLETED
from fairlead.levels.node.constraints.reasons import FILTERS
from fairlead.live.cluster.cache import Cache
from fairlead.live.cluster.pod_sets import PodSetOutcome, grouped
from fairlead.live.cluster.records import PodRecord, Records
from fairlead.live.runtime.pulse import CALL_SECONDS, Pulse
from fairlead.live.scheduler.binder import Binder
from fairlead.live.scheduler.decide import batches, decide
from fairlead.live.scheduler.messages import explanation
from fairlead.live.scheduler.pending import WAKES
from fairlead.live.scheduler.volume_binder import VolumeBinder
from tests.fake import FakeApi
from tests.kube.virtual import run

RECORDS = Records()


def node(name: str, cpu: int) -> Node:
    """A node."""
    return msgspec.convert(
        {"metadata": {"name": name}, "status": {"allocatable": {"cpu": str(cpu), "pods": "20"}}}, Node
    )


def pod(name: str, *, on: str = "", strategy: str = "", claim: str = "", app: str = "web", cpu: str = "1") -> PodRecord:
    """A pod of a workload, as a record."""
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    return RECORDS.record(
        msgspec.convert(
            {
                "metadata": {
                    "name": name,
                    "namespace": "shop",
                    "uid": f"{name}-1",
                    "annotations": {"fairlead.io/strategy": strategy} if strategy else {},
                    "ownerReferences": [{"kind": "ReplicaSet", "name": app, "controller": True}],
                },
                "spec": {
                    "nodeName": on,
                    "volumes": volumes,
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}],
                },
            },
            Pod,
        )
    )


def cache(*pods: PodRecord, sizes: tuple[int, ...] = (4, 16)) -> Cache:
    """A cluster of nodes n1, n2 … with these pods."""
    made = Cache()
    for number, cpu in enumerate(sizes, start=1):
        made.on_node(Change("added", node(f"n{number}", cpu)))
    for each in pods:
        made.on_pod(Change("added", each))
    return made


def decided(made: Cache, strategy: str = "communism") -> list[PodSetOutcome]:
    """Everything that waits, decided on one view."""
    groups = grouped(made.waiting.values())
    return decide(made.view(), groups, made.per_node, made.storage.demand, strategy)


@pytest.mark.parametrize(
    ("named", "default", "want"),
    [
        ("", "communism", {"n1": 2, "n2": 2}),
        ("", "global-greedy", {"n2": 4}),
        ("global-greedy", "communism", {"n2": 4}),
        ("communism", "global-greedy", {"n1": 2, "n2": 2}),
    ],
)
def test_strategy_is_the_workloads_or_the_default(named: str, default: str, want: dict[str, int]) -> None:
    """Four pods on a small and a large node: the workload level, or the nodes level."""
    made = cache(*(pod(f"p{number}", strategy=named) for number in range(4)))
    (outcome,) = decided(made, default)
    assert Counter(place for _, place in outcome.placed) == want


def test_strategy_that_nobody_knows_is_said() -> None:
    """The pod is not placed by a rule that its owner did not ask for."""
    assert "'best' is not a strategy" in pod("p", strategy="best").broken
    assert not any(pod("p", strategy=each).broken for each in ("", "auto", "communism", "global-greedy"))


def test_pods_with_claims_are_decided_one_by_one() -> None:
    """Groups without claims share a view; each pod with claims has its own, in the same order."""
    groups = grouped([pod("a"), pod("b"), pod("c", claim="x", app="db"), pod("d", claim="x", app="db")])
    assert [[len(group.pods) for group in batch] for batch in batches(groups)] == [[1], [1], [2]]


def test_every_filter_knows_what_wakes_it() -> None:
    """A reason without a wake-up would park a pod for good."""
    assert set(WAKES) == set(FILTERS)


def test_explanation_of_a_waiting_and_of_a_bound_pod() -> None:
    """Why not, with counts and cures; or where."""
    made = cache(pod("big", cpu="99"), pod("there", on="n1"))
    (outcome,) = decided(made)
    told = explanation(made.pods["shop", "big"], "", outcome)
    assert (told["state"], told["node"]) == ("waiting", None)
    assert [(each["code"], each["count"]) for each in told["rejected"]] == [("InsufficientRoom", 2)]
    assert explanation(made.pods["shop", "there"], "", None)["node"] == "n1"
    assert explanation(pod("x"), "n2", None)["state"] == "binding"


CLASS = {"metadata": {"name": "late"}, "provisioner": "d.example.com", "volumeBindingMode": "WaitForFirstConsumer"}
CLAIM = {
    "metadata": {"name": "data", "namespace": "shop", "uid": "u1"},
    "spec": {
        "storageClassName": "late",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    },
}


def with_claim(api: FakeApi) -> Cache:
    """A cluster with one pod whose claim waits for a node."""
    made = cache(pod("p", claim="data"))
    sinks = {resource.plural: sink for resource, sink in made.storage.watched()}
    sinks["storageclasses"](Change("added", msgspec.convert(CLASS, STORAGE_CLASSES.shape)))
    stored = msgspec.convert(api.put(PERSISTENT_VOLUME_CLAIMS, CLAIM), PersistentVolumeClaim)
    sinks["persistentvolumeclaims"](Change("added", stored))
    return made


def test_volume_is_asked_for_and_given_up_after_a_while() -> None:
    """The claim is told the node; when no volume comes the pod is given back, and the claim is free again.

    While it lasts liveness knows of it: a wait that outlives its patience by far is stuck.
    """
    api, failed, now = FakeApi(), [], [0.0]
    made = with_claim(api)
    (outcome,) = decided(made)
    ((waiting, place),) = outcome.placed
    assert dict(outcome.volumes) == {"data": ""}

    async def story() -> None:
        binder = VolumeBinder(
            Client(api),
            made.storage,
            made.labels_of,
            lambda *_: None,
            lambda who, why: failed.append(why),
            pulse=Pulse(lambda: now[0]),
            patience=5,
        )
        binder.begin(waiting, place, outcome.volumes)
        await asyncio.sleep(0)
        now[0] = 5.0 + CALL_SECONDS
        assert binder.pulse.stuck() == []
        now[0] += 1.0
        assert binder.pulse.stuck() == ["volumes"]
        assert made.storage.demand(waiting).open[0].node == place
        await asyncio.sleep(6)
        assert binder.pulse.stuck() == []

    run(story())
    written = api.find(PERSISTENT_VOLUME_CLAIMS, "data", namespace="shop")
    assert written["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == place
    assert failed == ["volumes were not bound within 5 s"]


def test_volume_that_cannot_be_read_gives_the_pod_back() -> None:
    """Its pod would count on the node for good, and wait for nothing."""
    api, failed = FakeApi(), []
    made = with_claim(api)
    (outcome,) = decided(made)
    ((waiting, place),) = outcome.placed
    odd = {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Like"}]}]}}
    body = {"metadata": {"name": "v", "uid": "v"}, "spec": {"nodeAffinity": odd}}
    made.storage.volumes["", "v"] = msgspec.convert(body, PersistentVolume)
    claim = {
        "metadata": {**CLAIM["metadata"], "annotations": {BIND_COMPLETED: "yes"}},
        "spec": {**CLAIM["spec"], "volumeName": "v"},
    }
    stored = api.put(PERSISTENT_VOLUME_CLAIMS, claim)
    made.storage.claims["shop", "data"] = msgspec.convert(stored, PersistentVolumeClaim)

    async def story() -> None:
        binder = VolumeBinder(
            Client(api),
            made.storage,
            made.labels_of,
            lambda *_: None,
            lambda who, why: failed.append(why),
            pulse=Pulse(lambda: 0.0),
            patience=5,
        )
        binder.begin(waiting, place, outcome.volumes)
        await asyncio.sleep(6)

    run(story())
    assert len(failed) == 1
    assert "Like" in failed[0]


def not_bound(api: FakeApi, *, may: bool = True) -> list[KubeError | str]:
    """What is told of a pod whose bind does not come through."""
    failed: list[KubeError | str] = []

    async def story() -> None:
        binder = Binder(Client(api), lambda who, why: failed.append(why), may=lambda: may)
        binder.bind(pod("p"), "n1")
        task = asyncio.create_task(binder.outbox.run())
        await asyncio.sleep(600)
        await binder.outbox.drain()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(story())
    return failed


def test_bind_is_not_sent_by_one_who_no_longer_leads() -> None:
    """What was decided before the lease was lost goes back to waiting."""
    assert not_bound(FakeApi(), may=False) == ["this instance no longer leads"]


def test_bind_that_fails_is_told_as_the_error_that_it_is() -> None:
    """Not as its words: the log thins what is about a server that is away."""
    api = FakeApi()
    api.cut(method="POST", path="p/binding", times=999)
    (why,) = not_bound(api)
    assert isinstance(why, UnansweredError)
