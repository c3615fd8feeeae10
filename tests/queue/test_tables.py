"""The text's tables and examples, by name."""

from fractions import Fraction
from typing import Any

import pytest

from fairlead.levels.queue.grants.order import namespace_measure
from fairlead.model.queuestate import QueuedJob, queue_state
from fairlead.problems import share
from fairlead.text.documents import strict
from tests.queue.tables import TABLES, Table, problem


def answered(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer to a problem."""
    asked = strict(value, share.PROBLEM)
    return share.answer(asked, share.solve(asked))


@pytest.mark.parametrize("one_job", [True, False], ids=["one elastic job", "one job a cpu"])
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_share_of_a_table_gives_what_it_assigns(table: Table, one_job: bool) -> None:
    """Queues and namespaces get what the table says, however the request is cut into jobs."""
    answer = answered(problem(table, one_job=one_job))
    assert {name: queue["allocated"] for name, queue in answer["queues"].items()} == {
        name: {"cpu": str(assigned)} for name, (_, assigned) in table.queues.items()
    }
    assert {name: queue["deserved"] for name, queue in answer["queues"].items()} == {
        name: {"cpu": str(assigned)} for name, (_, assigned) in table.queues.items()
    }
    assert {(row["queue"], row["namespace"]): row["allocated"]["cpu"] for row in answer["namespaces"]} == {
        (row.queue, row.namespace): str(row.assigned) for row in table.rows
    }
    assert answer["unplaced"] == sum(row.requested - row.assigned for row in table.rows)


@pytest.mark.parametrize("requested", [4, 5, 40])
def test_share_of_the_third_table_needs_only_4_cpu_of_demand_in_q1(requested: int) -> None:
    """Whatever more the blank row asks for, the answer is the same."""
    table = TABLES["one namespace in two queues"]
    rows = (table.rows[0]._replace(requested=requested), *table.rows[1:])
    answer = answered(problem(Table(table.queues, rows), one_job=True))
    assert [row["allocated"]["cpu"] for row in answer["namespaces"]] == ["4", "3", "9"]


def test_share_of_the_third_table_without_demand_in_q1_leaves_everything_to_q2() -> None:
    """A queue without jobs takes no part."""
    table = TABLES["one namespace in two queues"]
    answer = answered(problem(Table(table.queues, table.rows[1:]), one_job=True))
    assert answer["queues"]["q2"]["allocated"] == {"cpu": "16"}
    assert [row["allocated"]["cpu"] for row in answer["namespaces"]] == ["4", "12"]


def test_namespace_with_weight_3_and_6_cpu_uses_less_than_one_with_weight_1_and_3_cpu() -> None:
    """The text's comparison in the one reading in which it is true: 6/3 < 3/1."""
    used_less = namespace_measure([16], 3, [0]).share([6])
    used_more = namespace_measure([16], 1, [0]).share([3])
    assert (used_less, used_more) == (Fraction(2, 16), Fraction(3, 16))


def test_ten_pods_of_one_user_are_not_drowned_by_a_thousand_of_another() -> None:
    """The motivation: one user with 10 replicas, another with 1000, a queue of 20 cpu."""
    jobs = [
        {"name": user, "namespace": user, "replicas": count, "request": {"cpu": 1}}
        for user, count in (("user-b", 1000), ("user-a", 10))
    ]
    answer = answered({"total": {"cpu": 20}, "queues": [{"name": "small"}], "jobs": jobs})
    assert (answer["jobs"]["user-a"]["admitted"], answer["jobs"]["user-b"]["admitted"]) == (10, 10)


def test_after_job1_the_order_is_job3_then_job2() -> None:
    """ns1 has job1 and job2, ns2 has job3 and job4: once job1 is served, ns2 comes first."""
    jobs = [
        {"name": f"job{number}", "namespace": "ns1" if number < 3 else "ns2", "replicas": 1, "request": {"cpu": 1}}
        for number in (1, 2, 3, 4)
    ]
    answer = answered({"total": {"cpu": 2}, "queues": [{"name": "q"}], "jobs": jobs})
    assert {name for name, job in answer["jobs"].items() if job["admitted"]} == {"job1", "job3"}


def test_jobs_are_ranked_by_age_then_natural_name_and_those_without_a_time_come_last_as_given() -> None:
    """Two of one time go by name, j2 before j10; without a time the order of the input counts, not the name."""
    times = {"z": None, "j10": 5.0, "a": None, "j2": 5.0, "k": 4.0}
    jobs = [QueuedJob(name=name, queue="q", namespace="n", roles=(), created=time) for name, time in times.items()]
    state = queue_state(jobs=jobs, queues=(), weights={}, past={}, whole={"cpu": 1})
    assert dict(zip(times, state.jobs.age.tolist(), strict=True)) == {"k": 0, "j2": 1, "j10": 2, "z": 3, "a": 4}
