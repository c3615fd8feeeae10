"""Replicas above a gang are levelled by eviction, one by one, and break no gang (docs/decisions/0281)."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.queues import Like, held_rows
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.columns import ints
from fairlead.model.jobs import UNSET
from fairlead.model.queuestate import QueuedJob, QueueEntry, Role, queue_state
from fairlead.problems import share as problem
from fairlead.text.documents import strict
from tests.queue.build import J, Q, Tables, tables

HELD = {"ns1": 50, "ns2": 86, "ns3": 23, "ns4": 1}
ASKED = {"ns1": 50, "ns2": 100, "ns3": 100, "ns4": 20}
QUEUE_OF = {"ns1": "q1", "ns2": "q1", "ns3": "q2", "ns4": "q2"}


def late(**more: Any) -> dict[str, Any]:
    """16 cpu in replicas of a tenth: two namespaces came first, two came late and hold little."""
    jobs = [
        {"name": name, "namespace": name, "queue": QUEUE_OF[name], "replicas": ASKED[name], "running": HELD[name]}
        for name in HELD
    ]
    queues = [{"name": "q1"}, {"name": "q2"}]
    return {
        "preempt": True,
        "total": {"cpu": 16},
        "queues": queues,
        "jobs": [{**job, "request": {"cpu": "100m"}, **more} for job in jobs],
    }


def answered(value: dict[str, Any]) -> dict[str, Any]:
    """The JSON answer."""
    asked = strict(value, problem.PROBLEM)
    return problem.answer(asked, problem.solve(asked))


def test_namespaces_that_came_late_get_what_they_deserve() -> None:
    """5, 8.6, 2.3 and 0.1 become 4, 4, 6 and 2; nobody loses more than is above its share."""
    answer = answered(late())
    held = {row["namespace"]: row["allocated"]["cpu"] for row in answer["namespaces"]}
    assert held == {"ns1": "4", "ns2": "4", "ns3": "6", "ns4": "2"}
    assert answer["victims"] == {"ns1": 10, "ns2": 46}


def test_gangs_stay_whole() -> None:
    """What belongs to a gang stays, so that the late ones get only what is above: 5 and 8.4 are gangs."""
    value = late()
    value["jobs"][0]["minMember"], value["jobs"][1]["minMember"] = 50, 84
    answer = answered(value)
    assert answer["victims"] == {"ns2": 2, "ns3": 10}
    assert [answer["jobs"][name]["admitted"] for name in HELD] == [50, 84, 13, 13]


def test_jobs_of_one_namespace_keep_what_they_run() -> None:
    """Inside a namespace nobody goes for a replica above a gang of equal priority."""
    jobs = [
        {"name": "early", "replicas": 8, "running": 7, "request": {"cpu": 1}},
        {"name": "late", "replicas": 8, "running": 1, "request": {"cpu": 1}},
    ]
    answer = answered({"preempt": True, "total": {"cpu": 8}, "queues": [{"name": "q"}], "jobs": jobs})
    assert answer["victims"] == {}


@pytest.mark.parametrize(("most", "want"), [(0, 0), (1, 1), (7, 7), (None, 56)])
def test_no_more_go_in_one_decision_than_the_policy_allows(most: int | None, want: int) -> None:
    """The live scheduler bounds them, so that all of them can be paid for."""
    world = _tables()
    decision = share(*world, policy=SharePolicy(preempt=True, elastic=most))
    assert sum(victim.count for victim in decision.victims) == want


def _tables() -> Tables:
    jobs = [J(int(QUEUE_OF[name][1]) - 1, row, ASKED[name], (1, 0), 1, 0, HELD[name]) for row, name in enumerate(HELD)]
    return tables((160, 10), [Q(), Q()], [1, 1, 1, 1], jobs)


def test_gang_that_starts_by_eviction_takes_no_more_where_evictions_are_bounded() -> None:
    """Its evictions are paid for together: what is above the gang has its turn later."""
    held = J(0, 0, 8, (1, 0), 1, 0, 8)
    world = tables((8, 10), [Q()], [1, 1], [held, J(0, 1, 8, (1, 0), 2, 0, 0)])
    for most, want in ((None, 4), (100, 2)):
        decision = share(*world, policy=SharePolicy(preempt=True, elastic=most))
        assert sum(victim.count for victim in decision.victims) == want


def test_job_does_not_lose_what_it_has_just_got() -> None:
    """Whoever gains loses nothing in the same decision, and whoever loses gains nothing."""
    answer = answered(late())
    gained = {name for name, row in answer["jobs"].items() if row["admitted"] > HELD[name]}
    assert gained == {"ns3", "ns4"}
    assert not gained & set(answer["victims"])


def test_newest_replicas_go_first_wherever_they_run() -> None:
    """Four of one job on two nodes, made in turn: the two youngest go, one from each node."""

    def like(number: int) -> tuple[str, str, Like]:
        return f"p{number}", f"2026-01-0{number}", (f"n{number % 2}", 0, True, False, UNSET)

    first = Role(replicas=4, request={"cpu": 1}, held=held_rows(like(number) for number in (1, 2, 3, 4)))
    late = Role(replicas=4, request={"cpu": 1}, held=())
    state = queue_state(
        jobs=[
            QueuedJob(name="first", queue="q", namespace="one", roles=(first,)),
            QueuedJob(name="late", queue="q", namespace="two", roles=(late,)),
        ],
        queues=[QueueEntry(name="q")],
        weights={},
        past={},
        whole={"cpu": 4},
    )
    policy = SharePolicy(preempt=True)
    decision = share(state.jobs, state.queues, state.namespaces, state.whole, running=state.running, policy=policy)
    gone = [name for victim in decision.victims for name in state.running.names[victim.row][: victim.count]]
    assert sorted(gone) == ["p3", "p4"]


@st.composite
def states(draw: st.DrawFn) -> tuple[Tables, int]:
    """Elastic jobs of equal replicas, one a namespace, in up to three queues; everything is held by somebody."""
    queues = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    jobs = []
    for namespace in range(draw(st.integers(2, 5))):
        running = draw(st.integers(1, 12))
        more = draw(st.integers(0, 12))
        jobs.append(J(draw(st.integers(0, len(queues) - 1)), namespace, running + more, (1, 0), 1, 0, running))
    total = sum(job.running for job in jobs)
    return tables((total, 1), [Q(weight=weight) for weight in queues], [1] * len(jobs), jobs), total


@given(states())
def test_at_rest_nobody_is_a_replica_short_while_another_has_one_too_many(drawn: tuple[Tables, int]) -> None:
    """Queue by queue against what is deserved, and inside a queue between namespaces that still ask for more."""
    world, total = drawn
    decision, rounds = _settled(world)
    assert rounds <= 3
    assert sum(row.admitted for row in decision.jobs) == total
    far = [row for row in decision.queues if row.distance * total >= 1]
    short = [row for row in far if row.allocated["cpu"] < row.deserved["cpu"]]
    over = [row for row in far if row.allocated["cpu"] > row.deserved["cpu"] and _spare(decision, row)]
    assert not (short and over)
    for queue in {row.queue for row in decision.namespaces}:
        rows = [row for row in decision.namespaces if row.queue == queue]
        wants = [row.allocated["cpu"] for row in rows if row.allocated["cpu"] < row.requested["cpu"]]
        gives = [row.allocated["cpu"] for row in rows if row.allocated["cpu"] > 1]
        assert not wants or not gives or max(gives) - min(wants) <= 1


def _spare(decision: Any, queue: Any) -> bool:
    """Whether a job of the queue holds more than its gang."""
    return any(row.queue == queue.name and row.admitted > 1 for row in decision.jobs)


def _settled(world: Tables) -> tuple[Any, int]:
    """The decision after which nothing changes, and how many went before it."""
    decision, rounds = share(*world, policy=SharePolicy(preempt=True)), 0
    while decision.victims:
        jobs = replace(world.jobs, role_running=ints([row.admitted for row in decision.jobs]))
        world, rounds = world._replace(jobs=jobs), rounds + 1
        decision = share(*world, policy=SharePolicy(preempt=True))
    return decision, rounds


def test_share_of_a_namespace_is_what_the_weights_say() -> None:
    """Weights 1 and 3 of a queue of 16: 4 and 12, from 16 and 0 with a gang of one."""
    world = tables((16, 1), [Q()], [1, 3], [J(0, 0, 16, (1, 0), 1, 0, 16), J(0, 1, 16, (1, 0), 1, 0, 0)])
    decision = share(*world, policy=SharePolicy(preempt=True))
    assert [Fraction(row.allocated["cpu"]) for row in decision.namespaces] == [4, 12]
