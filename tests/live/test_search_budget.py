"""Turns that stay short: the budget follows their length, and an unfinished search goes on."""

from fairlead.levels.queue.share import SharePolicy
from fairlead.live.queue.search_budget import FIRST, LEAST, MOST, TURN, SearchBudget
from tests.live.queue_world import World


def evicting(budget: int = FIRST) -> tuple[World, SearchBudget]:
    """Two nodes, everything held by one queue, gangs of another that wait."""
    world = World(4, 4, policy=SharePolicy(preempt=True, budget=budget))
    world.queue("a")
    world.queue("b")
    for number in range(4):
        world.group(f"held-{number}", 2, queue="a")
        world.pods(2, f"held-{number}", group=f"held-{number}", on=f"n{number // 2 + 1}", phase="Running")
    for number in range(3):
        world.group(f"waits-{number}", 2, queue="b")
        world.pods(2, f"waits-{number}", group=f"waits-{number}")
    return world, SearchBudget(world.promises, lambda: world.job_cache.generation)


def test_budget_follows_the_length_of_turns() -> None:
    """Longer than wanted: less; shorter and unfinished: more; within bounds."""
    world, search = evicting()
    search.took_turn(frozenset("a"), 2 * TURN)
    assert world.promises.policy.budget == FIRST // 2
    search.took_turn(frozenset("a"), TURN / 2)
    assert world.promises.policy.budget == FIRST
    search.took_turn(frozenset(), TURN / 2)
    assert world.promises.policy.budget == FIRST
    for seconds, end in ((100.0, LEAST), (0.0, MOST)):
        for _ in range(20):
            search.took_turn(frozenset("a"), seconds)
        assert world.promises.policy.budget == end


def test_unfinished_search_asks_for_another_turn_until_all_were_tried() -> None:
    """Turn by turn, with a budget for one job each."""
    world, search = evicting(budget=0)
    turns = 1
    while search.took_turn(world.turn()[0].sharing.cursor, TURN):
        turns += 1
        assert turns < 10
    assert turns > 1
    assert world.promises.tried == frozenset()


def test_change_during_a_search_begins_it_once_more() -> None:
    """What was tried before the change may find victims after it."""
    world, search = evicting(budget=0)
    assert search.took_turn(frozenset({"PodGroup/ns/waits-0"}), TURN)
    world.weigh("ns", "3")
    assert search.took_turn(frozenset(), TURN)
    assert not search.took_turn(frozenset(), TURN)


def test_without_preemption_nothing_goes_on() -> None:
    """No search, no cursor."""
    world, search = evicting()
    world.promises.policy = SharePolicy()
    assert not search.took_turn(frozenset(), 10 * TURN)
    assert world.promises.policy.budget is None
