"""Turns that evict, one after the other: rights while pods are leaving, held room, and an end to all evictions."""

import random
from typing import Any

import pytest

from fairlead.levels.queue.share import SharePolicy
from fairlead.live.cluster.turn_types import QueueTurn
from tests.live.queue_world import World

PREEMPT = SharePolicy(preempt=True)


def begin(world: World, turn: QueueTurn, *, at_once: bool) -> None:
    """Evict as the turn says: victims are gone and created anew at once, or are leaving for a while."""
    for number, wanted in enumerate(turn.evictions):
        pod = wanted.pod
        like: dict[str, Any] = {
            "group": pod.queue_fields.group,
            "cpu": f"{dict(pod.request)['cpu']}m",
            "priority": pod.priority,
        }
        if at_once:
            world.gone(pod)
            world.pod(f"{pod.metadata.name}.{number}", **like)
        else:
            world.pod(pod.metadata.name, on=wanted.node, leaving=True, **like)
    for promise in turn.promises:
        world.promises.promise(promise)


def settle(world: World) -> None:
    """Promises whose pods have their places are over."""
    for job, promise in list(world.promises.by_job.items()):
        if not any(key in world.cache.waiting for key in promise.places):
            world.promises.withdraw(job)


def test_queues_keep_their_rights_while_pods_are_leaving() -> None:
    """Three queues of equal right; two reclaim theirs one after the other from the first, no more and no less.

    While pods are leaving nobody deserves less; the third has to wait until their room is there.
    """
    world = World(6, policy=PREEMPT)
    for name in ("a", "b", "c"):
        world.queue(name)
    world.group("first", 1, queue="a")
    world.pods(6, "first", group="first")
    world.turn()
    world.group("second", 2, queue="b")
    world.pods(2, "second", group="second")
    turn, _ = world.turn()
    assert [wanted.beneficiary for wanted in turn.evictions] == ["PodGroup/ns/second"] * 2
    begin(world, turn, at_once=False)
    victims = [wanted.pod for wanted in turn.evictions]
    world.group("third", 2, queue="c")
    world.pods(2, "third", group="third")
    turn, _ = world.turn()
    assert {row.name: row.deserved["cpu"] for row in turn.sharing.queues if row.name != "default"} == {
        "a": 2000,
        "b": 2000,
        "c": 2000,
    }
    assert turn.evictions == ()
    for pod in victims:
        world.gone(pod)
    turn, _ = world.turn()
    assert world.held() == {"PodGroup/ns/first": 4, "PodGroup/ns/second": 2}
    settle(world)
    assert [wanted.beneficiary for wanted in turn.evictions] == ["PodGroup/ns/third"] * 2
    assert {wanted.action for wanted in turn.evictions} == {"reclaim"}
    begin(world, turn, at_once=False)
    turn, _ = world.turn()
    assert turn.evictions == ()
    assert world.held() == {"PodGroup/ns/first": 2, "PodGroup/ns/second": 2}


def test_room_is_held_against_later_pods_until_the_last_victim_is_gone() -> None:
    """One of two victims is gone: neither the gang nor a smaller pod starts; then the gang does, as a whole."""
    world = World(4, policy=PREEMPT)
    world.group("low", 1)
    low = world.pods(4, "low", group="low")
    world.turn()
    world.group("high", 2)
    world.pods(2, "high", group="high", priority=9)
    turn, _ = world.turn()
    begin(world, turn, at_once=False)
    victims = [wanted.pod for wanted in turn.evictions]
    assert len(victims) == 2
    world.pod("small", priority=-1)
    for victim in victims:
        turn, _ = world.turn()
        assert turn.grants == ()
        assert turn.evictions == ()
        world.gone(victim)
    world.turn()
    assert world.held() == {"PodGroup/ns/low": 2, "PodGroup/ns/high": 2}
    assert len(low) == 4


@pytest.mark.parametrize("seed", range(12))
def test_evictions_come_to_rest_and_each_betters_something(seed: int) -> None:
    """Random queues, weights, priorities and gangs; whoever is evicted comes back at once and asks again."""
    draw = random.Random(seed)
    world = World(*(draw.randint(2, 6) for _ in range(3)), policy=PREEMPT)
    for number in range(3):
        world.queue(f"q{number}", weight=draw.randint(1, 4))
    for number in range(8):
        pods, name = draw.randint(1, 5), f"g{number}"
        world.group(name, draw.randint(1, pods), queue=f"q{draw.randrange(3)}")
        priority = draw.choice((0, 0, 5))
        world.pods(pods, name, group=name, cpu=draw.choice(("500m", "1", "2")), priority=priority)
        if number % 3 == 0:
            world.turn()
    seen = 0
    for _ in range(60):
        turn, _ = world.turn()
        settle(world)
        beneficiaries = {wanted.beneficiary for wanted in turn.evictions}
        gains = [turn.sharing.gains[job] for job in beneficiaries]
        assert all(gain is not None and gain.better for gain in gains)
        assert beneficiaries == {promise.job for promise in turn.promises if promise.job in beneficiaries}
        seen += len(turn.evictions)
        begin(world, turn, at_once=True)
        if not turn.evictions and not turn.grants:
            break
    else:
        pytest.fail(f"{seen} evictions and no end")
