"""Fluid levels against trying every corner of the level in exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from fairlead.kernel.waterfill import fluid
from tests.kernel import references

rng = np.random.default_rng


@pytest.mark.parametrize("seed", range(400))
def test_fluid_random_instance_equals_every_corner(seed: int) -> None:
    """Demands, floors, weights 0 and amounts up to 2**61: the level is exact."""
    draw = rng(seed)
    n = int(draw.integers(1, 8))
    high = int(draw.choice([3, 20, 10**6, 2**50, 2**61]))
    weights = draw.integers(0, int(draw.choice([2, 5, 1000, 2**40])), n)
    demand = draw.integers(0, high, n)
    floor = draw.integers(0, high // 3 + 1, n) * draw.integers(0, 2, n)
    total = int(min(draw.integers(0, high) * draw.integers(1, 4), 2**62))
    upper = np.where(weights > 0, np.maximum(demand, floor), floor).tolist()
    level, _ = references.fluid(total, weights.tolist(), floor.tolist(), upper)
    got = fluid(np.array([total]), weights, demand[:, None], floors=floor[:, None])
    assert got == [level.as_integer_ratio()]


def test_fluid_resources_are_independent() -> None:
    """Each column is filled as if it were alone."""
    draw = rng(5)
    weights, demands = draw.integers(0, 9, 6), draw.integers(0, 90, (6, 3))
    totals = np.array([50, 0, 1000])
    together = fluid(totals, weights, demands)
    for r in range(3):
        one = slice(r, r + 1)
        assert fluid(totals[one], weights, demands[:, one]) == together[one]


CASES = {
    "by weight where nobody is satisfied": (12, [1, 2, 3], [99, 99, 99], (2, 1)),
    "the small demand first, the rest by weight": (12, [1, 1, 1], [2, 99, 99], (5, 1)),
    "enough for all": (100, [5, 1, 0], [7, 8, 9], (8, 1)),
    "ten among three equals is 10/3 each, not a rounded quotient": (10, [1, 1, 1], [99, 99, 99], (10, 3)),
}


@pytest.mark.parametrize("name", CASES)
def test_fluid_narrative_cases(name: str) -> None:
    """Small cases that can be checked by hand."""
    total, weights, demands, want = CASES[name]
    assert [want] == fluid(np.array([total]), np.array(weights), np.array(demands)[:, None])


def test_fluid_without_rows() -> None:
    """Nobody to divide among."""
    assert fluid(np.array([5]), np.zeros(0), np.zeros((0, 1))) == [(0, 1)]


def test_fluid_level_is_zero_where_the_floors_reach_the_total() -> None:
    """Nothing is left to divide by weight, to the unit."""
    floors = np.array([[3], [3]])
    demands = np.array([[9], [9]])
    assert fluid(np.array([6]), np.array([1, 1]), demands, floors=floors) == [(0, 1)]
    assert fluid(np.array([7]), np.array([1, 1]), demands, floors=floors) == [(7, 2)]


def test_fluid_level_times_weight_beyond_64_bits() -> None:
    """A light row sets a level at which a heavy row's product would not fit; the level is exact all the same."""
    demands = np.array([[2**50], [2**50], [7]])
    assert fluid(np.array([2**52]), np.array([1, 2**40, 2**61]), demands) == [(2**50, 1)]
    assert Fraction(*fluid(np.array([2**50]), np.array([1, 2**40, 2**61]), demands)[0]) == Fraction(
        2**50 - 7, 2**40 + 1
    )


def test_fluid_level_is_the_least_of_all_that_give_the_same_shares() -> None:
    """Between 5, where the first row has enough, and 10, where the second passes its floor, nothing changes."""
    floors, demands = np.array([[0], [10]]), np.array([[5], [20]])
    assert fluid(np.array([15]), np.array([1, 1]), demands, floors=floors) == [(5, 1)]
    assert fluid(np.array([16]), np.array([1, 1]), demands, floors=floors) == [(11, 1)]
