"""The victims of a preemption against every choice there is, on small clusters."""

from dataclasses import replace
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fairlead.engine.explain_queue import lines
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.levels.queue.preemption import victim_search
from fairlead.levels.queue.preemption.preempt import Preemption
from fairlead.levels.queue.preemption.victim_order import Bite, cost
from fairlead.levels.queue.preemption.victims import Claim, branch_of, over
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.jobs import UNSET, RunningTable, running_of
from tests.queue.build import J, Q, Tables, tables

EVICTING = SharePolicy(preempt=True)
MOST_CHOICES = 3000


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Tables, RunningTable, np.ndarray | None]:
    """A cluster that is nearly full, gangs that wait, disruption budgets, and nodes at times."""
    queues = draw(
        st.lists(
            st.builds(
                lambda weight, most, parent: Q(weight=weight, capability=(most, UNSET), parent=parent),
                st.integers(1, 3),
                st.sampled_from([UNSET, UNSET, 9]),
                st.just(""),
            ),
            min_size=1,
            max_size=3,
        )
    )
    if draw(st.booleans()):
        queues.append(Q(parent="q0"))
        queues.append(Q(parent="q0", weight=2))
    leaves = [row for row in range(len(queues)) if f"q{row}" not in [queue.parent for queue in queues]]
    running = draw(
        st.lists(
            st.builds(
                lambda queue, namespace, count, request, least, priority: J(
                    queue, namespace, count, request, min(least, count), priority, count
                ),
                st.sampled_from(leaves),
                st.integers(0, 1),
                st.integers(1, 3),
                st.tuples(st.integers(0, 4), st.integers(0, 3)),
                st.integers(0, 3),
                st.sampled_from([0, 0, 1, 2]),
            ),
            min_size=2,
            max_size=5,
        )
    )
    waiting = draw(
        st.lists(
            st.builds(
                lambda queue, namespace, count, request, priority: J(queue, namespace, count, request, count, priority),
                st.sampled_from(leaves),
                st.integers(0, 1),
                st.integers(1, 3),
                st.tuples(st.integers(1, 5), st.integers(0, 3)),
                st.sampled_from([0, 1, 2, 5]),
            ),
            min_size=1,
            max_size=2,
        )
    )
    jobs = [*running, *waiting]
    used = np.array([np.array(job.request) * job.running for job in jobs]).sum(axis=0)
    free = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    world = tables([max(1, int(used[0]) + free[0]), max(1, int(used[1]) + free[1])], queues, [1, 2], jobs)
    return world, *_placed(draw, world)


def _placed(draw: st.DrawFn, world: Tables) -> tuple[RunningTable, np.ndarray | None]:
    """What runs, with budgets, on nodes or not; free amounts by node."""
    plain = running_of(world.jobs)
    budgets = draw(st.lists(st.sampled_from([UNSET, UNSET, 0, 1]), min_size=len(plain), max_size=len(plain)))
    node, free = plain.node, None
    if draw(st.booleans()):
        node = np.array(draw(st.lists(st.integers(0, 2), min_size=len(plain), max_size=len(plain))))
        free = np.array(draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=3, max_size=3)))
    table = RunningTable(
        job=plain.job,
        role=plain.role,
        node=node,
        count=plain.count,
        priority=plain.priority,
        preemptable=plain.preemptable,
        protected=plain.protected,
        budget=np.array(budgets),
        allowed=np.array(draw(st.tuples(st.integers(0, 2), st.integers(0, 3)))),
    )
    return table, free


def every_choice(preemption: Preemption, claim: Claim, limits: list[int]) -> list[list[Bite]]:
    """All allowed choices that make room."""
    open_to = [number for number, limit in enumerate(limits) if limit]
    size = np.prod([limits[number] + 1 for number in open_to], dtype=float)
    assume(size <= MOST_CHOICES)
    found = []
    for counts in product(*(range(limits[number] + 1) for number in open_to)):
        taken = {number: count for number, count in zip(open_to, counts, strict=True) if count}
        bites = [Bite([(preemption.groups[number], count)], False) for number, count in taken.items()]
        if allowed(preemption, claim, limits, taken) and preemption._fits(claim, bites):
            found.append(bites)
    return found


