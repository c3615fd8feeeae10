"""A shadow beside another scheduler: it writes nothing and reports where it would have decided otherwise."""

import asyncio
import json
from typing import Any

import pytest

from fairlead.kube.codec.decided import APPLIED
from fairlead.kube.resources import CLUSTERS, RESOURCE_BINDINGS
from fairlead.live.fleet.shadow import moves
from tests.fake import FakeApi
from tests.live.test_fleet import Stage, binding, play

NOW = "2026-01-01T00:00:00Z"


def answered(stage: Stage, name: str, **counts: int) -> None:
    """What karmada-scheduler writes: clusters and placement, then the status with the generation it decided on."""
    found = stage.find(name)
    decided_on = found["metadata"]["generation"]
    spec = {**found["spec"], "clusters": [{"name": at, "replicas": n} for at, n in counts.items()]}
    said = {**found["metadata"].get("annotations", {}), APPLIED: json.dumps(spec["placement"])}
    stage.api.put(RESOURCE_BINDINGS, {**found, "metadata": {**found["metadata"], "annotations": said}, "spec": spec})
    told(stage, name, "True", "Success", schedulerObservedGeneration=decided_on, lastScheduledTime=NOW)


def told(stage: Stage, name: str, value: str, reason: str, **status: Any) -> None:
    """Its condition, and what else it writes into the status."""
    found = stage.find(name)
    condition = {"type": "Scheduled", "status": value, "reason": reason, "message": ""}
    status = {**found.get("status", {}), "conditions": [condition], **status}
    stage.api.put(RESOURCE_BINDINGS, {**found, "status": status})


def differences(stage: Stage) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(stage.fleet.pages["/differences"]({})())
    return report


def test_shadow_reports_where_another_scheduler_decides_otherwise_and_why() -> None:
    """Agreement is counted; a result with moves that need not be is shown beside ours."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web", 8, schedulerName="default-scheduler"))
        stage = Stage(api, shadow=True)
        await stage.quiet()
        answered(stage, "web", m1=2, m2=2, m3=2, m4=2)
        await stage.quiet()
        assert differences(stage) == {"agreed": 1, "differed": 0, "differences": []}
        stage.change("web", replicas=9)
        answered(stage, "web", m1=6, m2=1, m3=1, m4=1)
        await stage.quiet()
        (found,) = differences(stage)["differences"]
        assert (found["binding"], found["replicas"]) == ("shop/web", 9)
        assert found["theirs"] == {
            "clusters": {"m1": 6, "m2": 1, "m3": 1, "m4": 1}, "reason": "Success", "moves": 3,
        }  # fmt: skip
        assert sorted(found["ours"]["clusters"].values()) == [2, 2, 2, 3]
        assert found["ours"]["moves"] == 0
        assert found["ours"]["why"].startswith("9 replicas over 4 clusters")
        assert stage.patches() == {}
        api.remove(RESOURCE_BINDINGS, "web", namespace="shop")
        await stage.quiet()
        assert differences(stage)["differences"] == []
        await stage.stop()

    play(act)


def test_shadow_says_nothing_of_an_answer_to_another_question() -> None:
    """Scaled again before the other scheduler was there: only the last question is compared."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web", 8, schedulerName="default-scheduler"))
        stage = Stage(api, shadow=True)
        await asyncio.sleep(1)
        stage.change("web", replicas=4)
        answered(stage, "web", m1=1, m2=1, m3=1, m4=1)
        await stage.quiet()
        report = differences(stage)
        assert report["differed"] == 0
        await stage.stop()

    play(act)


@pytest.mark.parametrize(
    ("before", "after", "want"),
    [
        ({"m1": 3, "m2": 3}, {"m1": 1, "m2": 6}, 2),
        ({"m1": 3, "m2": 3}, {"m1": 4}, 1),
        ({"m1": 3, "m2": 3}, {"m1": 2, "m2": 2}, 0),
        ({"m1": 3}, {"m2": 5}, 3),
        ({}, {"m1": 2}, 0),
    ],
)
def test_moves_are_what_clusters_lose_beyond_what_is_scaled_away(
    before: dict[str, int], after: dict[str, int], want: int
) -> None:
    """One replica that leaves a cluster for another is one move; one that is scaled away is none."""
    assert moves(before, after) == want


