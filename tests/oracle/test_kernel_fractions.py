"""Ranks of fractions and evenness against Python's fractions."""

from fractions import Fraction
from math import inf, isclose

import numpy as np
import pytest

from fairlead.kernel import imbalance
from fairlead.kernel.rational import ints, largest, ranks, scale, total, widen

rng = np.random.default_rng
MAGNITUDES = [2, 9, 1000, 2**31, 2**61]


def _fraction(numerator: int, denominator: int) -> Fraction | float:
    return Fraction(numerator, denominator) if denominator else inf


@pytest.mark.parametrize("seed", range(150))
def test_ranks_random_fractions_equal_sorting(seed: int) -> None:
    """Dense ranks of exact fractions, zeros and infinities included."""
    draw = rng(seed)
    n = int(draw.integers(0, 40))
    numerators = draw.integers(0, int(draw.choice(MAGNITUDES)), n)
    denominators = draw.integers(0, int(draw.choice(MAGNITUDES)), n)
    exact = [_fraction(a, b) for a, b in zip(numerators.tolist(), denominators.tolist(), strict=True)]
    places = {value: place for place, value in enumerate(sorted(set(exact)))}
    assert [places[value] for value in exact] == ranks(numerators, denominators).tolist()


@pytest.mark.parametrize("seed", range(60))
def test_ranks_near_ties_are_told_apart_exactly(seed: int) -> None:
    """Fractions that agree in every bit of a float, mixed with equal ones written differently."""
    draw = rng(seed)
    size = int(draw.choice([2**20, 2**40, 2**58]))
    start = int(draw.integers(size, 2 * size))
    numerators = start + draw.integers(-3, 4, 30)
    denominators = start + draw.integers(-3, 4, 30)
    factor = draw.integers(1, 4, 30)
    a, b = numerators * factor, denominators * factor
    exact = [Fraction(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    places = {value: place for place, value in enumerate(sorted(set(exact)))}
    assert [places[value] for value in exact] == ranks(a, b).tolist()
    wide = ranks(a.astype(object) * 2**70, b.astype(object) * 2**70)
    assert [places[value] for value in exact] == wide.tolist()


def test_ranks_a_hair_apart() -> None:
    """One part in 2**49 is more than rounding can blur; one in 2**53 is settled exactly; both are different ranks."""
    for bits in (45, 47, 48, 49, 50, 52, 53, 55, 60):
        assert ranks(np.array([2**bits + 1, 2**bits, 1]), np.array([2**bits, 2**bits, 1])).tolist() == [1, 0, 0]


def test_total_scale_and_widen_pass_64_bits() -> None:
    """Sums and products that int64 cannot hold."""
    column = ints([2**62, 2**62, 2**62])
    assert total(column) == 3 * 2**62
    assert total(ints([])) == 0 == largest(ints([]))
    assert widen(column, 2**63 - 1) is column
    assert widen(column, 2**63).dtype == object
    quotients, remainders = scale(column, 2**61 + 1, 2**62 + 7)
    exact = divmod(2**62 * (2**61 + 1), 2**62 + 7)
    assert list(zip(quotients.tolist(), remainders.tolist(), strict=True)) == [exact] * 3


@pytest.mark.parametrize("seed", range(80))
def test_jain_equals_its_definition(seed: int) -> None:
    """The formula in fractions, rounded once."""
    draw = rng(seed)
    n = int(draw.integers(1, 9))
    column = draw.integers(0, int(draw.choice([2, 5, 10**6, 2**61])), n)
    values = column.tolist()
    whole = sum(values)
    jain = Fraction(whole**2, n * sum(x * x for x in values)) if whole else Fraction(1)
    assert imbalance.jain(column) == float(jain)


@pytest.mark.parametrize("seed", range(40))
def test_jain_with_weights_equals_its_definition(seed: int) -> None:
    """Values over weights; rows of weight 0 are left out."""
    draw = rng(seed)
    n = int(draw.integers(1, 9))
    values, weights = draw.integers(0, 50, n), draw.integers(0, 4, n)
    x = [Fraction(v, w) for v, w in zip(values.tolist(), weights.tolist(), strict=True) if w]
    want = sum(x) ** 2 / (len(x) * sum(y * y for y in x)) if any(x) else Fraction(1)
    assert isclose(imbalance.jain(values, weights), float(want), rel_tol=1e-14)


def test_imbalance_of_nothing_is_even() -> None:
    """An empty column and a column of zeros are even."""
    for values in (ints([]), ints([0, 0, 0])):
        assert imbalance.jain(values) == 1.0
        assert imbalance.jain(values, values) == 1.0