def allowed(preemption: Preemption, claim: Claim, limits: list[int], taken: dict[int, int]) -> bool:
    """Gangs keep their minimum or go as a whole, budgets hold, and branches are taken from only above their right."""
    state, groups = preemption.state, preemption.groups
    units: list[tuple[int, list[int]]] = []
    for job in {groups[number].job for number in taken}:
        gone = sum(count for number, count in taken.items() if groups[number].job == job)
        mine = {n: count for n, count in taken.items() if groups[n].job == job}
        whole = gone == state.members.count(job)
        if not whole and state.members.count(job) - gone < state.members.minimum(job):
            return False
        amounts = [(state.members.requests[groups[n].role], count) for n, count in mine.items()]
        if whole and state.members.minimum(job):
            units.append((job, [sum(use[r] * count for use, count in amounts) for r in range(2)]))
        else:
            units.extend((job, use) for use, count in amounts for _ in range(count))
    spent = [0] * len(preemption.allowed)
    for number, count in taken.items():
        if groups[number].budget != UNSET:
            spent[groups[number].budget] += count
    if any(count > most for count, most in zip(spent, preemption.allowed, strict=True)):
        return False
    foreign = [(state.queue_of[job], use) for job, use in units if state.queue_of[job] != claim.queue]
    return ordered(preemption, claim, foreign, {})


def ordered(
    preemption: Preemption, claim: Claim, units: list[tuple[int, list[int]]], gone: dict[int, list[int]]
) -> bool:
    """Whether there is an order in which each unit comes from a branch that still holds more than its right."""
    if not units:
        return True
    seen = set()
    for place, (queue, use) in enumerate(units):
        if (queue, tuple(use)) in seen:
            continue
        seen.add((queue, tuple(use)))
        branch = branch_of(preemption.state, claim, queue)
        before = gone.get(branch, [0, 0])
        if any(use[r] and before[r] < surplus for r, surplus in over(preemption.state, claim, queue)):
            after = {**gone, branch: [before[r] + use[r] for r in range(2)]}
            if ordered(preemption, claim, units[:place] + units[place + 1 :], after):
                return True
    return False


def rooms(world: Tables, free: np.ndarray | None) -> NodeRoom | None:
    """The nodes, where there are any; every role may go anywhere."""
    if free is None:
        return None
    where = np.ones((len(world.jobs.role_request), len(free)), dtype=bool)
    return NodeRoom(world.jobs.resources, free, world.jobs.role_request, where)


@given(clusters())
def test_victims_are_the_cheapest_of_all_choices(cluster: tuple[Tables, RunningTable, np.ndarray | None]) -> None:
    """For every job that looks for room the first choice costs as little as any choice there is."""
    world, running, free = cluster
    choices = Preemption._choices

    def compared(self: Preemption, claim: Claim, limits: list[int]) -> tuple[list[list[Bite]], bool]:
        found, complete = choices(self, claim, limits)
        every = every_choice(self, claim, limits)
        assert bool(found) == bool(every)
        if every:
            assert cost(found[0]) == min(map(cost, every))
        assert complete
        return found, complete

    with patch.object(Preemption, "_choices", compared):
        share(*world, rooms(world, free), running=running, policy=EVICTING)


@given(clusters())
def test_who_is_not_tried_would_not_have_been_better(cluster: tuple[Tables, RunningTable, np.ndarray | None]) -> None:
    """With every scope searched that has anybody in it, the same replicas go for the same jobs."""
    world, running, free = cluster
    usual = share(*world, rooms(world, free), running=running, policy=EVICTING)
    with patch.object(Preemption, "_hopeful", lambda self, claim, limits, standing: any(limits)):
        thorough = share(*world, rooms(world, free), running=running, policy=EVICTING)
    assert usual.victims == thorough.victims
    assert usual.jobs == thorough.jobs