def test_shadow_reports_a_refusal_of_what_it_would_place() -> None:
    """The other one writes a condition and nothing else; that both refuse is an agreement. Each is counted once."""

    async def act(api: FakeApi) -> None:
        nowhere = {"clusterAffinity": {"clusterNames": ["gone"]}}
        for name, where in (("web", {}), ("lost", {"placement": nowhere})):
            api.put(RESOURCE_BINDINGS, binding(name, 8, schedulerName="default-scheduler", **where))
        stage = Stage(api, shadow=True)
        await stage.quiet()
        for name in ("web", "lost"):
            told(stage, name, "False", "NoClusterFit")
            await stage.quiet()
            told(stage, name, "False", "NoClusterFit")
        await stage.quiet()
        report = differences(stage)
        assert (report["agreed"], report["differed"]) == (1, 1)
        (found,) = report["differences"]
        assert (found["binding"], found["theirs"]["clusters"]) == ("shop/web", {})
        assert (found["theirs"]["reason"], found["ours"]["reason"]) == ("NoClusterFit", "Success")
        await stage.stop()

    play(act)


def test_shadow_reports_another_choice_for_what_goes_whole_to_clusters() -> None:
    """Of an object without replicas one cluster is left out: told once, though we would extend it at every look."""

    async def act(api: FakeApi) -> None:
        body = binding("settings", 0, schedulerName="default-scheduler", placement={})
        del body["spec"]["replicas"]
        api.put(RESOURCE_BINDINGS, body)
        stage = Stage(api, shadow=True)
        await stage.quiet()
        answered(stage, "settings", m1=0, m2=0, m3=0)
        await stage.quiet()
        found = stage.find("settings")
        # The third write of a decision: the generation after its own write.
        told(stage, "settings", "True", "Success", schedulerObservedGeneration=found["metadata"]["generation"])
        await stage.quiet()
        report = differences(stage)
        assert (report["agreed"], report["differed"]) == (0, 1)
        assert set(report["differences"][0]["ours"]["clusters"]) == {"m1", "m2", "m3", "m4"}
        answered(stage, "settings", m1=0, m2=0, m3=0, m4=0)
        await stage.quiet()
        assert differences(stage)["differences"] == []
        await stage.stop()

    play(act)


def test_shadow_keeps_no_versions_while_clusters_are_not_served() -> None:
    """They may be away for long; afterwards it goes on with the newest."""

    async def act(api: FakeApi) -> None:
        api.put(RESOURCE_BINDINGS, binding("web", 8, schedulerName="default-scheduler"))
        stage = Stage(api, shadow=True)
        await stage.quiet()
        api.stop_serving(CLUSTERS)
        await stage.quiet()
        for replicas in (9, 10, 11):
            stage.change("web", replicas=replicas)
            await stage.quiet()
        assert not stage.fleet._seen
        api.serve(CLUSTERS)
        await stage.quiet()
        answered(stage, "web", m1=5, m2=2, m3=2, m4=2)
        await stage.quiet()
        (found,) = differences(stage)["differences"]
        assert found["replicas"] == 11
        await stage.stop()

    play(act)


def test_shadow_compares_a_binding_that_was_made_anew_by_its_own_versions() -> None:
    """Versions of the deleted one that were not looked at yet ask nothing of it."""

    async def act(api: FakeApi) -> None:
        stage = Stage(api, shadow=True)
        await stage.quiet()
        old = binding("web", 8, schedulerName="default-scheduler")
        old["metadata"]["uid"] = "old"
        api.put(RESOURCE_BINDINGS, old)
        for replicas in (9, 10, 9, 8):
            stage.change("web", replicas=replicas)
        await asyncio.sleep(0.01)
        api.remove(RESOURCE_BINDINGS, "web", namespace="shop")
        api.put(RESOURCE_BINDINGS, binding("web", 8, schedulerName="default-scheduler"))
        await stage.quiet()
        answered(stage, "web", m1=5, m2=1, m3=1, m4=1)
        await stage.quiet()
        (found,) = differences(stage)["differences"]
        assert found["theirs"]["clusters"] == {"m1": 5, "m2": 1, "m3": 1, "m4": 1}
        await stage.stop()

    play(act)
