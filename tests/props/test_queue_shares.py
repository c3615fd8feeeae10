"""Shares at rest where one resource is scarce and one is abundant (docs/decisions/0246)."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.columns import ints
from tests.queue.build import J, Q, Tables, tables

EVICTING = SharePolicy(preempt=True)


@st.composite
def scarce_and_abundant(draw: st.DrawFn) -> tuple[Tables, int]:
    """Gangs of one size in up to four queues, more of them than fit; memory as they like; and the size."""
    size, places = draw(st.integers(1, 4)), draw(st.integers(4, 12))
    queues = [Q(weight=draw(st.integers(1, 4))) for _ in range(draw(st.integers(2, 4)))]
    jobs: list[J] = []
    left = places
    for queue in range(len(queues)):
        runs = draw(st.integers(0, left))
        left -= runs
        for number in range(draw(st.integers(runs, places))):
            request = (1, draw(st.integers(0, 9)))
            jobs.append(J(queue, 0, size, request, size, 0, size if number < runs else 0))
    asked = sum(job.replicas * job.request[1] for job in jobs)
    spare = draw(st.integers(0, size - 1))
    return tables((places * size + spare, asked + draw(st.integers(1, 1000))), queues, [1], jobs), size


def at_rest(world: Tables) -> Sharing:
    """Decide and carry out until nothing changes; what was evicted is created anew and waits."""
    for _ in range(200):
        decision = share(*world, policy=EVICTING)
        running = ints([row.admitted for row in decision.jobs])
        if np.array_equal(running, world.jobs.role_running):
            return decision
        world = world._replace(jobs=replace(world.jobs, role_running=running))
    raise AssertionError("evictions do not end")


@settings(max_examples=200)
@given(scarce_and_abundant())
def test_no_queue_lacks_a_gang_that_another_holds_beyond_its_share(cluster: tuple[Tables, int]) -> None:
    """However the abundant resource is spread, and whoever ran first."""
    world, size = cluster
    decision = at_rest(world)
    rights = [right[0] for right in decision.exact_deserved]
    over = [row.allocated["cpu"] - right for row, right in zip(decision.queues, rights, strict=False)]
    waiting = {world.jobs.queue_names[number] for number, row in enumerate(decision.jobs) if row.pending}
    short = [-more for row, more in zip(decision.queues, over, strict=True) if row.name in waiting]
    assert max(short, default=0) < size or max(over) < size
