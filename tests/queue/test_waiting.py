"""Why jobs wait, reservations, decay, gangs of several roles, nodes."""

from typing import Any

import pytest

from fairlead.levels.queue.decay import decayed
from fairlead.problems import share
from fairlead.text.documents import strict


def answered(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem."""
    asked = strict(value, share.PROBLEM)
    return share.answer(asked, share.solve(asked))


def job(name: str, replicas: int = 1, cpu: int = 1, **more: Any) -> dict[str, Any]:
    """A job that runs nothing yet."""
    return {"name": name, "replicas": replicas, "request": {"cpu": cpu}, **more}


Q1 = [{"name": "q"}]
STAGES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "queue cap": (
        {"total": {"cpu": 9}, "queues": [{"name": "q", "capability": {"cpu": 3}}], "jobs": [job("j", 5)]},
        "QueueCapability",
        "1 replica needs 1 cpu; queue q may hold 3 and has 0 left",
        "eviction",
    ),
    "gang that can never fit the queue": (
        {"total": {"cpu": 9}, "queues": [{"name": "q", "capability": {"cpu": 3}}], "jobs": [job("j", 5, minMember=4)]},
        "GangAboveCapability",
        "4 replicas that start together need 4 cpu; queue q may never hold more than 3",
        "edit",
    ),
    "bound of a parent": (
        {
            "total": {"cpu": 9},
            "queues": [{"name": "top", "capability": {"cpu": 3}}, {"name": "q", "parent": "top"}],
            "jobs": [job("j", 5, queue="q")],
        },
        "QueueCapability",
        "1 replica needs 1 cpu; queue top may hold 3 and has 0 left",
        "eviction",
    ),
    "gang larger than the whole": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [job("j", 4, minMember=4)]},
        "GangAboveWhole",
        "4 replicas that start together need 4 cpu; the whole is 3",
        "room",
    ),
    "gang that finds part of its room": (
        {"total": {"cpu": 3}, "queues": Q1, "jobs": [job("j", 3, minMember=3), job("k", 1, priority=1)]},
        "GangShortfall",
        "3 replicas start together and need 3 cpu; 2 are left, room for 2",
        "room",
    ),
    "gang that finds room for one": (
        {"total": {"cpu": 6}, "queues": Q1, "jobs": [job("j", 3, 2, minMember=3), job("k", 2, 2, priority=1)]},
        "GangShortfall",
        "3 replicas start together and need 6 cpu; 2 are left, room for 1",
        "room",
    ),
    "namespace has its share": (
        {"total": {"cpu": 4}, "queues": Q1, "jobs": [job("j", 5, namespace="a"), job("k", 5, namespace="b")]},
        "NamespaceShare",
        "a holds 2 cpu in queue q and its weight gives it 2; 0 are left",
        "room",
    ),
    "queue has its share": (
        {
            "total": {"cpu": 4},
            "queues": [{"name": "q"}, {"name": "r"}],
            "jobs": [job("j", 5, queue="q"), job("k", 5, queue="r")],
        },
        "QueueShare",
        "queue q holds 2 cpu and deserves 2; 0 are left, 1 are needed",
        "room",
    ),
    "others hold the room": (
        {
            "total": {"cpu": 4},
            "queues": [{"name": "q"}, {"name": "r"}],
            "jobs": [job("j", 2, queue="q"), job("k", 4, queue="r", running=4)],
        },
        "RoomHeld",
        "queue q holds 0 cpu and deserves 2, but others hold the room; 0 are left",
        "eviction",
    ),
    "no node has room, though there is room in sum": (
        {
            "nodes": [{"name": f"n{n}", "allocatable": {"cpu": 2}} for n in (1, 2)],
            "queues": Q1,
            "jobs": [job("j", 1, cpu=3)],
        },
        "NodesFull",
        "there is room in sum, but nodes take 0 of 1 replica: of 2 nodes 2 have less than 3 cpu",
        "room",
    ),
    "nodes it may not use": (
        {
            "nodes": [{"name": f"n{n}", "allocatable": {"cpu": 2}} for n in (1, 2)],
            "queues": Q1,
            "jobs": [job("j", 2, cpu=2, nodes=["n2"])],
        },
        "NodesFull",
        "there is room in sum, but nodes take 0 of 1 replica: of 2 nodes 1 may not be used, 1 have less than 2 cpu",
        "room",
    ),
}


@pytest.mark.parametrize("name", STAGES)
def test_waiting_job_says_the_stage_with_numbers_and_the_cure(name: str) -> None:
    """Code, sentence and cure of the job j."""
    value, code, sentence, cure = STAGES[name]
    told = answered(value)["jobs"]["j"]
    assert (told["reason"], told["message"], told["cure"]) == (code, sentence, cure)


def test_gang_fits_in_part_but_not_as_a_whole_on_nodes() -> None:
    """Three replicas of 2 cpu on two nodes of 3: two fit, so none starts."""
    value = {
        "nodes": [{"name": f"n{n}", "allocatable": {"cpu": 3}} for n in (1, 2)],
        "queues": Q1,
        "jobs": [job("j", 3, cpu=2, minMember=3), job("k", 2, cpu=1)],
    }
    jobs = answered(value)["jobs"]
    assert (jobs["j"]["admitted"], jobs["j"]["reason"]) == (0, "NodesFull")
    assert jobs["k"]["admitted"] == 2


def test_minimums_of_roles_start_together() -> None:
    """One driver and at least two workers; the other worker is elastic."""
    tasks = [
        {"name": "driver", "replicas": 1, "request": {"cpu": 2}, "minMember": 1},
        {"name": "worker", "replicas": 3, "request": {"cpu": 1}, "minMember": 2},
    ]
    for cpu, want in ((3, 0), (4, 3), (5, 4)):
        value = {"total": {"cpu": cpu}, "queues": Q1, "jobs": [{"name": "j", "tasks": tasks, "minMember": 3}]}
        assert answered(value)["jobs"]["j"]["admitted"] == want


def test_minimums_of_roles_above_that_of_the_job_are_not_asked_for() -> None:
    """minMember 1 with two masters wanted: one master may start, as in Volcano."""
    tasks = [{"name": "master", "replicas": 2, "request": {"cpu": 1}, "minMember": 2}]
    value = {"total": {"cpu": 1}, "queues": Q1, "jobs": [{"name": "j", "tasks": tasks, "minMember": 1}]}
    assert answered(value)["jobs"]["j"]["admitted"] == 1


def test_minimum_resources_must_be_free_before_a_gang_starts() -> None:
    """Two replicas would fit, the declared 4 cpu would not."""
    value = {"total": {"cpu": 3}, "queues": Q1, "jobs": [job("j", 2, minMember=2, minResources={"cpu": 4})]}
    assert answered(value)["jobs"]["j"]["reason"] == "GangAboveWhole"
    value["total"] = {"cpu": 4}
    assert answered(value)["jobs"]["j"]["admitted"] == 2


RESERVE = {
    "total": {"cpu": 4},
    "queues": Q1,
    "now": 100,
    "reserveAfter": 60,
    "jobs": [job("old", 3, running=3), job("gang", 3, minMember=3, since=30), job("small", 5)],
}


def test_gang_that_waited_long_enough_gets_what_is_free() -> None:
    """The one free cpu is kept for it; the small job waits behind, and says for whom."""
    answer = answered(RESERVE)
    assert answer["reserved"] == "gang"
    assert answer["jobs"]["small"]["admitted"] == 0
    assert answer["jobs"]["small"]["reason"] == "RoomReserved"
    assert "gang" in answer["jobs"]["small"]["message"]


def test_before_that_time_smaller_jobs_pass_it() -> None:
    """59 seconds are not 60."""
    answer = answered({**RESERVE, "now": 89})
    assert "reserved" not in answer
    assert answer["jobs"]["small"]["admitted"] == 1


def test_from_that_very_second_room_is_kept() -> None:
    """60 seconds are 60."""
    assert answered({**RESERVE, "now": 90})["reserved"] == "gang"


OVERDUE = {
    "the one that waits longest": ({"since": 20}, {"since": 10}, "b"),
    "the older of two that wait as long": ({"since": 10}, {"since": 10}, "a"),
    "the higher priority before the longer wait": ({"since": 30, "priority": 1}, {"since": 10}, "a"),
}


@pytest.mark.parametrize(("first", "second", "want"), OVERDUE.values(), ids=OVERDUE.keys())
def test_of_several_overdue_gangs_one_is_next(first: dict[str, int], second: dict[str, int], want: str) -> None:
    """Room is kept for one at a time."""
    gangs = [job("a", 3, minMember=3, **first), job("b", 3, minMember=3, **second)]
    assert answered({**RESERVE, "jobs": [job("old", 3, running=3, priority=9), *gangs]})["reserved"] == want


def test_gang_as_large_as_its_bound_is_waited_for() -> None:
    """Its queue may hold four and it needs four, of which others hold one now."""
    value = {**RESERVE, "queues": [{"name": "q", "capability": {"cpu": 4}}], "total": {"cpu": 9}}
    value["jobs"] = [job("old", 1, running=1), job("gang", 4, minMember=4, since=0), job("small", 5)]
    assert answered(value)["reserved"] == "gang"


def test_job_that_runs_already_is_not_waited_for() -> None:
    """Its gang is whole; what it lacks beyond that is no starvation."""
    jobs = [job("old", 3, running=3), job("more", 3, running=1, minMember=1, since=0), job("small", 5, priority=1)]
    assert "reserved" not in answered({**RESERVE, "jobs": jobs})


def test_overdue_gang_that_fits_starts_first_and_others_fill_in_behind() -> None:
    """No reservation is needed then."""
    answer = answered({**RESERVE, "total": {"cpu": 7}})
    assert (answer["jobs"]["gang"]["admitted"], answer["jobs"]["small"]["admitted"]) == (3, 1)
    assert "reserved" not in answer


def test_backfill_uses_only_what_the_reservation_does_not_need() -> None:
    """Memory is free, the gang needs cpu: a job that needs memory alone starts."""
    value = {
        **RESERVE,
        "total": {"cpu": 4, "memory": "4Gi"},
        "jobs": [*RESERVE["jobs"], {"name": "cache", "request": {"memory": "1Gi"}}],
    }
    assert answered(value)["jobs"]["cache"]["admitted"] == 1


def test_reservation_keeps_places_on_nodes() -> None:
    """The gang needs two whole nodes; the free one is kept, so the small job finds none."""
    value = {
        "nodes": [{"name": f"n{n}", "allocatable": {"cpu": 2}} for n in (1, 2)],
        "queues": Q1,
        "now": 100,
        "reserveAfter": 60,
        "jobs": [
            job("old", 1, cpu=1, running={"n1": 1}),
            job("gang", 2, cpu=2, minMember=2, since=0),
            job("small", 3),
        ],
    }
    jobs = answered(value)["jobs"]
    assert (jobs["gang"]["admitted"], jobs["small"]["admitted"]) == (0, 0)


def test_gang_that_could_never_start_holds_nobody_up() -> None:
    """Larger than its queue's bound: no reservation for it."""
    value = {**RESERVE, "queues": [{"name": "q", "capability": {"cpu": 4}}], "total": {"cpu": 9}}
    value["jobs"] = [job("gang", 5, minMember=5, since=0), job("small", 5)]
    answer = answered(value)
    assert "reserved" not in answer
    assert answer["jobs"]["small"]["admitted"] == 4


def test_big_gang_starts_although_small_jobs_never_end_coming() -> None:
    """Small jobs arrive every step and run 5; with a reservation the gang starts within wait and run time."""

    def started(reserve: int | None) -> int | None:
        running: list[int] = []  # when each small job ends
        for now in range(60):
            running = [end for end in running if end > now]
            jobs = [
                job("gang", 4, minMember=4, since=0, created=0),
                job("small", len(running) + 3, running=len(running), created=0, priority=1),
            ]
            value = {"total": {"cpu": 4}, "queues": Q1, "now": now, "jobs": jobs}
            told = answered(value | ({} if reserve is None else {"reserveAfter": reserve}))["jobs"]
            if told["gang"]["admitted"]:
                return now
            running.extend(now + 5 for _ in range(told["small"]["admitted"] - len(running)))
        return None

    assert started(None) is None
    assert started(10) is not None
    assert started(10) <= 10 + 5


@pytest.mark.parametrize(
    ("age", "want"), [(0, 800), (-5, 800), (5, 600), (10, 400), (15, 300), (20, 200), (100, 0), (10**9, 0)]
)
def test_past_usage_halves_every_half_life(age: int, want: int) -> None:
    """Halves, quarters, and straight lines in between."""
    assert decayed(800, age, 10) == want


def test_past_usage_counts_in_the_order_of_namespaces_and_fades() -> None:
    """The namespace that used much lately gets less now; after many half-lives it is like the other."""
    jobs = [job("a", 8, namespace="heavy"), job("b", 8, namespace="light")]
    past = [{"name": "heavy", "past": [{"usage": {"cpu": 4}, "at": 0}]}]
    base = {"total": {"cpu": 8}, "queues": Q1, "namespaces": past, "jobs": jobs, "halfLife": 100}
    admitted = {
        now: [each["admitted"] for each in answered({**base, "now": now})["jobs"].values()] for now in (0, 100, 10_000)
    }
    assert admitted == {0: [2, 6], 100: [3, 5], 10_000: [4, 4]}


def test_age_comes_from_created_else_from_the_order_of_the_input() -> None:
    """One cpu: the older job has it."""
    times = [job("young", created="2026-01-02T00:00:00Z"), job("old", created="2026-01-01T00:00:00")]
    plain = [job("first"), job("second")]
    for jobs, winner in ((times, "old"), (plain, "first")):
        answer = answered({"total": {"cpu": 1}, "queues": Q1, "jobs": jobs})
        assert [name for name, row in answer["jobs"].items() if row["admitted"]] == [winner]


def test_names_used_in_two_namespaces_are_told_apart() -> None:
    """Keys become namespace/name for those."""
    jobs = [job("web", namespace="a"), job("web", namespace="b"), job("db", namespace="a")]
    assert list(answered({"total": {"cpu": 3}, "jobs": jobs})["jobs"]) == ["a/web", "b/web", "db"]


def test_queues_are_those_that_jobs_name_where_none_are_listed() -> None:
    """Weight 1 each."""
    answer = answered({"total": {"cpu": 4}, "jobs": [job("a", 9, queue="x"), job("b", 9, queue="y")]})
    assert {name: queue["allocated"]["cpu"] for name, queue in answer["queues"].items()} == {"x": "2", "y": "2"}


def test_pods_limit_but_do_not_count_in_shares() -> None:
    """Three pods in all: two jobs of unlike size take turns by cpu."""
    jobs = [job("a", 5, cpu=1, namespace="a"), job("b", 5, cpu=2, namespace="b")]
    answer = answered({"total": {"cpu": 90, "pods": 3}, "queues": Q1, "jobs": jobs})
    assert [row["admitted"] for row in answer["jobs"].values()] == [2, 1]
    assert answer["queues"]["q"]["deserved"] == {"cpu": "15"}


def test_what_others_use_on_a_node_is_not_there() -> None:
    """`used` of a node lowers the whole."""
    nodes = [{"name": "n", "allocatable": {"cpu": 4}, "used": {"cpu": 3}}]
    assert answered({"nodes": nodes, "queues": Q1, "jobs": [job("a", 4)]})["jobs"]["a"]["admitted"] == 1
