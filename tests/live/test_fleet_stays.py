"""Nothing leaves a cluster that was not asked to leave: what runs stays through taints, outages and silence."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.decided import running
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.kube.resources import CLUSTERS, RESOURCE_BINDINGS
from fairlead.live.fleet.decide import decide
from tests.fake import FakeApi
from tests.live.bindings import binding, cluster, with_spec, written
from tests.live.test_fleet import Stage, play
from tests.live.test_fleet import binding as api_binding

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


ROOMY = {"allocatable": {"pods": "20", "cpu": "8"}}
LACKING = {"apiEnablements": [{"groupVersion": "v1", "resources": [{"kind": "Secret"}]}]}


def decided(found: ResourceBinding, clusters: list[KarmadaCluster]) -> ResourceBinding:
    """The binding after one look at it."""
    (verdict,) = decide([found], clusters)
    return written(verdict)


def placed(kind: str) -> ResourceBinding:
    """A binding of this kind on clusters that are well."""
    placement, replicas = PLACEMENTS[kind]
    found = decided(binding("web", placement, replicas), [cluster(name, resourceSummary=ROOMY) for name in NAMES])
    assert running(found)
    return found


@pytest.mark.parametrize("effect", ["NoSchedule", "NoExecute"])
@pytest.mark.parametrize("kind", PLACEMENTS)
def test_target_that_is_tainted_stays(kind: str, effect: str) -> None:
    """A member that is not ready for a while keeps everything; whether it must go is for the taint manager to say."""
    before = placed(kind)
    for name in NAMES:
        clusters = [cluster(each, *((effect,) if each == name else ())) for each in NAMES]
        assert running(decided(before, clusters)) == running(before)


@pytest.mark.parametrize("kind", PLACEMENTS)
def test_eviction_task_is_followed_and_its_cluster_not_chosen_again(kind: str) -> None:
    """The taint manager takes a target out and adds a task: the rest is filled up, the cluster gets nothing."""
    before = placed(kind)
    counts = running(before)
    gone = sorted(counts)[-1]
    left = [{"name": name, **({"replicas": n} if n else {})} for name, n in counts.items() if name != gone]
    task = {"fromCluster": gone, "producer": "TaintManager", "reason": "TaintUntolerated"}
    clusters = [cluster(each, *(("NoExecute",) if each == gone else ()), resourceSummary=ROOMY) for each in NAMES]
    after = running(decided(with_spec(before, clusters=left, gracefulEvictionTasks=[task]), clusters))
    assert gone not in after
    assert all(after.get(name, 0) >= n for name, n in counts.items() if name != gone)
    if kind in ("static", "dynamic", "aggregated"):
        assert sum(after.values()) == before.spec.replicas


def test_kind_that_a_member_does_not_serve_is_not_sent_there_and_current_targets_stay() -> None:
    """A list without the kind, complete or not, keeps new things away and takes nothing back."""
    apis = {"apiEnablements": [{"groupVersion": "v1", "resources": [{"kind": "ConfigMap"}]}]}
    lacking = {"apiEnablements": [{"groupVersion": "v1", "resources": [{"kind": "Secret"}]}]}
    incomplete = {"conditions": [{"type": "CompleteAPIEnablements", "status": "False"}]}
    found = binding("settings", {}, resource={"apiVersion": "v1", "kind": "ConfigMap", "name": "settings"})
    clusters = [cluster("m1", **apis), cluster("m2", **lacking), cluster("m3", **incomplete), cluster("m4")]
    before = decided(found, clusters)
    assert running(before) == {"m1": 0, "m4": 0}
    assert running(decided(before, [cluster("m1", **lacking), cluster("m4", **incomplete)])) == {"m1": 0, "m4": 0}


def test_object_without_replicas_does_not_go_to_a_tainted_cluster() -> None:
    """The taint still keeps away what is not there yet."""
    clusters = [cluster("m1"), cluster("m2", "NoSchedule")]
    assert running(decided(binding("settings", {}), clusters)) == {"m1": 0}


SUMMARY = {"allocatable": {"pods": "20", "cpu": "8"}, "allocated": {"pods": "19"}}


@st.composite
def fleets(draw: st.DrawFn) -> list[KarmadaCluster]:
    """The four clusters and one that comes and goes, some tainted, some without a word about room or kinds."""
    return [
        cluster(
            name,
            *draw(st.sampled_from(((), (), ("NoSchedule",), ("PreferNoSchedule",), ("NoExecute",)))),
            **draw(st.sampled_from(({}, {"resourceSummary": SUMMARY}, {"resourceSummary": {}}, LACKING))),
        )
        for name in (*NAMES, *draw(st.sampled_from(((), ("m5",)))))
    ]


@given(kind=st.sampled_from(tuple(PLACEMENTS)), story=st.lists(st.tuples(fleets(), st.integers(0, 2)), max_size=6))
def test_no_target_leaves_unless_it_was_asked_to(kind: str, story: list[tuple[list[KarmadaCluster], int]]) -> None:
    """Taints of any effect, lost reports, joins, more replicas: whatever held the workload holds it still."""
    found = placed(kind)
    for clusters, more in story:
        # A cluster that is gone is another matter.
        before = set(running(found)) & {each.metadata.name for each in clusters}
        if found.spec.replicas:
            found = with_spec(found, replicas=found.spec.replicas + more)
        found = decided(found, clusters)
        assert before <= set(running(found))


def test_targets_on_a_cluster_that_cannot_be_read_stay_and_nothing_new_comes() -> None:
    """From the first list on: the cluster is there, whatever it is."""

    async def act(api: FakeApi) -> None:
        api.put(CLUSTERS, {"metadata": {"name": "m2"}, "spec": {"taints": "not a list", "region": "eu"}})
        eu = {"clusterAffinity": {"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "Exists"}]}}}
        targets = [{"name": name} for name in ("m1", "m2")]
        api.put(RESOURCE_BINDINGS, api_binding("held", 0, placement={}, clusters=targets))
        api.put(RESOURCE_BINDINGS, api_binding("chosen", 0, placement=eu, clusters=[{"name": "m2"}]))
        api.put(RESOURCE_BINDINGS, api_binding("new", 0, placement={}))
        stage = Stage(api)
        await stage.quiet()
        assert set(stage.counts("held")) == {"m1", "m2", "m3", "m4"}
        assert set(stage.counts("chosen")) == {"m2"}
        assert set(stage.counts("new")) == {"m1", "m3", "m4"}
        api.put(CLUSTERS, {"metadata": {"name": "m2"}, "spec": {}})
        await stage.quiet()
        assert set(stage.counts("new")) == {"m1", "m2", "m3", "m4"}
        await stage.stop()

    play(act)
