"""The fleet scheduler on a fake API server: what it writes, when it is silent, and how it bears trouble."""

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from fairlead.kube.client import Client
from fairlead.kube.codec.decided import APPLIED
from fairlead.kube.resources import (
    CLUSTER_RESOURCE_BINDINGS,
    CLUSTERS,
    CUSTOM_RESOURCES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
)
from fairlead.live.fleet import decide
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.runtime.elected import Instance
from tests.fake import FakeApi
from tests.kube.virtual import run

NAMES = ("m1", "m2", "m3", "m4")


def placement(**weights: int) -> dict[str, Any]:
    """Static weights, 1 for each of the four clusters unless said otherwise."""
    rules = [
        {"targetCluster": {"clusterNames": [name]}, "weight": weight}
        for name, weight in (weights or dict.fromkeys(NAMES, 1)).items()
    ]
    return {"replicaScheduling": {"weightPreference": {"staticWeightList": rules}}}


def binding(name: str, replicas: int = 6, *, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    resource = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"uid-{name}"}
    body = {"resource": resource, "replicas": replicas, "schedulerName": "fairlead", "placement": placement()}
    return {
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations or {}},
        "spec": {**body, **spec},
    }


class Stage:
    """One instance and the API server it works on."""

    def __init__(self, api: FakeApi, tracer: Any = None, **options: Any) -> None:
        self.api = api
        loop = asyncio.get_running_loop()
        self.fleet = Fleet(
            Instance(Client(api), monotonic=loop.time, wall=lambda: 1_700_000_000.0, tracer=tracer),
            FleetOptions(**options),
        )
        self.task = asyncio.create_task(self.fleet.run())

    async def quiet(self) -> None:
        """Let everything happen that is going to."""
        await asyncio.sleep(120)

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    def find(self, name: str) -> dict[str, Any]:
        found = self.api.find(RESOURCE_BINDINGS, name, namespace="shop")
        assert found is not None
        return found

    def change(self, name: str, **spec: Any) -> None:
        found = self.find(name)
        self.api.put(RESOURCE_BINDINGS, {**found, "spec": {**found["spec"], **spec}})

    def counts(self, name: str) -> dict[str, int]:
        return {each["name"]: each.get("replicas", 0) for each in self.find(name)["spec"].get("clusters", [])}

    def condition(self, name: str) -> dict[str, Any]:
        there = self.find(name).get("status", {}).get("conditions", [])
        return next((each for each in there if each["type"] == "Scheduled"), {})

    def why(self, name: str) -> str:
        """What the page of decisions says of a binding."""
        told = self.fleet.decisions()["decisions"]
        return next(str(each["why"]) for each in told if each["binding"] == f"shop/{name}")

    def patches(self) -> Counter[str]:
        """Patches sent so far, of objects and of their status."""
        sent = [call for call in self.api.calls if call[0] == "PATCH"]
        return Counter("status" if call[1].endswith("/status") else "spec" for call in sent)


def play(act: Callable[[FakeApi], Awaitable[None]]) -> None:
    """Run a story on an API server with four clusters."""

    async def main() -> None:
        api = FakeApi()
        for name in NAMES:
            api.put(CLUSTERS, {"metadata": {"name": name}, "spec": {}})
        await act(api)

    run(main())


def test_binding_gets_its_clusters_and_its_status() -> None:
    """One write of the object, one of the status, conditions of others kept; then silence, labels or not."""

    async def act(api: FakeApi) -> None:
        body = binding("web")
        body["status"] = {"conditions": [{"type": "FullyApplied", "status": "True", "reason": "r", "message": ""}]}
        api.put(RESOURCE_BINDINGS, body)
        stage = Stage(api)
        await stage.quiet()
        found = stage.find("web")
        assert sum(stage.counts("web").values()) == 6
        assert found["status"]["schedulerObservedGeneration"] == found["metadata"]["generation"]
        assert found["status"]["lastScheduledTime"] == "2023-11-14T22:13:20Z"
        assert [each["type"] for each in found["status"]["conditions"]] == ["FullyApplied", "Scheduled"]
        assert stage.condition("web")["message"] == "Binding has been scheduled successfully."
        assert stage.why("web").startswith("6 replicas over 4 clusters: m1 ")
        assert json.loads(found["metadata"]["annotations"][APPLIED]) == placement()
        stored = json.loads(found["metadata"]["annotations"]["fairlead.io/last-schedule-result"])
        assert (stored["replicas"], stored["mode"]) == (6, "static")
        found["metadata"]["labels"] = {"a": "b"}
        api.put(RESOURCE_BINDINGS, found)
        await stage.quiet()
        assert stage.patches() == {"spec": 1, "status": 1}
        await stage.stop()

    play(act)


