"""When a binding is decided again, and when not: what was decided stands until something asks for a new decision."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from fairlead.kube.codec.decided import ANNOTATION, APPLIED, is_applied, running
from fairlead.kube.codec.fleet import binding_ask
from fairlead.kube.objects.karmada import KarmadaCluster, ResourceBinding
from fairlead.levels.fleet.batch import divide_all, narrowed
from fairlead.levels.fleet.divide import divide
from fairlead.live.fleet import report
from fairlead.live.fleet.decide import BindingVerdict, decide
from fairlead.model.division import DivisionAsk, Sticky
from fairlead.settings import read_configuration
from tests.live.bindings import binding, cluster, with_annotations, with_spec, written

NAMES = ("m1", "m2", "m3")
STATIC: dict[str, Any] = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
DYNAMIC = {"replicaScheduling": {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}}
FRESH = {"fairlead.io/divide": '{"rescheduling": "fresh"}'}


def fleet(*names: str, **status: Any) -> list[KarmadaCluster]:
    return [cluster(name, **status) for name in names or NAMES]


def looked_at(found: ResourceBinding, clusters: list[KarmadaCluster]) -> BindingVerdict:
    (verdict,) = decide([found], clusters)
    return verdict


def decided(found: ResourceBinding, clusters: list[KarmadaCluster]) -> ResourceBinding:
    return written(looked_at(found, clusters))


def silent(found: ResourceBinding, clusters: list[KarmadaCluster]) -> bool:
    """Whether nothing at all would be written."""
    verdict = looked_at(found, clusters)
    return report.spec_patch(verdict, field=False) is None and report.status_is_right(verdict, field=False)


@pytest.mark.parametrize("placement", [STATIC, DYNAMIC])
def test_divided_binding_is_not_decided_again_when_a_cluster_joins_or_comes_back(placement: dict[str, Any]) -> None:
    """Neither a new cluster nor the end of a taint moves a replica; the next scaling takes them into account."""
    room = {"resourceSummary": {"allocatable": {"pods": "100"}}}
    found = decided(binding("web", placement, 7), fleet("m1", "m2", **room))
    joined = fleet("m1", "m2", "m3", **room)
    assert silent(found, joined)
    scaled = decided(with_spec(found, replicas=10), joined)
    assert running(scaled)["m3"] > 0


def test_object_without_replicas_and_duplicates_are_extended_to_a_cluster_that_joins() -> None:
    """As karmada-scheduler does."""
    for found in (binding("settings", {}), binding("web", {}, 3)):
        before = decided(found, fleet("m1", "m2"))
        assert set(running(decided(before, fleet("m1", "m2", "m3")))) == {"m1", "m2", "m3"}


def test_edit_of_clusters_by_hand_is_left_alone_while_the_replicas_add_up() -> None:
    """Only the observed generation is written; a rebalance divides afresh."""
    found = decided(binding("web", STATIC, 6), fleet())
    edited = with_spec(found, clusters=[{"name": "m1", "replicas": 6}])
    verdict = looked_at(edited, fleet())
    assert report.spec_patch(verdict, field=False) is None
    patch = report.status_patch(verdict, report.as_found(edited), edited.metadata.generation, 2e9, field=False)
    assert patch["status"] == {"schedulerObservedGeneration": edited.metadata.generation}
    rebalanced = with_spec(written(verdict), rescheduleTriggeredAt="2031-01-01T00:00:00Z")
    after = decided(rebalanced, fleet())
    assert running(after) == {"m1": 2, "m2": 2, "m3": 2}
    assert silent(after, fleet())


def test_trigger_of_a_clock_that_is_ahead_is_answered_once() -> None:
    """The time of the decision is never before the trigger, so it is not fresh for ever."""
    found = decided(binding("web", STATIC, 6), fleet())
    verdict = looked_at(with_spec(found, rescheduleTriggeredAt="2040-01-01T00:00:00Z"), fleet())
    after = written(verdict, now=1.8e9)
    assert after.status.last_scheduled_time == "2040-01-01T00:00:00Z"
    assert silent(after, fleet())


def test_result_of_karmada_scheduler_is_taken_over_without_a_write() -> None:
    """Its annotation and its clusters are a prior like our own, whatever the weights would say."""
    found = binding(
        "web",
        {**STATIC, "clusterAffinity": {"clusterNames": list(NAMES), "exclude": []}},
        7,
        clusters=[{"name": "m1", "replicas": 4}, {"name": "m2", "replicas": 2}, {"name": "m3", "replicas": 1}],
    )
    body = msgspec.to_builtins(found)
    recorded = {"clusterAffinity": {"clusterNames": list(NAMES)}, **STATIC}
    body["metadata"]["annotations"] = {APPLIED: json.dumps(recorded)}
    condition = {"type": "Scheduled", "status": "True", "reason": "Success"}
    body["status"] = {
        "schedulerObservedGeneration": 1,
        "lastScheduledTime": "2026-01-01T00:00:00Z",
        "conditions": [condition | {"message": "Binding has been scheduled successfully."}],
    }
    assert silent(msgspec.convert(body, ResourceBinding), fleet())


def test_sticky_of_the_configuration_holds_where_no_knob_says_otherwise() -> None:
    """For bindings and in plans; to change it moves nothing that stands."""
    for sticky in Sticky:
        assert binding_ask(binding("web", STATIC, 6), fleet(), sticky=sticky).policy.sticky is sticky
        own = with_annotations(binding("web", STATIC, 6), {"fairlead.io/divide": '{"sticky": "none"}'})
        assert binding_ask(own, fleet(), sticky=sticky).policy.sticky is Sticky.NONE
    assert binding_ask(binding("web", STATIC, 6), fleet()).policy.sticky is Sticky.MOST
    found = decided(binding("web", STATIC, 7), fleet())
    (verdict,) = decide([found], fleet(), sticky=Sticky.NONE)
    assert verdict.kept
    text = b"apiVersion: fairlead.io/v1alpha1\nkind: Configuration\nfleet: {sticky: seed}\n"
    assert read_configuration(text, "file").plan_settings().sticky is Sticky.SEED


def test_placement_is_recorded_whole() -> None:
    """Fields that our shapes do not have, and the seconds of tolerations, are there for Karmada's controllers."""
    placement = {
        "clusterTolerations": [{"key": "drain", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}],
        "workloadAffinity": {"affinity": {"groupByLabelKey": "app"}},
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
        "someDay": {"deep": [1, {"er": "ü"}]},
    }
    found = decided(binding("web", placement, 2), fleet())
    assert found.metadata.annotations[APPLIED] == msgspec.json.encode(placement).decode()
    assert is_applied(found)
    changed = with_spec(found, placement={**placement, "someDay": {"deep": [2]}})
    assert not is_applied(changed)


