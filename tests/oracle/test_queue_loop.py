"""The grants in bulk against the text's loop, turn by turn."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.queue.grant import Loop
from fairlead.levels.queue.share import share
from fairlead.model.columns import ints
from fairlead.model.jobs import UNSET
from tests.queue.build import J, Q, Tables, tables
from tests.queue.reference import Reference

AMOUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6))


@st.composite
def worlds(draw: st.DrawFn, most_replicas: int = 40) -> Tables:
    """A few queues, namespaces and jobs over two resources; room for some of what is asked."""
    bound = st.one_of(st.just(UNSET), st.integers(0, 120))
    queues = draw(
        st.lists(
            st.builds(
                _queue,
                st.integers(1, 5),
                st.tuples(bound, bound),
                st.tuples(st.sampled_from([0, 0, 5]), st.sampled_from([0, 0, 3])),
                st.sampled_from([0, 0, 0, 1]),
            ),
            min_size=1,
            max_size=4,
        )
    )
    weights = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    jobs = draw(
        st.lists(
            st.builds(
                _job,
                st.integers(0, len(queues) - 1),
                st.integers(0, len(weights) - 1),
                st.integers(1, most_replicas),
                AMOUNTS,
                st.integers(0, 8),
                st.sampled_from([0, 0, 0, 5]),
                st.integers(0, 6),
            ),
            min_size=1,
            max_size=10,
        )
    )
    return tables((draw(st.integers(20, 400)), draw(st.integers(20, 400))), queues, weights, jobs)


def _queue(weight: int, capability: tuple[int, int], guarantee: tuple[int, int], priority: int) -> Q:
    return Q(weight=weight, capability=capability, guarantee=guarantee, priority=priority)


def _job(
    queue: int, namespace: int, replicas: int, request: tuple[int, int], minimum: int, priority: int, running: int
) -> J:
    return J(
        queue=queue,
        namespace=namespace,
        replicas=replicas,
        request=request,
        minimum=min(minimum, replicas),
        priority=priority,
        running=min(running, replicas) if running < 3 else 0,
    )


@given(worlds())
def test_share_equals_the_loop_turn_by_turn(world: Tables) -> None:
    """Every job is admitted exactly as often as by the literal loop."""
    decision = share(*world)
    reference = Reference(*world[:3], world.whole.tolist(), list(decision.exact_deserved))
    assert [row.admitted for row in decision.jobs] == reference.run()


class _Stays:
    """A leap that goes nowhere, so that every turn is taken singly."""

    def __init__(self, *_: object) -> None:
        pass

    def counts(self) -> dict[int, int]:
        """Nothing for anybody."""
        return {}


def singly(world: Tables) -> list[int]:
    """Admitted replicas by job when no turn is leapt over."""
    with patch("fairlead.levels.queue.grant.Leap", _Stays):
        return [row.admitted for row in share(*world).jobs]


@given(worlds(most_replicas=500))
def test_leaps_change_nothing(world: Tables) -> None:
    """With so many replicas that most are granted in leaps the answer is that of single turns."""
    assert [row.admitted for row in share(*world).jobs] == singly(world)


@given(worlds(most_replicas=300))
def test_leaps_change_nothing_for_jobs_of_two_equal_roles(world: Tables) -> None:
    """A job cut into two roles that ask for the same is levelled like one role."""
    jobs = world.jobs
    half = jobs.role_replicas // 2
    first = np.minimum(jobs.role_running, half)
    cut = replace(
        jobs,
        role_start=ints(np.arange(len(jobs) + 1) * 2),
        role_names=("",) * 2 * len(jobs),
        role_replicas=ints(np.stack((half, jobs.role_replicas - half), axis=1).ravel()),
        role_minimum=ints(np.zeros(2 * len(jobs))),
        role_running=ints(np.stack((first, jobs.role_running - first), axis=1).ravel()),
        role_request=ints(np.repeat(jobs.role_request, 2, axis=0)),
    )
    assert [row.admitted for row in share(cut, *world[1:]).jobs] == [row.admitted for row in share(*world).jobs]


def test_leaps_grant_nearly_everything_where_jobs_are_large() -> None:
    """Of 20,000 replicas only a few are granted singly."""
    jobs = [J(queue=n % 2, namespace=n % 3, replicas=1000, request=(1 + n % 3, 2), priority=n % 2) for n in range(20)]
    world = tables((20_000, 30_000), [Q(weight=1), Q(weight=2)], [1, 2, 3], jobs)
    turns = 0
    turn = Loop.turn

    def counted(loop: Loop) -> None:
        nonlocal turns
        turns += 1
        turn(loop)

    with patch.object(Loop, "turn", counted):
        decision = share(*world)
    assert sum(row.admitted for row in decision.jobs) > 9_000
    assert turns < 300
