"""The search for victims within a budget: it stops, tells where, and goes on there (docs/decisions/0247)."""

from dataclasses import replace

from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.columns import ints
from tests.queue.build import J, Q, Tables, tables

SHORT = SharePolicy(preempt=True, budget=1)
"""Enough for one job a decision."""


def contested(waiting: int) -> Tables:
    """A queue that holds everything beside one in which gangs wait."""
    held = [J(0, 0, 2, (1, 0), 2, 0, 2) for _ in range(waiting + 1)]
    return tables((len(held) * 2, 10), [Q(), Q()], [1], [*held, *(J(1, 0, 2, (1, 0), 2) for _ in range(waiting))])


def test_search_without_a_budget_comes_to_its_end() -> None:
    """Nothing is left to go on with."""
    decision = share(*contested(3), policy=SharePolicy(preempt=True))
    assert decision.cursor == frozenset()
    assert len(decision.gains) == 2


def test_search_goes_on_where_the_budget_ended_it() -> None:
    """One job a decision, in order, until all were tried; then it begins again."""
    world = contested(3)
    seen: list[frozenset[str]] = [frozenset()]
    for _ in range(4):
        seen.append(share(*world, policy=SHORT, tried=seen[-1]).cursor)
    assert [sorted(cursor) for cursor in seen] == [[], ["j4"], ["j4", "j5"], [], ["j4"]]


def test_budget_ends_with_the_same_allocation() -> None:
    """Decision by decision, each carried out: no job is forgotten."""
    world = contested(4)
    whole = share(*world, policy=SharePolicy(preempt=True))
    tried: frozenset[str] = frozenset()
    for _ in range(12):
        decision = share(*world, policy=SHORT, tried=tried)
        tried = decision.cursor
        world = world._replace(jobs=replace(world.jobs, role_running=ints([row.admitted for row in decision.jobs])))
    held = [[row.allocated["cpu"] for row in each.queues] for each in (decision, whole)]
    assert held[0] == held[1]


def test_job_that_is_new_comes_in_its_place_in_the_order() -> None:
    """A higher priority is tried before those that are left, whatever was tried before."""
    world = contested(3)
    priority = ints([*world.jobs.priority[:-1].tolist(), 9])
    cursor = share(*world, policy=SHORT).cursor
    world = world._replace(jobs=replace(world.jobs, priority=priority))
    assert share(*world, policy=SHORT, tried=cursor).cursor == cursor | {"j6"}


def test_what_fits_is_granted_however_small_the_budget() -> None:
    """Grants come before the search."""
    world = contested(3)
    world = world._replace(whole=world.whole + ints([2, 0]))
    assert share(*world, policy=replace(SHORT, budget=0)).placements