@pytest.mark.parametrize(("visits", "policy"), [(0, EVICTING), (1000, replace(EVICTING, patience=0))])
def test_a_search_that_is_too_long_says_so(visits: int, policy: SharePolicy) -> None:
    """Where the search gives up, the choice found in order stands, and the trace tells."""
    jobs = [J(0, 0, 3, [(4, 0), (0, 4)][n % 2], 1, 0, 3) for n in range(4)] + [J(0, 1, 1, (7, 5), 1, 5)]
    world = tables((24, 24), [Q()], [1, 1], jobs)
    usual = share(*world, policy=EVICTING)
    with patch.object(victim_search, "MOST_VISITS", visits):
        hasty = share(*world, policy=policy)
    assert usual.trace.notes == ()
    assert hasty.trace.notes == ("there may be fewer victims for j4: the search for them was too long",)
    assert hasty.victims
    assert f"{hasty.trace.notes[0]}." in lines(hasty)


def test_a_choice_among_very_many_is_proven_where_fewer_could_not_make_room() -> None:
    """More groups than are searched, but one replica is needed and one is taken: nothing is left to look for."""
    jobs = [J(0, 0, 2, (3, 1), 1, 0, 2) for _ in range(300)] + [J(0, 1, 1, (3, 1), 1, 5)]
    decision = share(*tables((1800, 900), [Q()], [1, 1], jobs), policy=EVICTING)
    assert [victim.count for victim in decision.victims] == [1]
    assert decision.trace.notes == ()


def test_a_choice_among_too_many_is_not_searched() -> None:
    """Two resources lack, and every victim gives one of them: a proof takes a search, and that is said."""
    jobs = [J(0, 0, 2, [(4, 0), (0, 4)][n % 2], 1, 0, 2) for n in range(300)] + [J(0, 1, 3, (7, 9), 3, 5)]
    decision = share(*tables((1200, 1200), [Q()], [1, 1], jobs), policy=EVICTING)
    assert decision.victims
    assert len(decision.trace.notes) == 1


def on_nodes(jobs: list[J], nodes: list[int], free: list[int]) -> Sharing:
    """What is evicted in one queue; `nodes` are those of the jobs that run, `free` their free cpu."""
    whole = sum(job.request[0] * job.running for job in jobs) + sum(free)
    world = tables((whole, 1), [Q()], [1], jobs)
    running = replace(running_of(world.jobs), node=np.array(nodes))
    return share(*world, rooms(world, np.array([(cpu, 0) for cpu in free])), running=running, policy=EVICTING)


def test_equal_jobs_are_told_apart_by_their_nodes() -> None:
    """Equal replicas on two nodes: one eviction on the emptier node makes room, two on the other would, too."""
    runs = [J(replicas=n, running=n, minimum=0) for n in (2, 1, 1, 1)]
    found = on_nodes([*runs, J(request=(3, 0), priority=5)], [0, 0, 0, 1], [1, 2])
    assert [(victim.job, victim.count) for victim in found.victims] == [("j3", 1)]


def test_equal_jobs_do_not_make_the_search_long() -> None:
    """Of ten equal jobs on a node any five may go, and none of the 252 choices is better: that is proven."""
    runs, nodes = [J(running=1, minimum=0)] * 20, [0] * 10 + [1] * 10
    found = on_nodes([*runs, J(request=(5, 0), priority=5)], nodes, [0, 0, 1, 1, 1, 1])
    assert (len(found.victims), found.trace.notes) == (5, ())


def test_what_was_just_granted_is_taken_back_from_its_node() -> None:
    """The small one got the room that the gang could not use; with it and one eviction the gang starts there."""
    jobs = [J(running=1, minimum=0), J(request=(2, 0), priority=5), J()]
    found = on_nodes(jobs, [0], [1])
    assert [(victim.job, victim.count) for victim in found.victims] == [("j0", 1)]
    assert [row.admitted for row in found.jobs] == [0, 1, 0]
