"""Which queue gives, and what is said where nobody does (docs/decisions/0280)."""

from typing import Any

import pytest

from fairlead.problems import share
from fairlead.text.documents import strict


def answered(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem with `preempt`."""
    asked = strict({"preempt": True, **value}, share.PROBLEM)
    return share.answer(asked, share.solve(asked))


def job(name: str, queue: str, replicas: int = 1, running: int = 0, **more: Any) -> dict[str, Any]:
    """A job of replicas of one cpu."""
    return {"name": name, "queue": queue, "replicas": replicas, "running": running, "request": {"cpu": 1}, **more}


def three(a: int, b: int, c: int) -> dict[str, Any]:
    """Queues of these priorities: two of a and two of b run, one of c wants in."""
    return {
        "total": {"cpu": 4},
        "queues": [{"name": name, "priority": value} for name, value in zip("abc", (a, b, c), strict=True)],
        "jobs": [job("ja", "a", 2, 2), job("jb", "b", 2, 2), job("jc", "c")],
    }


@pytest.mark.parametrize(
    ("priorities", "loser"), [((5, 10, 1), "ja"), ((10, 5, 1), "jb"), ((5, 10, 20), "ja"), ((10, 5, 20), "jb")]
)
def test_queue_of_the_lower_priority_loses(priorities: tuple[int, int, int], loser: str) -> None:
    """Whatever the claimant's own priority is."""
    answer = answered(three(*priorities))
    assert answer["victims"] == {loser: 1}


def test_queue_of_lower_priority_loses_although_fewer_would_go_elsewhere() -> None:
    """Two small replicas of the lower queue rather than one large of the higher."""
    value = {
        "total": {"cpu": 9},
        "queues": [{"name": "a", "priority": 1}, {"name": "b", "priority": 2}, {"name": "c"}],
        "jobs": [
            job("small", "a", 5, 5),
            {**job("large", "b", 2, 2), "request": {"cpu": 2}, "minMember": 0},
            {**job("new", "c", priority=5), "request": {"cpu": 2}},
        ],
    }
    assert answered(value)["victims"] == {"small": 2}


def test_priority_of_replicas_comes_before_that_of_their_queue() -> None:
    """A low priority in the higher queue goes first."""
    value = three(5, 10, 1)
    value["jobs"][0]["priority"] = 3
    value["jobs"][2]["priority"] = 3
    assert answered(value)["victims"] == {"jb": 1}


def test_queue_above_decides_before_the_one_below() -> None:
    """Of two branches the one whose top has the lower priority gives, however high the leaf's own is."""
    queues = [
        {"name": "low", "priority": 1},
        {"name": "high", "priority": 2},
        {"name": "a", "parent": "low", "priority": 9},
        {"name": "b", "parent": "high", "priority": 1},
        {"name": "c"},
    ]
    value = {"total": {"cpu": 4}, "queues": queues, "jobs": three(0, 0, 0)["jobs"]}
    assert answered(value)["victims"] == {"ja": 1}


def test_queue_reclaims_what_it_has_a_right_to_though_it_borrows_of_another_resource() -> None:
    """It holds more memory than it deserves and less cpu; who deserves nothing gives."""
    amounts = {"cpu": 1, "memory": "1Gi"}
    value = {
        "total": {"cpu": 2, "memory": "4Gi"},
        "queues": [
            {"name": "owner", "deserved": {"cpu": 2, "memory": "2Gi"}},
            {"name": "guest", "deserved": {"cpu": 0, "memory": 0}},
        ],
        "jobs": [
            {**job("held", "owner", 1, 1), "request": {"cpu": 1, "memory": "3Gi"}},
            {**job("more", "owner"), "request": amounts},
            {**job("guest", "guest", 1, 1), "request": amounts},
        ],
    }
    assert answered(value)["victims"] == {"guest": 1}


def test_job_admitted_through_evictions_carries_no_reason() -> None:
    """It waits for nothing any more; only its beneficiary's victims say why they go."""
    answer = answered(three(5, 10, 1))
    assert answer["jobs"]["jc"]["admitted"] == 1
    assert answer["jobs"]["jc"].get("reason") is None
    assert answer["jobs"]["ja"]["reason"] == "Evicted"


HELD = [job("holder", "b", 4, 4, minMember=4), job("new", "a", 2, minMember=2)]
PAIR = [{"name": "a"}, {"name": "b"}]

STAYS: dict[str, tuple[dict[str, Any], str]] = {
    "the job evicts nobody": (
        {"queues": PAIR, "jobs": [HELD[0], {**HELD[1], "preemptionPolicy": "Never"}]},
        "its preemption policy is Never",
    ),
    "their priority": (
        {"queues": PAIR, "jobs": [{**HELD[0], "priority": 7}, HELD[1]]},
        "their priority is higher",
    ),
    "their marks": (
        {"queues": PAIR, "jobs": [{**HELD[0], "preemptable": False}, HELD[1]]},
        "they are marked as not preemptable, or have not run for their cooldown time",
    ),
    "their queue": (
        {"queues": [{"name": "a"}, {"name": "b", "reclaimable": False}], "jobs": HELD},
        "their queues are not reclaimable",
    ),
    "two rules at once": (
        {"queues": PAIR, "jobs": [{**HELD[0], "priority": 7, "preemptable": False}, HELD[1]]},
        "several rules protect them",
    ),
    "a queue that does not exist": (
        {"queues": PAIR, "jobs": [{**HELD[0], "queue": "gone"}, HELD[1]]},
        "queues that cannot be used hold the room",
    ),
}


@pytest.mark.parametrize("name", STAYS)
def test_job_of_a_queue_that_is_short_says_why_nobody_goes(name: str) -> None:
    """With evictions allowed the answer never says that others hold the room and leaves it at that."""
    value, words = STAYS[name]
    answer = answered({"total": {"cpu": 4}, **value})
    assert answer["victims"] == {}
    new = answer["jobs"]["new"]
    assert new["reason"] == "RoomProtected"
    assert new["message"].endswith(f"stay, for {words}")
