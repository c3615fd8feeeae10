"""What matters of a binding: the digest, and the question without the clusters that are filtered out."""

from dataclasses import replace

import pytest

from fairlead.kube.manifests.fleet import binding_ask
from fairlead.kube.objects.affinity import Taint
from fairlead.kube.objects.karmada import (
    Cluster,
    ClusterAffinity,
    ClusterSpec,
    Placement,
    ReplicaScheduling,
    ResourceBinding,
    ResourceBindingSpec,
    ResourceSummary,
)
from fairlead.kube.objects.karmada import ClusterStatus as Status
from fairlead.kube.objects.meta import ObjectMeta
from fairlead.levels.fleet.batch import divide_all
from fairlead.levels.fleet.divide import divide
from fairlead.live.fleet.digest import SETTLED, SHORT, digest, narrowed
from fairlead.model.division import DivisionAsk


def fleet(**labels: str) -> list[Cluster]:
    """Four clusters: the third repels, the fourth is excluded by the policy."""
    repels = ClusterSpec(taints=(Taint(key="k", effect="NoSchedule"),))
    return [
        Cluster(metadata=ObjectMeta(name=f"m{n}", labels=labels), spec=repels if n == 3 else ClusterSpec())
        for n in range(1, 5)
    ]


def bound(replicas: int, name: str = "web") -> ResourceBinding:
    placement = Placement(cluster_affinity=ClusterAffinity(exclude=("m4",)), replica_scheduling=ReplicaScheduling())
    return ResourceBinding(
        metadata=ObjectMeta(name=name, namespace="shop"),
        spec=ResourceBindingSpec(replicas=replicas, placement=placement),
    )


def text(binding: ResourceBinding, clusters: list[Cluster], kind: str = SETTLED) -> str:
    return digest(binding, binding_ask(binding, clusters), {"m1": 3, "m2": 2}, kind)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (list(reversed(fleet())), True),
        (fleet(color="red"), True),
        ([each for each in fleet() if each.metadata.name != "m4"], True),
        ([each for each in fleet() if each.metadata.name != "m2"], False),
    ],
)
def test_digest_sees_only_clusters_that_take_part(other: list[Cluster], same: bool) -> None:
    """Order, labels nobody asks for and clusters that are filtered out do not matter; one that takes part does."""
    assert (text(bound(5), fleet()) == text(bound(5), other)) is same


def test_digest_sees_replicas_and_room_only_where_it_is_short() -> None:
    """Other replicas are another question; other room is one only for a binding that is short of it."""
    summary = ResourceSummary(allocatable={"pods": "9"})
    roomy = [
        Cluster(metadata=each.metadata, spec=each.spec, status=Status(resource_summary=summary)) for each in fleet()
    ]
    assert text(bound(5), fleet()) != text(bound(6), fleet())
    assert text(bound(5), fleet()) == text(bound(5), roomy)
    assert text(bound(5), fleet(), SHORT) != text(bound(5), roomy, SHORT)


def test_narrowed_questions_have_the_same_answers() -> None:
    """Without the clusters that do not pass, alone or many together: the same replicas everywhere."""
    asks: list[DivisionAsk] = []
    for number in range(40):
        ask = binding_ask(bound(number, f"web-{number}"), fleet())
        asks.append(replace(ask, workload=replace(ask.workload, uid=f"u{number}")))
    together = divide_all([narrowed(ask) for ask in asks])
    for ask, division in zip(asks, together, strict=True):
        whole = divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)
        assert {name: n for name, n in whole.placements.items() if n} == {
            name: n for name, n in division.placements.items() if n
        }
        assert whole.chosen == division.chosen == ("m1", "m2")
