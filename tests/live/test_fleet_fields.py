"""Fields of bindings beyond the common ones: obeyed, or named in the condition or the sentence; never passed over."""

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.kube.client import Client
from fairlead.kube.codec.decided import running
from fairlead.kube.objects.karmada import KarmadaCluster
from fairlead.kube.resources import CLUSTERS, RESOURCE_BINDINGS
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.fleet.decide import decide
from fairlead.live.fleet.report import spec_patch
from fairlead.live.runtime.elected import Instance
from tests.fake import FakeApi
from tests.live.bindings import binding as shaped
from tests.live.bindings import cluster, written
from tests.live.test_fleet import NAMES, Stage, binding, placement, play

ONE = {"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1}]}


def grouped(name: str, where: dict[str, Any], **groups: str) -> dict[str, Any]:
    """A binding that is in workload affinity groups."""
    return binding(name, 2, placement=where, workloadAffinityGroups=groups)


def test_workloads_of_an_affinity_group_go_where_the_first_one_is() -> None:
    """The first goes where it likes, the others follow, also where all come at once; other namespaces do not count."""

    async def act(api: FakeApi) -> None:
        for name in ("a", "b", "c"):
            api.put(RESOURCE_BINDINGS, grouped(name, ONE, affinityGroup="app=x"))
        api.put(RESOURCE_BINDINGS, grouped("any", {}, affinityGroup="app=x"))
        stage = Stage(api)
        await stage.quiet()
        assert stage.counts("a") == stage.counts("b") == stage.counts("c") == stage.counts("any") == {"m1": 2}
        away = {**grouped("other", {}, affinityGroup="app=x")}
        away["metadata"]["namespace"] = "elsewhere"
        api.put(RESOURCE_BINDINGS, away)
        await stage.quiet()
        found = api.find(RESOURCE_BINDINGS, "other", namespace="elsewhere")
        assert found is not None
        assert len(found["spec"]["clusters"]) == len(NAMES)
        await stage.stop()

    play(act)


def test_workloads_of_an_anti_affinity_group_keep_apart() -> None:
    """Four on four clusters; the fifth waits with a reason, and comes where one of them leaves."""

    async def act(api: FakeApi) -> None:
        for number in range(5):
            api.put(RESOURCE_BINDINGS, grouped(f"b{number}", ONE, antiAffinityGroup="app=x"))
        stage = Stage(api)
        await stage.quiet()
        held = [tuple(stage.counts(f"b{number}")) for number in range(5)]
        assert sorted(held) == [(), ("m1",), ("m2",), ("m3",), ("m4",)]
        last = f"b{held.index(())}"
        assert stage.condition(last)["message"] == (
            "0/4 clusters are available: 4 cluster(s) held a workload of the same anti-affinity group."
        )
        gone = next(number for number, names in enumerate(held) if names)
        api.remove(RESOURCE_BINDINGS, f"b{gone}", namespace="shop")
        await stage.quiet()
        assert tuple(stage.counts(last)) == held[gone]
        await stage.stop()

    play(act)


def on_m1(name: str, group: str) -> dict[str, Any]:
    """A binding that may be on one cluster only, beside none of its group."""
    return grouped(name, {**ONE, "clusterAffinity": {"clusterNames": ["m1"]}}, antiAffinityGroup=group)


@pytest.mark.parametrize("change", [{"schedulerName": "default-scheduler"}, {"suspension": {"scheduling": True}}])
def test_binding_that_was_taken_away_while_it_was_written_keeps_none_of_its_group_away(change: dict[str, Any]) -> None:
    """It never got the cluster that was decided, so the others need not wait for that until the next start."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, on_m1("web", "app=x"))
        stage = Stage(api)
        write = stage.fleet.writer._write

        async def slowly(*given: Any) -> Any:
            await asyncio.sleep(1)
            return await write(*given)

        stage.fleet.writer._write = slowly  # type: ignore[method-assign]
        await asyncio.sleep(0.5)
        stage.change("web", **change)
        api.put(RESOURCE_BINDINGS, on_m1("other", "app=x"))
        await stage.quiet()
        assert (stage.counts("web"), stage.counts("other")) == ({}, {"m1": 2})
        await stage.stop()

    play(act)


@pytest.mark.parametrize("groups", [{"antiAffinityGroup": "app=y"}, None])
def test_binding_that_leaves_its_anti_affinity_group_makes_way_for_the_others(groups: dict[str, str] | None) -> None:
    """The one that waits is looked at, whether the first is in another group now or in none."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, on_m1("web", "app=x"))
        stage = Stage(api)
        await stage.quiet()
        api.put(RESOURCE_BINDINGS, on_m1("other", "app=x"))
        await stage.quiet()
        assert (stage.counts("web"), stage.counts("other")) == ({"m1": 2}, {})
        stage.change("web", workloadAffinityGroups=groups)
        await stage.quiet()
        assert (stage.counts("web"), stage.counts("other")) == ({"m1": 2}, {"m1": 2})
        await stage.stop()

    play(act)


def test_higher_schedule_priority_is_written_first() -> None:
    """Of bindings that come together."""

    async def act(api: FakeApi) -> None:
        for name, priority in (("a", 0), ("b", 7), ("c", -1), ("d", 5)):
            api.put(RESOURCE_BINDINGS, binding(name, schedulePriority={"priority": priority}))
        stage = Stage(api)
        await stage.quiet()
        sent = [path.split("/")[-1] for method, path in stage.api.calls if method == "PATCH"]
        assert [name for name in sent if name != "status"] == ["b", "d", "a", "c"]
        await stage.stop()

    play(act)


def room(cpu: str) -> dict[str, Any]:
    return {"resourceSummary": {"allocatable": {"pods": "9", "cpu": cpu}, "allocated": {"cpu": "1"}}}


def components(*pairs: tuple[int, str]) -> list[dict[str, Any]]:
    return [
        {"name": f"c{place}", "replicas": n, "replicaRequirements": {"resourceRequest": {"cpu": cpu}}}
        for place, (n, cpu) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (components((1, "1"), (4, "500m")), {"m1", "m2"}),
        (components((1, "1"), (4, "1")), {"m2"}),
        (components((5, "1m"), (5, "1m")), set()),
        (components((9, "100m")), {"m1", "m2"}),
        (components((9, "4")), set()),
    ],
)
def test_set_of_components_goes_where_there_is_room_for_the_whole(given: list[dict[str, Any]], want: set[str]) -> None:
    """Their requests and their pods in sum, of a lone component too."""
    clusters: list[KarmadaCluster] = [cluster("m1", **room("4")), cluster("m2", **room("9"))]
    found = shaped("train", {}, components=given)
    (verdict,) = decide([found], clusters)
    assert set(running(written(verdict))) == want
    if not want:
        assert "2 cluster(s) did not have room for all components together" in verdict.message


