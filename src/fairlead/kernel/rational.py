"""Exact work on whole numbers and fractions in columns.

A fraction is a pair of columns, numerator ≥ 0 and denominator ≥ 0; denominator 0 means infinity. int64 is used
where it cannot overflow, Python integers (object columns) where it could.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.int64]
Wide = NDArray[Any]
"""An integer column: int64, or object holding Python integers."""

LIMIT = 2**63
_NEAR = 1.0 + 2.0**-48
"""Quotients of int64 are right to 3·2**-53; nearer than this they are compared exactly."""


def ints(values: ArrayLike) -> Ints:
    """`values` as an int64 column (not copied when it is one)."""
    return np.asarray(values, dtype=np.int64)


def wide(values: ArrayLike) -> Wide:
    """`values` as an integer column that keeps Python integers where it holds them."""
    column = np.asarray(values)
    return column if column.dtype == object else ints(column)


def largest(column: Wide) -> int:
    """The largest value, 0 for an empty column."""
    return int(column.max()) if column.size else 0


def widen(column: Wide, bound: int) -> Wide:
    """`column` in a type that holds results up to `bound`: itself, or Python integers from 2**63 on."""
    return column if bound < LIMIT else column.astype(object)


def total(column: Wide) -> int:
    """The exact sum of a column of values ≥ 0."""
    return int(widen(column, largest(column) * column.size).sum())


def scale(column: Ints, numerator: int, denominator: int) -> tuple[Ints, Wide]:
    """⌊column·numerator/denominator⌋, which must fit int64, and the remainders in 0 … denominator − 1."""
    products = widen(column, max(largest(column) * numerator, denominator)) * numerator
    quotients = products // denominator
    return quotients.astype(np.int64), products - quotients * denominator


def ranks(numerators: Wide, denominators: Wide) -> Ints:
    """Dense ranks 0, 1, 2 … of numerator/denominator, ascending; equal fractions share a rank.

    Quotients in floating point decide where they are apart; runs that are nearer than rounding allows are ordered
    by ⌊2**F · numerator/denominator⌋ with F so large that different fractions differ there.
    """
    infinite = denominators == 0
    above = np.where(infinite, 1, numerators)
    below = np.where(above == 0, 1, denominators)
    if len(above) and (above == above[0]).all() and (below == below[0]).all():
        return np.zeros(len(above), dtype=np.int64)
    quotients = np.full(len(above), np.inf)
    np.divide(above.astype(float), below.astype(float), out=quotients, where=~infinite)
    order = np.argsort(quotients)
    apart, alike = np.ones((2, len(order)), dtype=bool)
    ascending = quotients[order]
    apart[1:] = ascending[1:] > ascending[:-1] * _NEAR
    for column in (above[order], below[order]):
        alike[1:] &= column[1:] == column[:-1]
    runs = np.cumsum(apart)
    open_runs = runs[~(apart | alike)]
    if len(open_runs):
        doubtful = np.isin(runs, open_runs)
        rows = order[doubtful]
        words = _words(above[rows], below[rows])
        inside = np.argsort(words)
        order[doubtful] = rows[inside]
        apart[doubtful] |= np.diff(words[inside], prepend=-1) != 0
    result = np.empty(len(order), dtype=np.int64)
    result[order] = np.cumsum(apart) - 1
    return result


def _words(numerators: Wide, denominators: Wide) -> Ints:
    """Integers ordered as the fractions are. Two fractions with denominators below 2**b differ by 2**-2b or more."""
    shift = 2 * largest(denominators).bit_length()
    bound = largest(numerators) << shift
    scaled = widen(numerators, bound) * (1 << shift) // widen(denominators, bound)
    return np.unique(scaled, return_inverse=True)[1].astype(np.int64)