def test_a_null_in_a_binding_counts_as_absent_after_the_write_too() -> None:
    """What the server sends back after a write is read as a watch reads it: nothing ends, and others go on."""

    async def act(api: FakeApi) -> None:
        odd = binding("odd")
        odd["spec"]["resource"]["apiVersion"] = None
        api.put(RESOURCE_BINDINGS, odd)
        stage = Stage(api)
        await stage.quiet()
        api.put(RESOURCE_BINDINGS, binding("web"))
        await stage.quiet()
        assert not stage.task.done()
        assert [sum(stage.counts(name).values()) for name in ("odd", "web")] == [6, 6]
        await stage.stop()

    play(act)


def test_scale_up_keeps_holders_and_restart_keeps_everything() -> None:
    """6 to 7 replicas takes nothing from anybody, though another process does it."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        stage = Stage(api)
        await stage.quiet()
        await stage.stop()
        before = stage.counts("web")
        again = Stage(api)
        await again.quiet()
        assert again.patches() == {"spec": 1, "status": 1}
        again.change("web", replicas=7)
        await again.quiet()
        after = again.counts("web")
        assert sum(after.values()) == 7
        assert all(after[name] >= had for name, had in before.items())
        assert again.patches() == {"spec": 2, "status": 2}
        await again.stop()

    play(act)


@pytest.mark.parametrize("field", [False, True])
def test_death_between_the_two_writes_draws_nothing_twice(field: bool) -> None:
    """The status write never arrives; the next process completes the status and leaves the clusters alone."""

    async def act(api: FakeApi) -> None:
        if field:
            schema = {"properties": {"status": {"properties": {"lastScheduleResult": {}}}}}
            version = {"name": "v1alpha2", "schema": {"openAPIV3Schema": schema}}
            crd = {"metadata": {"name": "resourcebindings.work.karmada.io"}, "spec": {"versions": [version]}}
            api.put(CUSTOM_RESOURCES, crd)
        api.put(RESOURCE_BINDINGS, binding("web"))
        api.fail(500, method="PATCH", path="/status", times=50)
        stage = Stage(api)
        await asyncio.sleep(1)
        await stage.stop()
        before = stage.counts("web")
        assert sum(before.values()) == 6
        assert stage.condition("web") == {}
        for name in NAMES:
            # Other room by now: a draw would see other odds.
            summary = {"allocatable": {"pods": "1" if name in before else "900"}}
            api.put(CLUSTERS, {"metadata": {"name": name}, "spec": {}, "status": {"resourceSummary": summary}})
        api.faults.rules.clear()
        again = Stage(api)
        await again.quiet()
        assert again.counts("web") == before
        assert again.condition("web")["reason"] == "Success"
        stored = again.find("web")["status"].get("lastScheduleResult")
        annotation = "fairlead.io/last-schedule-result" in again.find("web")["metadata"]["annotations"]
        assert (stored is not None, annotation) == (field, not field)
        await again.stop()

    play(act)


VANISHED = json.dumps(
    {"replicas": 6, "mode": "static", "clusters": [{"name": "gone", "replicas": 5}, {"name": "m1", "replicas": 1}]}
)


@pytest.mark.parametrize(
    ("spec", "reason", "said"),
    [
        ({"placement": None}, "SchedulerError", "spec.placement"),
        ({"placement": placement(m1=2**62)}, "SchedulerError", "weight"),
        ({"placement": placement(m1=0)}, "NoClusterFit", "ZeroWeights"),
        ({"placement": {"clusterAffinity": {"clusterNames": ["x"]}}}, "NoClusterFit", "AffinityMismatch"),
        ({"placement": placement(m1=-1)}, "SchedulerError", "weight"),
        ({"placement": placement(m1=2**40, m2=2**41)}, "Success", "m1 2, m2 4"),
        ({"placement": {"spreadConstraints": [{"spreadByField": "zone"}]}}, "NoClusterFit", "SpreadUnmet"),
        ({"rescheduleTriggeredAt": "soon"}, "SchedulerError", "spec.rescheduleTriggeredAt"),
        ({"annotations": {"fairlead.io/divide": '{"sticky": "very"}'}}, "SchedulerError", "fairlead.io/divide"),
        ({"annotations": {"fairlead.io/last-schedule-result": "?"}}, "SchedulerError", "last schedule result"),
        ({"annotations": {"fairlead.io/last-schedule-result": VANISHED}}, "Success", "6 replicas over 4 clusters"),
        ({"replicas": -1}, "SchedulerError", "spec.replicas"),
        ({"clusters": [{"name": "gone", "replicas": 6}]}, "Success", "6 replicas over 4 clusters"),
    ],
)
def test_bad_binding_is_told_why_and_others_go_on(spec: dict[str, Any], reason: str, said: str) -> None:
    """A reason and a sentence, the clusters as they were; the binding beside it is scheduled."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("bad", **spec))
        api.put(RESOURCE_BINDINGS, binding("good"))
        stage = Stage(api)
        await stage.quiet()
        assert stage.condition("bad")["reason"] == reason
        assert said in stage.why("bad")
        assert stage.condition("good")["reason"] == "Success"
        assert stage.patches()["status"] == 2
        await stage.stop()

    play(act)


