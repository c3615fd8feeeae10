"""Webster against plain Python in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fairlead.kernel import apportion
from fairlead.kernel.apportion import webster
from tests.kernel import references

rng = np.random.default_rng
MAGNITUDES = [1, 2, 6, 100, 10**6, 2**40, 2**61]


@pytest.mark.parametrize("seed", range(400))
def test_webster_random_instance_equals_turn_by_turn(seed: int) -> None:
    """Initial seats, caps, minimums (covered or not), ranks and weights of any size give the heap's answer."""
    draw = rng(seed)
    n = int(draw.integers(1, 9))
    weights = draw.integers(0, int(draw.choice(MAGNITUDES)) + 1, n)
    initial = draw.integers(0, int(draw.choice([1, 9])), n)
    caps = draw.integers(0, int(draw.choice([4, 25])), n)
    minimums = draw.integers(0, int(draw.choice([1, 3, 9])), n)
    tie_rank = draw.integers(0, 4, n)
    units = int(draw.integers(0, 60))
    columns = [c.tolist() for c in (initial, caps, minimums, tie_rank)]
    want = references.webster(weights.tolist(), units, *columns)
    got = webster(weights, units, initial=initial, caps=caps, minimums=minimums, tie_rank=tie_rank)
    assert want == got.tolist()


@pytest.mark.parametrize("magnitude", MAGNITUDES)
@pytest.mark.parametrize("size", [3, 90, 500])
def test_webster_plain_division_equals_turn_by_turn(size: int, magnitude: int) -> None:
    """Without options: row order breaks ties, and many equal weights make long ties."""
    draw = rng(size)
    weights = draw.integers(0, magnitude + 1, size)
    units = 7 * size
    want = references.highest_averages(weights.tolist(), units, [0] * size, [units] * size, list(range(size)))
    assert want == webster(weights, units).tolist()


@pytest.mark.parametrize("seed", range(30))
def test_webster_long_ties_between_different_weights(seed: int) -> None:
    """Weights that are odd multiples of one number tie at one quotient with different seats: fewer seats first."""
    draw = rng(seed)
    factor = int(draw.choice([1, 3, 2**33 + 9]))
    weights = factor * (2 * draw.integers(0, 12, 200) + 1)
    tie_rank = draw.permutation(200)
    units = int((weights // factor // 2).sum() + draw.integers(1, 200))
    want = references.highest_averages(weights.tolist(), units, [0] * 200, [units] * 200, tie_rank.tolist())
    assert want == webster(weights, units, tie_rank=tie_rank).tolist()


def test_webster_neighbouring_large_weights_are_told_apart() -> None:
    """Quotients that agree to 60 bits are still compared exactly."""
    weights = np.array([2**61 - 1, 2**61, 2**61 - 2])
    for units in range(1, 9):
        want = references.highest_averages(weights.tolist(), units, [0] * 3, [units] * 3, [0, 1, 2])
        assert want == webster(weights, units).tolist()


def test_webster_as_many_units_as_two_to_the_sixty() -> None:
    """The division of 2**60 units is off by less than one from the exact share."""
    weights = np.array([1, 2, 4, 1_000_003])
    units = 2**60 + 12345
    got = webster(weights, units).tolist()
    assert sum(got) == units
    whole = int(weights.sum())
    assert all(abs(seats * whole - units * w) < whole for seats, w in zip(got, weights.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_webster_every_number_of_units_equals_turn_by_turn(seed: int) -> None:
    """From the first unit on, with few and with many rows, one unit more is one turn more."""
    draw = rng(seed)
    weights = draw.integers(1, 9, 12)
    for units in range(1, 60):
        want = references.highest_averages(weights.tolist(), units, [0] * 12, [units] * 12, list(range(12)))
        assert want == webster(weights, units).tolist()


MINIMUMS = {
    "minimums take every unit": ([1, 1], 4, [2, 2], [2, 2]),
    "minimums take every unit, unequal weights": ([9, 1], 4, [1, 3], [1, 3]),
    "one unit is left, to the heavier": ([9, 1], 5, [1, 3], [2, 3]),
    "not covered: weight 0 last": ([1, 0], 3, [1, 3], [1, 2]),
    "not covered: weight 0 level by level": ([0, 0, 1], 5, [9, 2, 1], [2, 2, 1]),
    "not covered: the heavier first": ([5, 1], 2, [2, 2], [2, 0]),
}


@pytest.mark.parametrize("name", MINIMUMS)
def test_webster_minimums_come_first(name: str) -> None:
    """Minimums before weights; by weight only where the units do not cover them."""
    weights, units, minimums, want = MINIMUMS[name]
    assert want == webster(np.array(weights), units, minimums=np.array(minimums)).tolist()


def test_apportion_nothing_to_divide_or_nobody_to_take_it() -> None:
    """No units, no rows, no weight: nothing, and no error."""
    nobody = np.zeros(0, dtype=np.int64)
    assert webster(nobody, 5).tolist() == []
    assert webster(np.array([1, 2]), 0).tolist() == [0, 0]
    assert webster(np.array([0, 0]), 5).tolist() == [0, 0]


@pytest.mark.parametrize("magnitude", MAGNITUDES[2:])
def test_margin_is_wider_than_rounding(magnitude: int) -> None:
    """At the very moments seats are taken, a margin earlier never counts too many and a margin later never too few."""
    draw = rng(magnitude % 1009)
    weights = draw.integers(1, magnitude + 1, 300)
    number = draw.integers(0, 2**40, 300) >> draw.integers(0, 40, 300)
    times = apportion._Times(weights, np.zeros_like(weights), np.full(300, 2**50))
    for row, (weight, seat) in enumerate(zip(weights.tolist(), number.tolist(), strict=True)):
        moment = (2 * seat + 1) / weight
        exact = int((Fraction(moment) * weight + 1) / 2)
        early = int(times.taken(moment * (1.0 - apportion._MARGIN))[row])
        late = int(times.taken(moment * (1.0 + apportion._MARGIN))[row])
        assert early <= exact <= late
        assert early <= seat < late