def test_record_that_cannot_be_read_is_written_anew() -> None:
    """Whatever stands in the annotation."""
    found = decided(binding("web", STATIC, 6), fleet())
    for text in ("", "{", "null", "[]", "[" * 400 + "1" + "]" * 400, "[" * 3000):
        broken = with_annotations(found, {APPLIED: text})
        assert is_applied(decided(broken, fleet()))


def test_knobs_that_change_ask_for_a_new_decision_and_the_default_leaves_no_mark() -> None:
    """The mark stands for what Karmada's fields do not say."""
    found = decided(binding("web", STATIC, 6), fleet())
    assert ANNOTATION not in found.metadata.annotations
    bounded = with_annotations(found, {"fairlead.io/divide": '{"clusters": {"m1": {"max": 1}}}'})
    after = decided(bounded, fleet())
    assert running(after)["m1"] == 1
    assert after.metadata.annotations[ANNOTATION].startswith("s2:")
    assert silent(after, fleet())


def test_fresh_rescheduling_follows_the_clusters() -> None:
    """The policy asks for it: a cluster that joins gets its share at once."""
    found = decided(with_annotations(binding("web", STATIC, 6), FRESH), fleet("m1", "m2"))
    assert silent(found, fleet("m1", "m2"))
    after = decided(found, fleet("m1", "m2", "m3"))
    assert running(after) == {"m1": 2, "m2": 2, "m3": 2}
    assert silent(after, fleet("m1", "m2", "m3"))


