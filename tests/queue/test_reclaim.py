"""Reclaim down to the fair share: what counts is what is contended (docs/decisions/0246)."""

from typing import Any

import pytest

from fairlead.problems import share
from fairlead.text.documents import strict

RUNNING = (12, 24, 28, 36)
"""Gangs of ten that run in queues with weights 1 to 4."""


def four_queues(memory: str, total: str) -> dict[str, Any]:
    """1,000 cpu, 50 gangs of ten in each of four queues, all cpu held; one replica asks for 1 cpu and this memory."""
    gang = {"replicas": 10, "minMember": 10, "request": {"cpu": 1, "memory": memory}}
    return {
        "preempt": True,
        "total": {"cpu": 1000, "memory": total},
        "queues": [{"name": f"q{weight}", "weight": weight} for weight in (1, 2, 3, 4)],
        "jobs": [
            {"name": f"j{weight}-{number}", "queue": f"q{weight}", "running": 10 if number < runs else 0, **gang}
            for weight, runs in enumerate(RUNNING, start=1)
            for number in range(50)
        ],
    }


@pytest.mark.parametrize(
    ("memory", "total"),
    [("1Gi", "4000Gi"), ("1Mi", "4000Gi"), ("1Gi", "1900Gi"), ("1Gi", "1000Gi")],
    ids=["enough memory", "next to no memory", "more memory asked for than there is", "as scarce as cpu"],
)
def test_gangs_are_reclaimed_until_every_queue_has_its_share(memory: str, total: str) -> None:
    """Memory of which there is enough makes no queue look short."""
    asked = strict(four_queues(memory, total), share.PROBLEM)
    answer = share.answer(asked, share.solve(asked))
    assert [queue["allocated"]["cpu"] for queue in answer["queues"].values()] == ["100", "200", "300", "400"]
    assert sum(answer["victims"].values()) == 60


def test_device_is_reclaimed_for_a_queue_that_has_all_its_cpu() -> None:
    """Each resource that is contended counts: a queue with its share of cpu may still be short of devices."""
    both = {"replicas": 1, "minMember": 1}
    value = {
        "preempt": True,
        "total": {"cpu": 10, "x.io/gpu": 4},
        "queues": [{"name": "a"}, {"name": "b"}],
        "jobs": [
            {"name": "plain", "queue": "a", "replicas": 9, "running": 5, "request": {"cpu": 1}},
            {"name": "other", "queue": "b", "replicas": 9, "running": 5, "request": {"cpu": 1}},
            {"name": "wide", "queue": "b", "replicas": 9, "running": 4, "request": {"x.io/gpu": 1}},
            {"name": "wants", "queue": "a", "request": {"x.io/gpu": 1}, **both},
            {"name": "wants too", "queue": "a", "request": {"x.io/gpu": 1}, **both},
        ],
    }
    asked = strict(value, share.PROBLEM)
    assert share.answer(asked, share.solve(asked))["victims"] == {"wide": 2}


PROTECTED: dict[str, tuple[dict[str, Any], str]] = {
    "priority": ({"priority": 5}, "their priority is higher"),
    "budget": ({"budget": 0}, "disruption budgets allow no more"),
    "mark": ({"preemptable": False}, "they are marked as not preemptable, or have not run for their cooldown time"),
    "system": ({"system": True}, "they belong to the system"),
}


@pytest.mark.parametrize(("held", "rule"), PROTECTED.values(), ids=PROTECTED)
def test_rule_that_forbids_the_eviction_is_said(held: dict[str, Any], rule: str) -> None:
    """The queue is short of its right, and one rule alone keeps the others."""
    value = {
        "preempt": True,
        "total": {"cpu": 4},
        "queues": [{"name": "a"}, {"name": "b"}],
        "jobs": [
            {"name": "holds", "queue": "a", "replicas": 4, "running": 4, "request": {"cpu": 1}, **held},
            {"name": "waits", "queue": "b", "replicas": 1, "request": {"cpu": 1}},
        ],
    }
    asked = strict(value, share.PROBLEM)
    found = share.answer(asked, share.solve(asked))["jobs"]["waits"]
    assert found["reason"] == "RoomProtected"
    assert found["message"].endswith(rule)