def test_set_of_components_goes_only_where_nodes_hold_its_largest() -> None:
    """Eight cores on nodes of two each: by the sums the set fits, by the grades it does not."""
    status = {**room("9")["resourceSummary"], "allocatableModelings": [{"grade": 1, "count": 4}]}
    models = [{"grade": 1, "ranges": [{"name": "cpu", "min": "2"}]}]
    body = {"metadata": {"name": "m1"}, "spec": {"resourceModels": models}, "status": {"resourceSummary": status}}
    graded = msgspec.convert(body, KarmadaCluster)
    (fits,) = decide([shaped("train", {}, components=components((1, "2"), (3, "1")))], [graded])
    assert fits.counts == {"m1": 0}
    (large,) = decide([shaped("train", {}, components=components((1, "3"), (3, "1")))], [graded])
    assert "1 cluster(s) did not have room for all components together" in large.message


def test_set_of_components_beside_replicas_is_refused_by_name() -> None:
    """Karmada has one or the other."""
    (verdict,) = decide([shaped("train", {}, 3, components=components((1, "1"), (1, "1")))], [cluster("m1")])
    assert verdict.reason == "SchedulerError"
    assert "spec.components" in verdict.message


def test_overflow_holds_beside_spread_constraints() -> None:
    """One cluster at most: the preferred one, also where the other has more room."""
    group = {"affinityName": "a", "clusterNames": ["m1"], "overflowAffinities": [{"clusterNames": ["m2"]}]}
    dynamic = {"replicaSchedulingType": "Divided", "weightPreference": {"dynamicWeight": "AvailableReplicas"}}
    where = {**ONE, "clusterAffinities": [group], "replicaScheduling": dynamic}
    (verdict,) = decide([shaped("web", where, 3)], [cluster("m1", **room("9")), cluster("m2", **room("90"))])
    assert verdict.counts == {"m1": 3}


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ({"replicaSchedulingType": "Other"}, "replicaSchedulingType: 'Other'; expected Divided or Duplicated"),
        ({"replicaDivisionPreference": "X"}, "replicaDivisionPreference: 'X'; expected Weighted or Aggregated"),
        ({"weightPreference": {"dynamicWeight": "Y"}}, "dynamicWeight: 'Y'; expected AvailableReplicas"),
    ],
)
def test_unknown_word_of_a_scheduling_block_is_refused_by_name(block: dict[str, Any], told: str) -> None:
    """With what is expected instead."""
    (verdict,) = decide([shaped("web", {"replicaScheduling": block}, 3)], [cluster("m1")])
    assert (verdict.reason, verdict.counts) == ("SchedulerError", None)
    assert verdict.message.endswith(told)