def test_binding_placed_in_part_waits_for_other_room() -> None:
    """The same room again is no reason to place more."""
    partial = {"fairlead.io/divide": '{"partial": true}'}
    small = {"resourceSummary": {"allocatable": {"pods": "1"}}}
    found = decided(with_annotations(binding("web", DYNAMIC, 6), partial), fleet(**small))
    assert running(found) == {"m1": 1, "m2": 1, "m3": 1}
    assert silent(found, fleet(**small))
    assert looked_at(found, fleet(**small)).waits_for_room
    after = decided(found, fleet(resourceSummary={"allocatable": {"pods": "2"}}))
    assert sum(running(after).values()) == 6


GROUPS = {
    "clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["m3"]},
        {"affinityName": "second", "clusterNames": ["m1"]},
    ],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}


def test_affinity_group_that_was_taken_stays_until_a_rebalance() -> None:
    """The first group comes back: the workload stays in the second; a rebalance begins with the first."""
    away = [cluster("m1"), cluster("m3", "NoSchedule")]
    found = decided(binding("web", GROUPS, 2), away)
    assert (running(found), found.status.scheduler_observing_affinity_name) == ({"m1": 2}, "second")
    back = fleet("m1", "m3")
    assert silent(found, back)
    after = decided(with_spec(found, rescheduleTriggeredAt="2031-01-01T00:00:00Z"), back)
    assert (running(after), after.status.scheduler_observing_affinity_name) == ({"m3": 2}, "first")


def test_narrowed_questions_have_the_same_answers() -> None:
    """Without the clusters that do not pass, alone or many together: the same replicas everywhere."""
    clusters = [cluster("m1"), cluster("m2"), cluster("m3", "NoSchedule"), cluster("m4")]
    asks: list[DivisionAsk] = []
    for number in range(40):
        found = binding("web", {**STATIC, "clusterAffinity": {"exclude": ["m4"]}}, number)
        ask = binding_ask(found, clusters)
        asks.append(replace(ask, workload=replace(ask.workload, uid=f"u{number}")))
    together = divide_all([narrowed(ask) for ask in asks])
    for ask, division in zip(asks, together, strict=True):
        whole = divide(ask.workload, ask.clusters, ask.policy, prior=ask.prior)
        assert {name: n for name, n in whole.placements.items() if n} == {
            name: n for name, n in division.placements.items() if n
        }
        assert whole.chosen == division.chosen == ("m1", "m2")


def weighted(number: int) -> dict[str, Any]:
    """A policy with one rule, which differs by number."""
    rule = {"targetCluster": {"clusterNames": [NAMES[number % 3]]}, "weight": 1}
    every = {"targetCluster": {"clusterNames": list(NAMES)}, "weight": 1 + number % 2}
    preference = {"replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": [rule, every]}}
    return {"replicaScheduling": {"replicaSchedulingType": "Divided", **preference}}


def test_many_bindings_are_decided_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are divided at once, whatever others of the same policy ask for; one that is broken fails alone."""
    asked = [binding(f"w{number}", weighted(number), 5 + number) for number in range(9)]
    asked[4] = with_spec(asked[4], placement=None)
    asked[5] = with_spec(asked[5], gracefulEvictionTasks=[{"fromCluster": "m1"}])
    asked[6] = with_spec(asked[6], resource={"kind": "Job", "apiVersion": "batch/v1", "name": "w6"})
    served = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment"}]}]
    clusters = [cluster("m1"), cluster("m2"), cluster("m3", apiEnablements=served)]
    alone = [looked_at(each, clusters) for each in asked]
    assert "missing" in alone[4].message
    for together in (1, 4, 1000):
        monkeypatch.setattr("fairlead.live.fleet.decide.TOGETHER", together)
        assert [(each.counts, each.message, each.mark) for each in decide(asked, clusters)] == [
            (each.counts, each.message, each.mark) for each in alone
        ]
