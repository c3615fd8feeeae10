"""Turns that stay short: the budget follows their length, and an unfinished search goes on."""

from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.turn_types import TurnTerms
from fairlead.live.queue.search_budget import FIRST, LEAST, MOST, TURN, SearchBudget
from tests.live.queue_world import World


def evicting() -> tuple[World, SearchBudget]:
    """Two nodes, everything held by one queue, gangs of another that wait."""
    world = World(4, 4)
    world.queue("a")
    world.queue("b")
    for number in range(4):
        world.group(f"held-{number}", 2, queue="a")
        world.pods(2, f"held-{number}", group=f"held-{number}", on=f"n{number // 2 + 1}", phase="Running")
    for number in range(3):
        world.group(f"waits-{number}", 2, queue="b")
        world.pods(2, f"waits-{number}", group=f"waits-{number}")
    search = SearchBudget(lambda: world.job_cache.generation)
    world.promises.terms = lambda: TurnTerms(policy=SharePolicy(preempt=True, budget=search.budget), tried=search.tried)
    return world, search


def test_budget_follows_the_length_of_turns() -> None:
    """Longer than wanted: less; shorter and unfinished: more; within bounds."""
    _, search = evicting()
    search.took_turn(frozenset("a"), 2 * TURN, preempts=True)
    assert search.budget == FIRST // 2
    search.took_turn(frozenset("a"), TURN / 2, preempts=True)
    assert search.budget == FIRST
    search.took_turn(frozenset(), TURN / 2, preempts=True)
    assert search.budget == FIRST
    for seconds, end in ((100.0, LEAST), (0.0, MOST)):
        for _ in range(20):
            search.took_turn(frozenset("a"), seconds, preempts=True)
        assert search.budget == end


def test_unfinished_search_asks_for_another_turn_until_all_were_tried() -> None:
    """Turn by turn; the first has a budget for one job only."""
    world, search = evicting()
    search.budget = 0
    turns = 1
    while search.took_turn(world.turn()[0].sharing.cursor, TURN, preempts=True):
        turns += 1
        assert turns < 10
    assert turns > 1
    assert search.tried == frozenset()


def test_change_during_a_search_begins_it_once_more() -> None:
    """What was tried before the change may find victims after it."""
    world, search = evicting()
    assert search.took_turn(frozenset({"PodGroup/ns/waits-0"}), TURN, preempts=True)
    world.weigh("ns", "3")
    assert search.took_turn(frozenset(), TURN, preempts=True)
    assert not search.took_turn(frozenset(), TURN, preempts=True)


def test_without_preemption_nothing_goes_on() -> None:
    """No search: a turn that took long leaves the budget as it is."""
    _, search = evicting()
    assert not search.took_turn(frozenset(), 10 * TURN, preempts=False)
    assert search.budget == FIRST