def test_set_of_components_on_one_cluster_is_told_with_the_target() -> None:
    """As karmada-scheduler records it: only where the placement asks for exactly one, and again when they change."""
    given = components((1, "1"), (4, "500m"))
    exactly = {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]}
    (verdict,) = decide([shaped("train", exactly, components=given)], [cluster("m1", **room("9"))])
    patch = spec_patch(verdict, field=False)
    parts = [{"name": "c0", "replicas": 1}, {"name": "c1", "replicas": 4}]
    assert patch is not None
    assert patch["spec"] == {"clusters": [{"name": "m1", "components": parts}]}
    decided = written(verdict)
    (again,) = decide([decided], [cluster("m1", **room("9"))])
    assert again.kept
    more = shaped("train", {}, components=components((2, "1"), (4, "1m"))).spec.components
    larger = msgspec.structs.replace(decided.spec, components=more)
    (third,) = decide([msgspec.structs.replace(decided, spec=larger)], [cluster("m1", **room("9"))])
    patch = spec_patch(third, field=False)
    assert patch is not None
    assert patch["spec"]["clusters"][0]["components"][0] == {"name": "c0", "replicas": 2}
    (anywhere,) = decide([shaped("train", {}, components=given)], [cluster("m1", **room("9"))])
    assert anywhere.components == ()


def test_fields_of_a_placement_that_are_not_known_are_told() -> None:
    """By path, where they say something."""
    where = {
        "someDay": 1,
        "empty": [],
        "clusterAffinities": [{"affinityName": "a", "newer": {"x": 1}}],
        "replicaScheduling": {"replicaSchedulingType": "Duplicated", "odd": True},
    }
    (verdict,) = decide([shaped("web", where, 3)], [cluster("m1")])
    assert verdict.success
    told = "fields of the placement that are not known here: someDay, clusterAffinities[0].newer, replicaScheduling.odd"
    assert verdict.note.endswith(told)


def test_a_new_start_triggered_beyond_the_last_year_ends_with_its_binding() -> None:
    """It is a time by its form, and in UTC it is one that nobody can write; others are scheduled all the same."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("odd", rescheduleTriggeredAt="9999-12-31T23:59:59-23:59"))
        api.put(RESOURCE_BINDINGS, binding("web"))
        stage = Stage(api)
        await stage.quiet()
        assert not stage.task.done()
        assert sum(stage.counts("web").values()) == 6
        assert "rescheduleTriggeredAt" in stage.condition("odd")["message"]
        await stage.stop()

    play(act)


@pytest.mark.parametrize("change", [{"schedulerName": "default-scheduler"}, {"suspension": {"scheduling": True}}])
def test_binding_that_is_ours_no_longer_is_not_told_as_waiting(change: dict[str, Any]) -> None:
    """It was given to another scheduler, or suspended, before there was a place for it."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web", placement={"clusterAffinity": {"clusterNames": ["none"]}}))
        stage = Stage(api)
        await stage.quiet()
        waiting = stage.fleet.measures.registry.get_sample_value
        assert waiting("fairlead_fleet_waiting_bindings") == 1
        stage.change("web", **change)
        await stage.quiet()
        assert waiting("fairlead_fleet_waiting_bindings") == 0
        assert stage.fleet.decisions() == {"decisions": []}
        await stage.stop()

    play(act)