def test_without_any_cluster_everybody_waits_and_the_first_cluster_ends_it() -> None:
    """No cluster at all is a reason; one that comes gets everything."""

    async def main() -> None:
        api = FakeApi()
        api.put(RESOURCE_BINDINGS, binding("web", placement={"replicaScheduling": {}}))
        stage = Stage(api)
        await stage.quiet()
        assert stage.condition("web")["reason"] == "NoClusterFit"
        assert "NoClusters" in stage.why("web")
        api.put(CLUSTERS, {"metadata": {"name": "m1"}, "spec": {}})
        await stage.quiet()
        assert stage.counts("web") == {"m1": 6}
        await stage.stop()

    run(main())


def test_balanced_residuals_of_bindings_that_come_together_differ_by_at_most_one() -> None:
    """41 bindings with two residuals each over four equal clusters, as their annotation asks."""

    async def act(api: FakeApi) -> None:
        said = {"fairlead.io/divide": '{"balanceResiduals": true}'}
        for number in range(41):
            api.put(RESOURCE_BINDINGS, binding(f"b{number}", annotations=said))
        stage = Stage(api)
        await stage.quiet()
        held = Counter(name for number in range(41) for name, count in stage.counts(f"b{number}").items() if count == 2)
        assert sorted(held.values()) == [20, 20, 21, 21]
        await stage.stop()

    play(act)


def test_defect_is_counted_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What our own code fails on has a metric of its own, and a condition that blames nobody else."""
    real = decide.binding_ask

    def broken(given: Any, *more: Any) -> Any:
        if given.metadata.name == "bad":
            raise KeyError("made up")
        return real(given, *more)

    monkeypatch.setattr(decide, "binding_ask", broken)

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("bad"))
        api.put(RESOURCE_BINDINGS, binding("good"))
        stage = Stage(api)
        await stage.quiet()
        assert (stage.fleet.registry.get_sample_value("fairlead_fleet_defects_total") or 0) >= 1
        assert stage.condition("bad")["message"].startswith("a defect of the scheduler, not of this binding: KeyError")
        assert stage.condition("good")["reason"] == "Success"
        await stage.stop()

    play(act)


def test_policy_that_matches_no_cluster_takes_the_workload_away() -> None:
    """Its clusters are emptied and the new placement is recorded, as karmada-scheduler does; put right, it returns."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        stage = Stage(api)
        await stage.quiet()
        before = stage.counts("web")
        nowhere = {"clusterAffinity": {"clusterNames": ["x"]}}
        stage.change("web", placement=nowhere)
        await stage.quiet()
        assert "clusters" not in stage.find("web")["spec"]
        assert json.loads(stage.find("web")["metadata"]["annotations"][APPLIED]) == nowhere
        condition = stage.condition("web")
        assert (condition["status"], condition["reason"]) == ("False", "NoClusterFit")
        assert condition["message"] == (
            "0/4 clusters are available: 4 cluster(s) did not match the placement cluster affinity constraint."
        )
        stage.change("web", placement=placement())
        await stage.quiet()
        assert stage.counts("web") == before
        assert stage.condition("web")["status"] == "True"
        assert stage.patches() == {"spec": 3, "status": 3}
        await stage.stop()

    play(act)


