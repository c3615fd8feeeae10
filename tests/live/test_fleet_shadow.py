"""A shadow beside another scheduler: it writes nothing and reports where it would have decided otherwise."""

import asyncio
import json
from typing import Any

from fairlead.kube.codec.decided import APPLIED
from fairlead.kube.resources import RESOURCE_BINDINGS
from tests.fake import FakeApi
from tests.live.test_fleet import Stage, binding, play


def answered(stage: Stage, name: str, **counts: int) -> None:
    """What karmada-scheduler writes."""
    found = stage.find(name)
    spec = {**found["spec"], "clusters": [{"name": at, "replicas": n} for at, n in counts.items()]}
    said = {**found["metadata"].get("annotations", {}), APPLIED: json.dumps(spec["placement"])}
    condition = {"type": "Scheduled", "status": "True", "reason": "Success", "message": ""}
    status = {**found.get("status", {}), "conditions": [condition], "lastScheduledTime": "2026-01-01T00:00:00Z"}
    meta = {**found["metadata"], "annotations": said}
    stage.api.put(RESOURCE_BINDINGS, {**found, "metadata": meta, "spec": spec, "status": status})


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
