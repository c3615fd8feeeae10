"""Water-filling against trying every corner of the level in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fairlead.kernel.waterfill import fluid, short, waterfill
from tests.kernel import references

rng = np.random.default_rng


def _columns(*rows: list[int]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array(rows, dtype=np.int64).T


@pytest.mark.parametrize("seed", range(400))
def test_waterfill_random_instance_equals_every_corner(seed: int) -> None:
    """Demands, caps, floors, weights 0 and amounts up to 2**61: level, whole shares and sums are exact."""
    draw = rng(seed)
    n = int(draw.integers(1, 8))
    high = int(draw.choice([3, 20, 10**6, 2**50, 2**61]))
    weights = draw.integers(0, int(draw.choice([2, 5, 1000, 2**40])), n)
    demand, cap = draw.integers(0, high, n), draw.integers(0, high, n)
    floor = draw.integers(0, high // 3 + 1, n) * draw.integers(0, 2, n)
    total = int(min(draw.integers(0, high) * draw.integers(1, 4), 2**62))
    lower = floor.tolist()
    upper = np.where(weights > 0, np.maximum(np.minimum(demand, cap), floor), floor).tolist()
    level, shares = references.fluid(total, weights.tolist(), lower, upper)
    sums = max(sum(lower), min(total, sum(upper)))
    options = {"floors": floor[:, None], "caps": cap[:, None]}
    got = waterfill(np.array([total]), weights, demand[:, None], **options)
    assert fluid(np.array([total]), weights, demand[:, None], **options) == [level.as_integer_ratio()]
    assert references.rounded(shares, sums) == got[:, 0].tolist()
    assert short(np.array([total]), floor[:, None]).tolist() == [max(0, sum(lower) - total)]


def test_waterfill_resources_are_independent() -> None:
    """Each column is filled as if it were alone."""
    draw = rng(5)
    weights, demands = draw.integers(0, 9, 6), draw.integers(0, 90, (6, 3))
    totals, caps = np.array([50, 0, 1000]), draw.integers(0, 60, (6, 3))
    together = waterfill(totals, weights, demands, caps=caps)
    for r in range(3):
        one = slice(r, r + 1)
        alone = waterfill(totals[one], weights, demands[:, one], caps=caps[:, one])
        assert alone[:, 0].tolist() == together[:, r].tolist()


CASES = {
    "by weight where nobody is satisfied": (12, [1, 2, 3], _columns([99, 99, 99]), [2, 4, 6]),
    "the small demand first, the rest by weight": (12, [1, 1, 1], _columns([2, 99, 99]), [2, 5, 5]),
    "the odd unit to the larger fraction": (10, [3, 4, 4], _columns([99, 99, 99]), [3, 4, 3]),
    "enough for all": (100, [5, 1, 0], _columns([7, 8, 9]), [7, 8, 0]),
}


@pytest.mark.parametrize("name", CASES)
def test_waterfill_narrative_cases(name: str) -> None:
    """Small cases that can be checked by hand."""
    total, weights, demands, want = CASES[name]
    assert want == waterfill(np.array([total]), np.array(weights), demands)[:, 0].tolist()


def test_waterfill_floors_above_the_total_are_kept_and_reported() -> None:
    """A floor is a promise: it is granted above demand and above the total, and `short` says by how much."""
    floors = np.array([[6], [6], [0]])
    got = waterfill(np.array([10]), np.array([1, 1, 1]), np.array([[2], [9], [9]]), floors=floors)
    assert got[:, 0].tolist() == [6, 6, 0]
    assert short(np.array([10]), floors).tolist() == [2]


def test_fluid_shares_of_thirds_are_exact() -> None:
    """Ten among three equals is 10/3 each, not a rounded quotient."""
    level = fluid(np.array([10]), np.array([1, 1, 1]), np.full((3, 1), 99))
    assert level == [(10, 3)]
    assert 3 * Fraction(*level[0]) == 10


def test_waterfill_without_resources_or_rows() -> None:
    """Nothing to divide, nobody to divide among."""
    assert waterfill(np.zeros(0), np.array([1, 2]), np.zeros((2, 0))).shape == (2, 0)
    assert waterfill(np.array([5]), np.zeros(0), np.zeros((0, 1))).shape == (0, 1)
    assert fluid(np.array([5]), np.zeros(0), np.zeros((0, 1))) == [(0, 1)]


def test_fluid_level_is_zero_where_the_floors_reach_the_total() -> None:
    """Nothing is left to divide by weight, to the unit."""
    floors = np.array([[3], [3]])
    demands = np.array([[9], [9]])
    assert fluid(np.array([6]), np.array([1, 1]), demands, floors=floors) == [(0, 1)]
    assert fluid(np.array([7]), np.array([1, 1]), demands, floors=floors) == [(7, 2)]


def test_waterfill_level_times_weight_beyond_64_bits() -> None:
    """A light row sets a level at which a heavy row's product would not fit; its demand bounds it."""
    demands = np.array([[2**50], [2**50], [7]])
    got = waterfill(np.array([2**52]), np.array([1, 2**40, 2**61]), demands)
    assert got[:, 0].tolist() == [2**50, 2**50, 7]


def test_fluid_level_is_the_least_of_all_that_give_the_same_shares() -> None:
    """Between 5, where the first row has enough, and 10, where the second passes its floor, nothing changes."""
    floors, demands = np.array([[0], [10]]), np.array([[5], [20]])
    assert fluid(np.array([15]), np.array([1, 1]), demands, floors=floors) == [(5, 1)]
    assert fluid(np.array([16]), np.array([1, 1]), demands, floors=floors) == [(11, 1)]
