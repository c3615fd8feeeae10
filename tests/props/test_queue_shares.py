"""Shares at rest where one resource is scarce and one is abundant (docs/decisions/0246)."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.levels.queue.result import JobRow, Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.columns import Bool, ints
from fairlead.model.jobs import UNSET, RunningTable, running_of
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


Keep = Callable[[RunningTable], RunningTable]
"""Protects running replicas, by a rule of its own."""


def at_rest(world: Tables, keep: Keep = lambda running: running) -> Sharing:
    """Decide and carry out until nothing changes; what was evicted is created anew and waits."""
    for _ in range(200):
        decision = share(*world, running=keep(running_of(world.jobs)), policy=EVICTING)
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
    assert not lacking(world, at_rest(world), size)


def lacking(world: Tables, decision: Sharing, size: int) -> list[JobRow]:
    """The waiting jobs of queues that lack a gang while another holds one beyond its share."""
    rights = [right[0] for right in decision.exact_deserved]
    over = [row.allocated["cpu"] - right for row, right in zip(decision.queues, rights, strict=False)]
    short = {row.name for row, more in zip(decision.queues, over, strict=True) if -more >= size}
    if max(over) < size:
        return []
    return [
        row for row, queue in zip(decision.jobs, world.jobs.queue_names, strict=True) if row.pending and queue in short
    ]


def higher(running: RunningTable, rows: Bool, allowed: int) -> RunningTable:
    """Their priority is above that of all who wait."""
    return replace(running, priority=np.where(rows, 9, running.priority))


def budgeted(running: RunningTable, rows: Bool, allowed: int) -> RunningTable:
    """One disruption budget covers them all."""
    return replace(running, budget=np.where(rows, 0, UNSET), allowed=ints([allowed]))


def marked(running: RunningTable, rows: Bool, allowed: int) -> RunningTable:
    """They say so themselves, for good or until they have run for a while."""
    return replace(running, preemptable=~rows)


def of_the_system(running: RunningTable, rows: Bool, allowed: int) -> RunningTable:
    """They are part of the system."""
    return replace(running, protected=rows)


RULES = {
    higher: "their priority is higher",
    budgeted: "disruption budgets allow no more",
    marked: "they are marked as not preemptable, or have not run for their cooldown time",
    of_the_system: "they belong to the system",
}


@settings(max_examples=200)
@given(scarce_and_abundant(), st.sampled_from(list(RULES)), st.integers(0, 2**16), st.integers(0, 3))
def test_a_rule_that_keeps_a_queue_from_its_share_is_said(
    cluster: tuple[Tables, int], rule: Callable[[RunningTable, Bool, int], RunningTable], chosen: int, allowed: int
) -> None:
    """Some jobs are protected while they run. Whoever then lacks a gang that another holds is told of that rule."""
    world, size = cluster
    protected = np.array([bool(chosen >> (job % 17) & 1) for job in range(len(world.jobs))], dtype=bool)
    decision = at_rest(world, lambda running: rule(running, protected[running.job], allowed))
    for job in lacking(world, decision, size):
        assert job.finding is not None
        assert job.finding.code == "RoomProtected"
        assert job.finding.details["rule"] == RULES[rule]
