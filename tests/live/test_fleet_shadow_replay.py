"""Recorded stories with karmada-scheduler at work and this scheduler as a shadow: it differs where it means to.

What karmada-scheduler wrote is taken from the recording: clusters and placement first, then the status.
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

WALL = 1_796_000_000.0


def counts(*replicas: int) -> dict[str, int]:
    """Of the members in order, without those that have none."""
    return {f"member{number}": n for number, n in enumerate(replicas, 1) if n}


Counts = dict[str, int]
REMAINDER = "which of equal clusters gets a remainder is drawn"
QUOTA = "a shadow writes nothing, so no quota refuses it"
DIFFERENT: dict[str, list[tuple[str, Counts, Counts, str]]] = {
    "member-down": [("web-deployment", counts(2, 3, 2), counts(3, 2, 2), REMAINDER)],
    "quota": [
        ("q-deployment", counts(1, 1, 1), {}, QUOTA),
        ("q-deployment", counts(1, 0, 1), counts(1, 1, 0), REMAINDER),
        ("q-deployment", counts(2, 1, 1), counts(1, 1, 0), QUOTA),
    ],
    "rebalancer": [("reb-deployment", counts(3, 4, 2), counts(2, 4, 3), "by room, as in the replay")],
    "scaling": [("web-deployment", counts(3, 2, 3), counts(3, 3, 2), REMAINDER)],
}
"""By story, in order: the binding, our clusters, theirs, and why."""
AGREED = {
    "affinity-groups": 3, "deletions": 2, "dependencies": 2, "join": 6, "member-down": 5, "missing-kind": 2,
    "no-execute": 13, "overflow": 2, "policy-changed": 4, "quota": 0, "rebalancer": 1, "scaling": 3, "suspension": 4,
    "to-zero": 3, "unjoin": 5,
}  # fmt: skip
"""Decisions in which both came to the same clusters, or both refused."""


def answer(api: replay.Karmada, name: str, want: dict[str, Any], now: str) -> None:
    """The writes of karmada-scheduler that lead to the state of the recording."""
    resource = replay.address(name)[0]
    found = replay.find(api, name)
    assert found is not None
    decided_on = found["metadata"]["generation"]
    if "applied" in want:
        found["metadata"].setdefault("annotations", {})[APPLIED] = json.dumps(want["applied"])
    found["spec"]["clusters"] = want["clusters"]
    api.put(resource, found)
    found = replay.find(api, name)
    assert found is not None
    status = found.setdefault("status", {})
    value, reason, message = want.get("scheduled", ("True", "", ""))
    if "scheduled" in want:
        status["conditions"] = [{"type": "Scheduled", "status": value, "reason": reason, "message": message}]
    if value == "True":
        status |= {"schedulerObservedGeneration": decided_on, "lastScheduledTime": now}
    if "group" in want:
        status["schedulerObservingAffinityName"] = want["group"]
    api.put(resource, found)


@pytest.mark.parametrize("story", sorted(path.stem for path in replay.STORIES.glob("*.jsonl")))
def test_shadow_differs_from_karmada_scheduler_where_it_means_to(story: str) -> None:
    """Every decision of the recording is compared; what differs is listed."""

    async def play() -> None:
        api = replay.Karmada()
        start, *steps = replay.steps_of(story)
        replay.begin(api, start)
        loop = asyncio.get_running_loop()
        instance = Instance(Client(api), monotonic=loop.time, wall=lambda: WALL + loop.time())
        fleet = Fleet(instance, FleetOptions(shadow=True))
        task = asyncio.create_task(fleet.run())
        await asyncio.sleep(60)
        different: list[tuple[str, Counts, Counts]] = []
        for step in steps:
            for done in step["do"]:
                replay.act(api, done, timestamps.whole(WALL + loop.time()))
                await asyncio.sleep(0.2)
            await asyncio.sleep(5)
            for name, want in step["want"].items():
                if want is not None:
                    answer(api, name, want, timestamps.whole(WALL + loop.time()))
            await asyncio.sleep(60)
            found = [(key[1], each.ours, each.theirs) for key, each in fleet.comparison.differences.items()]
            different += [each for each in found if each not in different[-1:]]
        assert different == [each[:3] for each in DIFFERENT.get(story, [])]
        assert dict(fleet.comparison.counts) == expected(story)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run(play())


def expected(story: str) -> dict[str, int]:
    counted = {"agreed": AGREED[story], "differed": len(DIFFERENT.get(story, []))}
    return {what: number for what, number in counted.items() if number}
