"""How even a column of amounts is, as a number without unit: doubling every value changes nothing."""

from math import fsum

from fairlead.kernel.rational import Ints, ints, largest, total, widen


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


def _sum_of_squares(values: Ints) -> int:
    """Σx², exactly."""
    wide = widen(values, largest(values) ** 2 * values.size)
    return int((wide * wide).sum())
