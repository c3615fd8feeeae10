"""Room in a tree of queues: bounds on the way up, guarantees that are kept, and room that is kept for a gang."""

import pytest

from fairlead.levels.queue.grants.ledger import Lack, QueueLedger
from fairlead.levels.queue.tree import build
from fairlead.model.jobs import UNSET
from tests.queue.build import Q, tables

TOP, LEFT, RIGHT, OTHER, WHOLE = range(5)
"""q0 above q1 and q2; q3 beside it; and the whole."""


def ledger(*, top: int = UNSET, left: int = UNSET, guarantee: int = 0, whole: int = 10) -> QueueLedger:
    """One resource. `guarantee` is that of q1."""
    tree = build(tables((whole,), [Q(), Q(parent="q0"), Q(parent="q0"), Q()], [1], [], resources=("cpu",)).queues)
    rows = range(5)
    return QueueLedger(
        tree,
        [[{TOP: top, LEFT: left, WHOLE: whole}.get(row, UNSET)] for row in rows],
        [[guarantee if row == LEFT else 0] for row in rows],
        [[0] for _ in rows],
    )


def test_what_is_used_counts_in_every_queue_above() -> None:
    """And no longer once it is given back."""
    book = ledger()
    book.add(LEFT, [3])
    book.add(OTHER, [1])
    assert [row[0] for row in book.used] == [3, 3, 0, 1, 4]
    book.add(LEFT, [3], -1)
    assert [row[0] for row in book.used] == [0, 0, 0, 1, 1]


@pytest.mark.parametrize(
    ("need", "want"),
    [(3, None), (4, Lack(LEFT, 0, 3)), (5, Lack(LEFT, 0, 3))],
    ids=["the last that fits", "one too many", "two too many"],
)
def test_the_first_bound_on_the_way_up_says_what_is_left(need: int, want: Lack | None) -> None:
    """q1 may have three, q0 five, the whole ten."""
    assert ledger(left=3, top=5).lack(LEFT, [need]) == want


def test_a_bound_above_binds_all_below() -> None:
    """q0 may have five: what q1 uses is not there for q2; q3 is not concerned."""
    book = ledger(top=5)
    book.add(LEFT, [4])
    assert book.lack(RIGHT, [1]) is None
    assert book.lack(RIGHT, [2]) == Lack(TOP, 0, 1)
    assert book.lack(OTHER, [6]) is None
    assert book.lack(OTHER, [7]) == Lack(WHOLE, 0, 6)


def test_an_unused_guarantee_is_room_for_its_owner_alone() -> None:
    """Four of ten are kept for q1: others have six, q1 has ten."""
    book = ledger(guarantee=4)
    assert book.lack(OTHER, [6]) is None
    assert book.lack(OTHER, [7]) == Lack(WHOLE, 0, 6)
    assert book.lack(LEFT, [10]) is None
    assert book.lack(LEFT, [11]) == Lack(WHOLE, 0, 10)
    assert book.left(OTHER) == [6]


def test_a_guarantee_that_is_used_is_not_kept_twice() -> None:
    """q1 uses three of its four: others still have six. With six used the guarantee keeps nothing more."""
    book = ledger(guarantee=4)
    book.add(LEFT, [3])
    assert book.left(OTHER) == [6]
    book.add(LEFT, [3])
    assert book.left(OTHER) == [4]
    book.add(LEFT, [6], -1)
    assert book.left(OTHER) == [6]


def test_excess_is_what_would_pass_the_whole() -> None:
    """Within a guarantee nothing more is used than was kept."""
    book = ledger(guarantee=4)
    book.add(OTHER, [6])
    assert [book.excess(LEFT, [need])[0] for need in (4, 5)] == [0, 1]
    assert [book.excess(OTHER, [need])[0] for need in (0, 1)] == [0, 1]


def test_room_that_is_kept_lowers_the_bounds_there_are_and_comes_back() -> None:
    """Four are kept for a gang of q1: q0 (five) and the whole have less; queues without a bound stay without one."""
    book = ledger(top=5)
    kept = book.keep(LEFT, [4])
    assert kept == {TOP: [4], WHOLE: [4]}
    assert book.most == [[1], [UNSET], [UNSET], [UNSET], [6]]
    assert book.lack(RIGHT, [2]) == Lack(TOP, 0, 1)
    assert book.lack(OTHER, [6]) is None
    book.unkeep(kept)
    assert book.most == [[5], [UNSET], [UNSET], [UNSET], [10]]


def test_no_more_is_kept_than_is_left() -> None:
    """Two of five are left in q0, six of ten in the whole."""
    book = ledger(top=5)
    book.add(LEFT, [3])
    book.add(OTHER, [1])
    assert book.keep(LEFT, [9]) == {TOP: [2], WHOLE: [6]}
    assert book.left(OTHER) == [0]
