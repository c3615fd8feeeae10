"""How uneven a column of amounts is. Lower is more even, except for Jain's index, where 1 is even.

All measures but `variance_scaled` have no unit: doubling every value changes nothing.
"""

from math import fsum

import numpy as np

from fairlead.kernel.rational import Ints, ints, largest, total, widen


def spread(values: Ints) -> tuple[int, int]:
    """(max − min)/mean as an exact fraction (not reduced); 0/1 for an empty column or a mean of 0."""
    values = ints(values)
    everything = total(values)
    if everything == 0:
        return 0, 1
    return (int(values.max()) - int(values.min())) * len(values), everything


def variance_scaled(values: Ints) -> int:
    """n·Σx² − (Σx)², which is n² times the variance, exactly; unit: that of the values, squared."""
    values = ints(values)
    return len(values) * _sum_of_squares(values) - total(values) ** 2


def jain(values: Ints, weights: Ints | None = None) -> float:
    """Jain's index (Σx)²/(n·Σx²), x = value/weight: 1 where all x are equal, 1/n where one has everything.

    Rows of weight 0 are left out; nothing to divide is even (1.0). Without weights the fraction is exact and is
    rounded once; with them the sums are rounded too: a figure for reports, not for decisions.
    """
    values = ints(values)
    if weights is None:
        exact = _sum_of_squares(values)
        return total(values) ** 2 / (len(values) * exact) if exact else 1.0
    weights = ints(weights)
    shares = (values[weights > 0] / weights[weights > 0]).tolist()
    squares = fsum(share * share for share in shares)
    return fsum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def gini(values: Ints) -> float:
    """Σ|x − y| over all pairs / (2·n·Σx): 0 where all are equal, (n − 1)/n where one has everything; rounded once."""
    ascending = np.sort(ints(values))
    rows, everything = len(ascending), total(ascending)
    if everything == 0:
        return 0.0
    places = 2 * np.arange(1, rows + 1) - rows - 1
    distance = int((widen(ascending, largest(ascending) * rows * rows) * places).sum())
    return distance / (rows * everything)


def _sum_of_squares(values: Ints) -> int:
    """Σx², exactly."""
    wide = widen(values, largest(values) ** 2 * values.size)
    return int((wide * wide).sum())
