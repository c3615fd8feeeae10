"""The earliest seats by exact moments: the heap's answer, or none at all."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kernel.seats import EXACT, earliest
from tests.kernel import references

ROWS = st.lists(
    st.tuples(st.sampled_from((1, 2, 3, 5, 9, 15, 45, 97, 1000)), st.integers(0, 6), st.integers(1, 12)),
    min_size=1,
    max_size=12,
)


@given(rows=ROWS, share=st.floats(0, 1), shuffled=st.randoms(use_true_random=False))
def test_earliest_seats_equal_turn_by_turn_or_are_not_told(
    rows: list[tuple[int, int, int]], share: float, shuffled: random.Random
) -> None:
    """Weights with many equal moments, initial seats and room of all sizes."""
    weights, seats, room = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    units = 1 + int(share * (int(room.sum()) - 2)) if room.sum() > 1 else 0
    rank = list(range(len(rows)))
    shuffled.shuffle(rank)
    if not 0 < units < room.sum():
        return
    got = earliest(weights, seats, room, units, np.array(rank))
    caps = (seats + room).tolist()
    want = references.highest_averages(weights.tolist(), units, seats.tolist(), caps, rank)
    assert got is None or got.tolist() == want


@pytest.mark.parametrize("rows", [10, 100, 1000])
@pytest.mark.parametrize("kinds", [1, 3, 100])
def test_earliest_seats_are_told_for_an_ordinary_fleet(rows: int, kinds: int) -> None:
    """Weights of one kind tie throughout; the answer is found without the slower search."""
    draw = np.random.default_rng(rows * kinds)
    weights = draw.integers(1, kinds + 1, rows)
    rank = draw.permutation(rows)
    for units in (1, rows // 2, rows, 7 * rows + 3):
        got = earliest(weights, np.zeros(rows, dtype=np.int64), np.full(rows, units + 1), units, rank)
        assert got is not None
        caps = [units + 1] * rows
        assert got.tolist() == references.highest_averages(weights.tolist(), units, [0] * rows, caps, rank.tolist())


def test_moments_that_rounding_could_hide_are_left_to_the_search() -> None:
    """Products from 2**51 on: two moments may round to one number."""
    rank = np.array([0, 1])
    none = np.zeros(2, dtype=np.int64)
    wide = np.array([EXACT // 21, 1])
    assert earliest(wide, none, np.array([9, 9]), 3, rank) is not None
    assert earliest(wide, none, np.array([10, 10]), 3, rank) is not None
    assert earliest(wide, none, np.array([11, 11]), 3, rank) is None
