"""Nothing leaves a cluster that was not asked to leave: what runs stays through taints, outages and silence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.objects.karmada import Cluster, ResourceBinding
from fairlead.live.fleet.decide import decide, running
from tests.live.bindings import binding, cluster, with_spec, written

NAMES = ("m1", "m2", "m3", "m4")
DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
PLACEMENTS: dict[str, tuple[dict[str, Any], int]] = {
    "no replicas": ({}, 0),
    "no replicas, two clusters": ({"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 2}]}, 0),
    "duplicated": ({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}}, 3),
    "static": ({"replicaScheduling": DIVIDED}, 6),
    "dynamic": ({"replicaScheduling": {**DIVIDED, "weightPreference": {"dynamicWeight": "AvailableReplicas"}}}, 6),
    "aggregated": ({"replicaScheduling": {**DIVIDED, "replicaDivisionPreference": "Aggregated"}}, 6),
}


def decided(found: ResourceBinding, clusters: list[Cluster]) -> ResourceBinding:
    """The binding after one look at it."""
    (verdict,) = decide([found], clusters)
    return found if verdict is None else written(verdict)


def placed(kind: str) -> ResourceBinding:
    """A binding of this kind on clusters that are well."""
    placement, replicas = PLACEMENTS[kind]
    found = decided(binding("web", placement, replicas), [cluster(name) for name in NAMES])
    assert running(found)
    return found


@pytest.mark.parametrize("kind", PLACEMENTS)
def test_target_that_is_tainted_no_schedule_stays(kind: str) -> None:
    """A member that is not ready for a while keeps everything; others get nothing in its place."""
    before = placed(kind)
    for name in NAMES:
        clusters = [cluster(each, *(("NoSchedule",) if each == name else ())) for each in NAMES]
        assert running(decided(before, clusters)) == running(before)


def test_object_without_replicas_does_not_go_to_a_tainted_cluster() -> None:
    """The taint still keeps away what is not there yet."""
    clusters = [cluster("m1"), cluster("m2", "NoSchedule")]
    assert running(decided(binding("settings", {}), clusters)) == {"m1": 0}


SUMMARY = {"allocatable": {"pods": "20", "cpu": "8"}, "allocated": {"pods": "19"}}


@st.composite
def fleets(draw: st.DrawFn) -> list[Cluster]:
    """The four clusters, some tainted, some without a word about their room."""
    return [
        cluster(
            name,
            *draw(st.sampled_from(((), (), ("NoSchedule",), ("PreferNoSchedule",)))),
            **draw(st.sampled_from(({}, {"resourceSummary": SUMMARY}, {"resourceSummary": {}}))),
        )
        for name in NAMES
    ]


@given(kind=st.sampled_from(tuple(PLACEMENTS)), story=st.lists(st.tuples(fleets(), st.integers(0, 2)), max_size=6))
def test_no_target_leaves_unless_it_was_asked_to(kind: str, story: list[tuple[list[Cluster], int]]) -> None:
    """Taints that keep new things away, lost reports, more replicas: whatever held the workload holds it still."""
    found = placed(kind)
    for clusters, more in story:
        before = set(running(found))
        if found.spec.replicas:
            found = with_spec(found, replicas=found.spec.replicas + more)
        found = decided(found, clusters)
        assert before <= set(running(found))
