"""Stories recorded from a real Karmada, played again with this scheduler in the place of karmada-scheduler.

After each step every binding is compared with the recording field by field. Where we differ, and mean to, stands in
`WANTED`; the same table is in docs/fleet-live.md.
"""

import asyncio
import json
from typing import Any

import pytest

from fairlead.kube import timestamps
from fairlead.kube.client import Client
from fairlead.kube.codec.decided import APPLIED
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.runtime.elected import Instance
from tests.kube.virtual import run
from tests.live import replay

Fields = dict[str, Any]
SUCCEEDED = ["True", "Success", "Binding has been scheduled successfully."]
SERVED = "a member that begins to serve a kind gets what waits for it; karmada-scheduler looks again at the next edit"
WANTED: dict[tuple[str, int, str], tuple[Fields, str]] = {
    ("missing-kind", 3, "st-h/foo-foo"): (
        {"clusters": [{"name": "member1"}, {"name": "member2"}, {"name": "member3"}]},
        SERVED,
    ),
    ("missing-kind", 3, "st-h/foo3-foo"): (
        {"clusters": [{"name": "member3"}], "observed": True, "timed": True, "scheduled": SUCCEEDED},
        SERVED,
    ),
    ("overflow", 3, "st-k/over-deployment"): (
        {"scheduled": SUCCEEDED},
        "everything is placed again, so the condition says so; karmada-scheduler leaves it False",
    ),
    ("rebalancer", 4, "st-f/reb-deployment"): (
        {"clusters": [{"name": n, "replicas": r} for n, r in (("member1", 3), ("member2", 4), ("member3", 2))]},
        "by room, of which the recording leaves out most heartbeats",
    ),
}
"""Story, step and binding: the fields that differ, as they are with us, and why."""


def seen(found: dict[str, Any] | None) -> Fields | None:
    """The fields of a binding that are compared."""
    if found is None:
        return None
    status = found.get("status", {})
    told = next((each for each in status.get("conditions", []) if each["type"] == "Scheduled"), None)
    fields: Fields = {
        "clusters": found["spec"].get("clusters", []),
        "observed": status.get("schedulerObservedGeneration") == found["metadata"]["generation"],
        "timed": "lastScheduledTime" in status,
    }
    if told is not None:
        fields["scheduled"] = [told["status"], told["reason"], told["message"]]
    if status.get("schedulerObservingAffinityName"):
        fields["group"] = status["schedulerObservingAffinityName"]
    recorded = found["metadata"].get("annotations", {}).get(APPLIED)
    if recorded is not None:
        fields["applied"] = json.loads(recorded)
    return fields


def drawn(one: Fields | None, other: Fields | None) -> bool:
    """Whether static results differ only in which of equal clusters got the remainder: with us a draw decides."""
    if one is None or other is None or "staticWeightList" not in json.dumps(other.get("applied")):
        return False
    ours, theirs = (sorted(each.get("replicas", 0) for each in found["clusters"]) for found in (one, other))
    return ours == theirs and {**one, "clusters": []} == {**other, "clusters": []}


@pytest.mark.parametrize("story", sorted(path.stem for path in replay.STORIES.glob("*.jsonl")))
def test_story_ends_each_step_as_karmada_scheduler_ended_it(story: str) -> None:
    """The same clusters, records, conditions and observed generations, but for what is listed."""

    async def play() -> None:
        api = replay.Karmada()
        start, *steps = replay.steps_of(story)
        replay.begin(api, start)
        loop = asyncio.get_running_loop()
        wall = 1_796_000_000.0
        fleet = Fleet(Instance(Client(api), monotonic=loop.time, wall=lambda: wall + loop.time()), FleetOptions())
        task = asyncio.create_task(fleet.run())
        expected: dict[str, Fields | None] = {}
        for number, step in enumerate(steps, 1):
            for done in step["do"]:
                replay.act(api, done, timestamps.whole(wall + loop.time()))
                await asyncio.sleep(0.2)
            await asyncio.sleep(60)
            for name, want in step["want"].items():
                before = (expected.get(name) or {}).get("applied", _applied(start, name))
                expected[name] = None if want is None else ({"applied": before} if before is not None else {}) | want
            compare(story, number, api, expected)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(play())


def _applied(start: dict[str, Any], name: str) -> Any:
    return next((json.loads(each["applied"]) for each in start["bindings"] if each["binding"] == name), None)


def compare(story: str, number: int, api: replay.Karmada, expected: dict[str, Fields | None]) -> None:
    """Every binding of the story so far."""
    for name, want in expected.items():
        ours = seen(replay.find(api, name))
        different, why = WANTED.get((story, number, name), ({}, ""))
        wanted = want if want is None else want | different
        assert ours == wanted or drawn(ours, wanted), f"{story}, step {number}, {name}: {why}"
        assert not different or ours != want, f"{story}, step {number}, {name} is listed and does not differ"