def test_refusal_for_lack_of_room_leaves_what_runs() -> None:
    """More replicas than fit: the condition says so and nothing else is written; enough again, the status is right."""

    async def act(api: FakeApi) -> None:
        for name in NAMES:
            summary = {"allocatable": {"pods": "2"}}
            api.put(CLUSTERS, {"metadata": {"name": name}, "spec": {}, "status": {"resourceSummary": summary}})
        dynamic = {"replicaScheduling": {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}}
        api.put(RESOURCE_BINDINGS, binding("web", 4, placement=dynamic))
        stage = Stage(api)
        await stage.quiet()
        before = stage.find("web")
        stage.change("web", replicas=40)
        await stage.quiet()
        after = stage.find("web")
        assert after["spec"]["clusters"] == before["spec"]["clusters"]
        for field in ("schedulerObservedGeneration", "lastScheduledTime"):
            assert after["status"][field] == before["status"][field]
        assert stage.condition("web")["reason"] == "Unschedulable"
        stage.change("web", replicas=4)
        await stage.quiet()
        assert stage.condition("web")["status"] == "True"
        assert stage.patches() == {"spec": 1, "status": 3}
        await stage.stop()

    play(act)


def test_binding_short_of_room_is_placed_when_room_comes() -> None:
    """By room: refused while a pod too many is asked for, placed when a cluster reports more."""

    def room(api: FakeApi, name: str, pods: int) -> None:
        summary = {"allocatable": {"pods": str(pods)}}
        api.put(CLUSTERS, {"metadata": {"name": name}, "spec": {}, "status": {"resourceSummary": summary}})

    async def act(api: FakeApi) -> None:
        for name in NAMES:
            room(api, name, 1)
        dynamic = {"replicaScheduling": {"weightPreference": {"dynamicWeight": "AvailableReplicas"}}}
        api.put(RESOURCE_BINDINGS, binding("web", placement=dynamic))
        stage = Stage(api)
        await stage.quiet()
        assert stage.condition("web")["reason"] == "Unschedulable"
        assert stage.condition("web")["message"] == (
            "failed to assign replicas: failed to scale up: Clusters available replicas 4 are not enough to schedule."
        )
        assert "more room on a cluster would help" in stage.why("web")
        room(api, "m1", 3)
        await stage.quiet()
        assert stage.counts("web") == {"m1": 3, "m2": 1, "m3": 1, "m4": 1}
        assert stage.patches() == {"spec": 1, "status": 2}
        await stage.stop()

    play(act)


def test_suspended_foreign_deleted_and_shadowed_bindings_are_left_alone() -> None:
    """Nothing is written to what is not ours to schedule, and nothing at all in shadow, where it is reported."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("held", suspension={"scheduling": True}))
        api.put(RESOURCE_BINDINGS, binding("foreign", schedulerName="default-scheduler"))
        stage = Stage(api)
        await stage.quiet()
        assert stage.patches() == {}
        await stage.stop()
        api.put(RESOURCE_BINDINGS, binding("web"))
        shadow = Stage(api, shadow=True)
        await shadow.quiet()
        assert shadow.patches() == {}
        told = shadow.fleet.decisions()["decisions"]
        assert [each["binding"] for each in told] == ["shop/foreign", "shop/web"]
        assert {(each["reason"], sum(each["clusters"].values())) for each in told} == {("Success", 6)}
        await shadow.stop()

    play(act)


def test_conflicts_and_outages_are_borne() -> None:
    """A conflict and a server that fails for a while: the binding is scheduled all the same."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        api.fail(409, method="PATCH", times=2)
        api.fail(503, method="PATCH", times=9)
        stage = Stage(api)
        await stage.quiet()
        assert stage.condition("web")["reason"] == "Success"
        assert sum(stage.counts("web").values()) == 6
        await stage.stop()

    play(act)


