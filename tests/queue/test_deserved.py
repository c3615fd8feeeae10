"""What queues deserve: weights, requests, bounds, guarantees, own figures, hierarchy."""

from fractions import Fraction
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.queue.share import share
from fairlead.model.jobs import UNSET
from tests.queue.build import J, Q, tables


class Case(NamedTuple):
    """Queues over 12 cpu, the cpu each asks for, and what each deserves."""

    queues: list[Q]
    asked: list[int]
    want: list[Fraction | int]


def cap(amount: int) -> tuple[int, int]:
    """A bound on cpu alone."""
    return amount, UNSET


CASES = {
    "equal weights halve it": Case([Q(), Q()], [20, 20], [6, 6]),
    "by weight": Case([Q(weight=1), Q(weight=3)], [20, 20], [3, 9]),
    "what one does not ask for goes to the others": Case(
        [Q(), Q(), Q()], [1, 20, 20], [1, Fraction(11, 2), Fraction(11, 2)]
    ),
    "a third of 12 three times, a seventh exactly": Case(
        [Q(weight=1), Q(weight=6)], [20, 20], [Fraction(12, 7), Fraction(72, 7)]
    ),
    "capability bounds": Case([Q(capability=cap(2)), Q()], [20, 20], [2, 10]),
    "guarantee holds even beyond the request": Case([Q(guarantee=(5, 0)), Q()], [1, 20], [5, 7]),
    "guarantee of a queue without jobs is kept free": Case([Q(guarantee=(5, 0)), Q()], [0, 20], [5, 7]),
    "a queue without jobs takes no part": Case([Q(weight=9), Q()], [0, 20], [0, 12]),
    "a closed queue takes no part": Case([Q(open=False), Q()], [20, 20], [0, 12]),
    "own figure first, the rest by weight": Case([Q(deserved=cap(2)), Q(), Q(weight=4)], [20, 20, 20], [2, 2, 8]),
    "own figure no more than asked for": Case([Q(deserved=cap(8)), Q()], [3, 20], [3, 9]),
    "own figures above the whole are cut by weight": Case([Q(deserved=cap(10)), Q(deserved=cap(10))], [20, 20], [6, 6]),
    "own figure leaves the guarantees of others": Case([Q(deserved=cap(12)), Q(guarantee=(4, 0))], [20, 20], [8, 4]),
    "children share what their parent deserves": Case(
        [Q(), Q(), Q(parent="q1", weight=2), Q(parent="q1", weight=1)], [20, 0, 20, 20], [6, 6, 4, 2]
    ),
    "a parent asks for what its children ask for": Case([Q(), Q(), Q(parent="q1")], [20, 0, 3], [9, 3, 3]),
    "root may be named without being there": Case([Q(parent="root"), Q()], [20, 20], [6, 6]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_deserved(case: Case) -> None:
    """What each queue deserves, exactly."""
    jobs = [J(queue=row, replicas=asked) for row, asked in enumerate(case.asked) if asked]
    decision = share(*tables((12, 0), case.queues, [1], jobs))
    assert [amounts[0] for amounts in decision.exact_deserved] == case.want


def test_deserved_of_each_resource_by_itself() -> None:
    """One queue is short of cpu, the other of memory."""
    jobs = [J(queue=0, replicas=10, request=(2, 1)), J(queue=1, replicas=10, request=(1, 3))]
    decision = share(*tables((20, 30), [Q(), Q()], [1], jobs))
    assert decision.exact_deserved == ((10, 10), (10, 20))


def test_guarantee_of_a_refused_queue_keeps_nothing_from_others() -> None:
    """Its weight is bad: of all that there is, the other queue gets all."""
    decision = share(*tables((10, 10), [Q(weight=0, guarantee=(5, 5)), Q()], [1], [J(queue=1, replicas=20)]))
    assert [row.admitted for row in decision.jobs] == [10]
    assert decision.exact_deserved[1][0] == 10


def test_queue_with_a_refused_ancestor_is_refused_too() -> None:
    """Bad weight above: the queue below gives nothing either, and says so."""
    decision = share(*tables((12, 0), [Q(weight=0), Q(parent="q0"), Q()], [1], [J(queue=1), J(queue=2)]))
    assert [row.finding.code if row.finding else None for row in decision.queues] == [
        "WeightOutOfRange",
        "ParentRefused",
        None,
    ]
    assert [row.admitted for row in decision.jobs] == [0, 1]


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 60)), min_size=1, max_size=6), st.integers(1, 90))
def test_deserved_is_max_min(rows: list[tuple[int, int]], whole: int) -> None:
    """All of it or all requests are met; nobody could have more unless another with a lower level had less."""
    jobs = [J(queue=row, replicas=asked) for row, (_, asked) in enumerate(rows) if asked]
    decision = share(*tables((whole, 0), [Q(weight=weight) for weight, _ in rows], [1], jobs))
    got = [amounts[0] for amounts in decision.exact_deserved]
    assert sum(got) == min(whole, sum(asked for _, asked in rows))
    levels = [amount / weight for amount, (weight, _) in zip(got, rows, strict=True)]
    for amount, level, (_, asked) in zip(got, levels, rows, strict=True):
        assert amount <= asked
        if amount < asked:
            assert level == max(levels)


@given(
    st.lists(st.tuples(st.integers(1, 5), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=5),
    st.integers(1, 60),
    st.integers(1, 4),
)
def test_nobody_is_a_whole_replica_above_its_fluid_share(
    rows: list[tuple[int, int, int]], whole: int, size: int
) -> None:
    """One resource, replicas of one size, no gangs: less than one replica above, and 0 where shares are whole."""
    jobs = [
        J(queue=row, namespace=namespace, replicas=count, request=(size, 0))
        for row, (_, first, second) in enumerate(rows)
        for namespace, count in enumerate((first, second))
        if count
    ]
    decision = share(*tables((whole, 0), [Q(weight=weight) for weight, _, _ in rows], [1, 2], jobs))
    for queue, exact in zip(decision.queues, decision.exact_deserved, strict=True):
        assert queue.allocated["cpu"] < exact[0] + size
    if all(exact[0] % size == 0 for exact in decision.exact_deserved):
        assert all(queue.distance == 0 for queue in decision.queues)
    if all(queue.distance == 0 for queue in decision.queues):
        for row in decision.namespaces:
            assert row.allocated["cpu"] < row.fair["cpu"] + 1 + size