@pytest.mark.parametrize("change", [{"schedulerName": "default-scheduler"}, {"suspension": {"scheduling": True}}])
def test_binding_that_is_taken_away_before_its_refusal_is_written_is_told_nothing(change: dict[str, Any]) -> None:
    """The condition is another scheduler's by now, or nobody's."""

    async def act(api: FakeApi) -> None:
        placement = {
            "replicaScheduling": {
                "replicaSchedulingType": "Divided",
                "weightPreference": {"dynamicWeight": "AvailableReplicas"},
            }
        }
        api.put(RESOURCE_BINDINGS, binding("web", placement=placement))
        stage = Stage(api)
        api.before(lambda: stage.change("web", **change), method="PATCH", path="/web/status")
        await stage.quiet()
        assert stage.condition("web") == {}
        await stage.stop()

    play(act)


def test_instance_that_leads_no_longer_tells_of_no_bindings() -> None:
    """Alert and dashboard take the highest of all instances, and what was known when the lead was lost is old."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web", placement={"clusterAffinity": {"clusterNames": ["none"]}}))
        leads = [True]
        fleet = Fleet(Instance(Client(api), leads=lambda: leads[0]), FleetOptions())
        task = asyncio.create_task(fleet.run())
        await asyncio.sleep(5)
        told, names = fleet.measures.registry.get_sample_value, ("waiting_bindings", "bindings")
        assert [told(f"fairlead_fleet_{name}") for name in names] == [1, 1]
        leads[0] = False
        assert [told(f"fairlead_fleet_{name}") for name in names] == [0, 0]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(act)


def test_nothing_is_decided_while_clusters_are_not_served() -> None:
    """The aggregated API server is away: the clusters are unknown, not gone."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        api.put(RESOURCE_BINDINGS, binding("settings", 0, placement={}))
        stage = Stage(api)
        await stage.quiet()
        before = stage.patches()
        api.stop_serving(CLUSTERS)
        await stage.quiet()
        stage.change("web", replicas=9)
        await stage.quiet()
        assert stage.patches() == before
        api.serve(CLUSTERS)
        await stage.quiet()
        assert sum(stage.counts("web").values()) == 9
        assert len(stage.find("settings")["spec"]["clusters"]) == len(NAMES)
        await stage.stop()

    play(act)


def test_other_writers_that_are_faster_many_times_delay_a_step_by_moments() -> None:
    """Twelve conflicts in a row, as while Karmada's controllers report status: each is answered on what they wrote."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        stage = Stage(api)
        await stage.quiet()

        def rival() -> None:
            found = stage.find("web")
            status = {**found["status"], "aggregatedStatus": [{"clusterName": "m1", "n": len(api.calls)}]}
            api.put(RESOURCE_BINDINGS, {**found, "status": status})

        api.before(rival, method="PATCH", path="resourcebindings/web", times=12)
        stage.change("web", replicas=7)
        await asyncio.sleep(5)
        assert sum(stage.counts("web").values()) == 7
        await stage.stop()

    play(act)


def test_policy_knobs_of_a_missing_policy_are_the_defaults() -> None:
    """A binding that names a policy that is gone is placed by its own placement."""

    async def act(api: FakeApi) -> None:
        named = {"propagationpolicy.karmada.io/name": "gone"}
        api.put(RESOURCE_BINDINGS, binding("web", annotations=named, placement=placement()))
        stage = Stage(api)
        await stage.quiet()
        assert stage.condition("web")["reason"] == "Success"
        await stage.stop()

    play(act)
