"""Room for gangs by eviction: whom, how many, and when not."""

from typing import Any

import pytest

from fairlead.problems import share
from fairlead.text.documents import strict


def answered(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem with `preempt`."""
    asked = strict({"preempt": True, **value}, share.PROBLEM)
    return share.answer(asked, share.solve(asked))


def job(name: str, cpu: int = 1, **more: Any) -> dict[str, Any]:
    """A job of one replica."""
    return {"name": name, "replicas": 1, "request": {"cpu": cpu}, **more}


def runs(name: str, replicas: int, cpu: int = 1, **more: Any) -> dict[str, Any]:
    """A job whose replicas all run."""
    return {"name": name, "replicas": replicas, "running": replicas, "request": {"cpu": cpu}, **more}


Q1 = [{"name": "q"}]
TWO = [{"name": "a"}, {"name": "b"}]

CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "room is there: nobody goes": (
        {"total": {"cpu": 4}, "queues": Q1, "jobs": [runs("low", 3), job("high", priority=5)]},
        {},
    ),
    "higher priority takes what is above a gang": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3), job("high", priority=5)]},
        {"low": 1},
    ),
    "lower priority takes nothing": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("high", 3, priority=5), job("low")]},
        {},
    ),
    "the lowest priority goes first": (
        {
            "total": {"cpu": 4},
            "queues": Q1,
            "jobs": [runs("low", 2), runs("mid", 2, priority=2), job("high", priority=5)],
        },
        {"low": 1},
    ),
    "one large replica rather than four small ones": (
        {
            "total": {"cpu": 8},
            "queues": Q1,
            "jobs": [runs("small", 4), runs("large", 2, cpu=2, minMember=0), job("high", cpu=2, priority=5)],
        },
        {"large": 1},
    ),
    "a gang is kept whole or taken whole": (
        {"total": {"cpu": 4}, "queues": Q1, "jobs": [runs("gang", 4, minMember=4), job("high", priority=5)]},
        {"gang": 4},
    ),
    "a job of one rather than a gang of two": (
        {
            "total": {"cpu": 3},
            "queues": Q1,
            "jobs": [runs("one", 1, priority=1), runs("two", 2, minMember=2, priority=1), job("high", priority=2)],
        },
        {"one": 1},
    ),
    "not preemptable stays": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3, preemptable=False), job("high", priority=5)]},
        {},
    ),
    "the system stays": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3, system=True), job("high", priority=5)]},
        {},
    ),
    "a disruption budget bounds": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3, budget=1), job("high", cpu=2, priority=5)]},
        {},
    ),
    "a disruption budget that allows enough": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3, budget=2), job("high", cpu=2, priority=5)]},
        {"low": 2},
    ),
    "its own queue gives first, even where another holds more than its share": (
        {
            "total": {"cpu": 8},
            "queues": TWO,
            "jobs": [
                runs("mine", 2, queue="a", minMember=0),
                runs("theirs", 6, queue="b", minMember=0),
                job("high", queue="a", priority=5),
            ],
        },
        {"mine": 1},
    ),
    "every job has a disruption budget of its own": (
        {
            "total": {"cpu": 4},
            "queues": Q1,
            "jobs": [runs("kept", 2, budget=0), runs("free", 2, minMember=0, budget=2), job("high", cpu=2, priority=5)],
        },
        {"free": 2},
    ),
    "a budget does not let a whole gang go": (
        {
            "total": {"cpu": 3},
            "queues": Q1,
            "jobs": [runs("gang", 3, minMember=3, budget=2), job("high", priority=5)],
        },
        {},
    ),
    "who may not preempt waits": (
        {
            "total": {"cpu": 3},
            "queues": Q1,
            "jobs": [runs("low", 3), job("high", priority=5, preemptionPolicy="Never")],
        },
        {},
    ),
    "elastic replicas evict what is above gangs, and no gang": (
        {
            "total": {"cpu": 4},
            "queues": Q1,
            "jobs": [runs("low", 3), {**job("high", priority=5), "replicas": 4, "running": 1}],
        },
        {"low": 2},
    ),
    "the namespace with less takes from the one with more": (
        {
            "total": {"cpu": 4},
            "queues": Q1,
            "jobs": [runs("rich", 4, namespace="n1"), job("poor", namespace="n2")],
        },
        {"rich": 1},
    ),
    "an equal swap is no gain": (
        {
            "total": {"cpu": 2},
            "queues": Q1,
            "jobs": [runs("one", 1, cpu=2, namespace="n1"), job("two", cpu=2, namespace="n2")],
        },
        {},
    ),
    "the job with less in the same namespace": (
        {"total": {"cpu": 4}, "queues": Q1, "jobs": [runs("old", 4), job("new")]},
        {"old": 1},
    ),
    "a queue below its right reclaims from one above": (
        {"total": {"cpu": 4}, "queues": TWO, "jobs": [runs("rich", 4, queue="a"), job("poor", cpu=2, queue="b")]},
        {"rich": 2},
    ),
    "not from a queue that may not be reclaimed from": (
        {
            "total": {"cpu": 4},
            "queues": [{"name": "a", "reclaimable": False}, {"name": "b"}],
            "jobs": [runs("rich", 4, queue="a"), job("poor", cpu=2, queue="b")],
        },
        {},
    ),
    "not beyond its own right": (
        {"total": {"cpu": 4}, "queues": TWO, "jobs": [runs("rich", 4, queue="a"), job("poor", cpu=3, queue="b")]},
        {},
    ),
    "not from a queue within its right": (
        {
            "total": {"cpu": 4},
            "queues": [{"name": "a", "weight": 3}, {"name": "b"}],
            "jobs": [runs("fair", 3, queue="a"), runs("own", 1, queue="b", preemptable=False), job("more", queue="b")],
        },
        {},
    ),
    "a closed queue's replicas may be reclaimed": (
        {
            "total": {"cpu": 4},
            "queues": [{"name": "a", "state": "Closed"}, {"name": "b"}],
            "jobs": [runs("left", 4, queue="a"), job("poor", cpu=2, queue="b")],
        },
        {"left": 2},
    ),
    "what runs in a queue that does not exist stays": (
        {
            "total": {"cpu": 4},
            "queues": Q1,
            "jobs": [runs("lost", 4, queue="gone"), job("poor", queue="q", priority=5)],
        },
        {},
    ),
    "no useless eviction: the gang would not fit its queue anyway": (
        {
            "total": {"cpu": 9},
            "queues": [{"name": "q", "capability": {"cpu": 3}}],
            "jobs": [runs("low", 3), job("high", cpu=4, priority=5)],
        },
        {},
    ),
    "the queue's bound, not the whole, is short": (
        {
            "total": {"cpu": 9},
            "queues": [{"name": "q", "capability": {"cpu": 3}}],
            "jobs": [runs("low", 3), job("high", cpu=2, priority=5)],
        },
        {"low": 2},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_victims(name: str) -> None:
    """Who has to go; the beneficiary starts if anybody does."""
    value, want = CASES[name]
    answer = answered(value)
    assert answer["victims"] == want
    for eviction in answer["evictions"]:
        assert answer["jobs"][eviction["for"]]["admitted"] > 0
    for victim in want:
        assert answer["jobs"][victim]["reason"] == "Evicted"


def test_victims_are_absent_unless_asked_for() -> None:
    """Without `preempt` nobody is looked for."""
    value = {"preempt": False, "total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3), job("high", priority=5)]}
    assert "victims" not in answered(value)


def test_eviction_across_queues_is_a_reclaim_and_inside_one_a_preemption() -> None:
    """The action says which."""
    inside = answered(CASES["higher priority takes what is above a gang"][0])
    across = answered(CASES["a queue below its right reclaims from one above"][0])
    assert [each["action"] for each in (*inside["evictions"], *across["evictions"])] == ["preempt", "reclaim"]


def test_room_that_others_were_just_granted_is_taken_back_without_an_eviction() -> None:
    """A gang that came before them in priority: nothing runs yet, so nobody is evicted."""
    value = {
        "total": {"cpu": 4},
        "queues": TWO,
        "jobs": [
            {**job("gang", queue="a", priority=5), "replicas": 3, "minMember": 3},
            runs("low", 1, queue="a"),
            {**job("other", queue="a"), "replicas": 9},
        ],
    }
    answer = answered(value)
    assert (answer["victims"], answer["jobs"]["gang"]["admitted"]) == ({}, 3)


def test_on_nodes_only_victims_that_free_a_node_go() -> None:
    """Two cpu on one node are needed; one evicted on each of two nodes would not help."""
    value = {
        "nodes": [{"name": f"n{row}", "allocatable": {"cpu": 2, "pods": 9}} for row in (1, 2)],
        "queues": Q1,
        "jobs": [
            runs("x", 2, running={"n1": 1, "n2": 1}, minMember=0),
            runs("y", 2, running={"n1": 1, "n2": 1}, minMember=0, priority=1),
            job("wide", cpu=2, priority=5),
        ],
    }
    answer = answered(value)
    assert answer["victims"] == {"x": 1, "y": 1}
    assert answer["jobs"]["wide"]["admitted"] == 1


def test_a_gang_on_two_nodes_keeps_its_minimum_over_both() -> None:
    """One of four may go, from either node, but not one from each: two rooms are made only by taking all of it."""
    value = {
        "nodes": [{"name": f"n{row}", "allocatable": {"cpu": 3, "pods": 9}} for row in (1, 2)],
        "queues": Q1,
        "jobs": [
            runs("gang", 4, running={"n1": 2, "n2": 2}, minMember=3),
            runs("kept", 2, running={"n1": 1, "n2": 1}, priority=9),
            {"name": "pair", "replicas": 2, "minMember": 2, "request": {"cpu": 1}, "priority": 5},
        ],
    }
    answer = answered(value)
    assert answer["victims"] == {"gang": 4}
    assert answer["jobs"]["pair"]["admitted"] == 2


@pytest.mark.parametrize(("budget", "want"), [(1, {}), (2, {"low": 2})])
def test_a_disruption_budget_counts_over_all_nodes(budget: int, want: dict[str, int]) -> None:
    """One room on each of two nodes takes two of the job; a budget of one allows neither."""
    value = {
        "nodes": [{"name": f"n{row}", "allocatable": {"cpu": 2, "pods": 9}} for row in (1, 2)],
        "queues": Q1,
        "jobs": [
            runs("low", 4, running={"n1": 2, "n2": 2}, minMember=0, budget=budget),
            {"name": "pair", "replicas": 2, "minMember": 2, "request": {"cpu": 1}, "priority": 5},
        ],
    }
    assert answered(value).get("victims", {}) == want


def test_job_that_started_by_eviction_and_wants_more_says_what_stops_it() -> None:
    """Its gang starts; what is above it waits for room like anybody else's."""
    high = {**job("high", priority=5), "replicas": 3}
    answer = answered({"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3, minMember=3), high]})
    assert (answer["jobs"]["high"]["admitted"], answer["jobs"]["high"]["reason"]) == (1, "NextCycle")
    tight = answered({"total": {"cpu": 3}, "queues": Q1, "jobs": [runs("low", 3), high]})
    assert (tight["jobs"]["high"]["admitted"], tight["jobs"]["high"]["reason"]) == (2, "QueueShare")


def test_evictions_say_by_what_the_allocation_became_better() -> None:
    """A queue below its right takes from one above it: the queues' shares are more even from the bottom."""
    value = {
        "total": {"cpu": 4},
        "queues": TWO,
        "jobs": [runs("mine", 4, queue="a", minMember=1), job("theirs", 2, queue="b")],
    }
    decision = share.solve(strict({"preempt": True, **value}, share.PROBLEM))
    gain = decision.gains["theirs"]
    assert gain is not None
    assert gain.better
    assert gain.part == "queues' shares"
    assert [float(each) for each in (*gain.before, *gain.after)] == [0, 1, 1, 1]
    assert {victim.beneficiary for victim in decision.victims} == set(decision.gains)