@pytest.mark.parametrize(("code", "warned"), [(409, False), (503, True)])
def test_a_server_that_fails_is_a_warning_and_an_edit_meanwhile_is_none(code: int, warned: bool) -> None:
    """Others edit bindings all the time; that is no trouble of which anybody has to hear."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        api.fail(code, method="PATCH", times=40)
        stage = Stage(api)
        with capture_logs() as logs:
            await stage.quiet()
        assert any(each["event"] == "not written, tried again later" for each in logs) is warned
        await stage.stop()

    play(act)


def test_conflict_on_the_status_keeps_what_others_said_meanwhile() -> None:
    """Somebody writes the status between our two writes: clusters are not written again, both conditions stay."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        theirs = {"type": "FullyApplied", "status": "True", "reason": "r", "message": ""}

        def meanwhile() -> None:
            api.put(RESOURCE_BINDINGS, {**stage.find("web"), "status": {"conditions": [theirs]}})

        api.before(meanwhile, method="PATCH", path="/status", times=1)
        stage = Stage(api)
        await stage.quiet()
        told = {each["type"] for each in stage.find("web")["status"]["conditions"]}
        assert told == {"FullyApplied", "Scheduled"}
        assert stage.patches() == {"spec": 1, "status": 2}
        await stage.stop()

    play(act)


def test_policy_annotation_sets_the_knobs() -> None:
    """A most-two-per-cluster bound on the policy holds for its bindings, and an edit of it is followed."""

    async def act(api: FakeApi) -> None:
        def policy(most: int) -> None:
            knobs = json.dumps({"clusters": {"m1": {"max": most}}})
            meta = {"name": "p", "namespace": "shop", "annotations": {"fairlead.io/divide": knobs}}
            api.put(PROPAGATION_POLICIES, {"metadata": meta, "spec": {}})

        policy(0)
        named = {"propagationpolicy.karmada.io/name": "p", "propagationpolicy.karmada.io/namespace": "shop"}
        api.put(RESOURCE_BINDINGS, binding("web", 8, annotations=named))
        stage = Stage(api)
        await stage.quiet()
        assert "m1" not in stage.counts("web")
        policy(2)
        await stage.quiet()
        assert stage.counts("web") == dict.fromkeys(NAMES, 2)
        await stage.stop()

    play(act)


def test_object_without_replicas_goes_to_every_chosen_cluster() -> None:
    """A binding of the whole fleet for something that has no replicas names all clusters that pass."""

    async def act(api: FakeApi) -> None:
        body = binding("config", 0, placement={"clusterAffinity": {"exclude": ["m2"]}})
        del body["metadata"]["namespace"]
        api.put(CLUSTER_RESOURCE_BINDINGS, body)
        stage = Stage(api)
        await stage.quiet()
        found = api.find(CLUSTER_RESOURCE_BINDINGS, "config")
        assert found is not None
        assert found["spec"]["clusters"] == [{"name": "m1"}, {"name": "m3"}, {"name": "m4"}]
        await stage.stop()

    play(act)


def test_write_that_is_answered_after_the_deletion_leaves_nothing_behind() -> None:
    """A binding of the same name that came meanwhile has its turn at once."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web"))
        api.put(RESOURCE_BINDINGS, binding("again"))
        stage = Stage(api)
        write = stage.fleet.writer._write

        async def slowly(*given: Any) -> Any:
            newest = await write(*given)
            await asyncio.sleep(5)
            return newest

        stage.fleet.writer._write = slowly  # type: ignore[method-assign]
        await asyncio.sleep(2)
        for name in ("web", "again"):
            assert stage.counts(name)
            api.remove(RESOURCE_BINDINGS, name, namespace="shop")
        api.put(RESOURCE_BINDINGS, binding("again", 5))
        await asyncio.sleep(4)
        assert not stage.fleet._own
        await stage.quiet()
        assert sum(stage.counts("again").values()) == 5
        await stage.stop()

    play(act)
