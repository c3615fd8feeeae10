"""Dominant shares: the resource a row uses most of, and the order of rows by it, compared exactly."""

import numpy as np

from fairlead.kernel.rational import LIMIT, Ints, Wide, ints, largest, ranks, widen

Fractions = tuple[Ints, Ints, Ints]


def dominant(usage: Ints, totals: Ints) -> Fractions:
    """For each row of usage[n, r]: index of the resource with the largest usage/total, that usage and that total.

    Shares are compared exactly; among equal ones the lower index is dominant. A total of 0 is passed over where the
    usage is 0 and otherwise makes the share infinite: numerator 1, denominator 0. A row to which no resource
    applies has index −1 and share 0/1.
    """
    usage, totals = ints(usage), ints(totals)
    index = np.full(len(usage), -1, dtype=np.int64)
    above = np.zeros(len(usage), dtype=np.int64)
    below = np.ones(len(usage), dtype=np.int64)
    for resource, whole in enumerate(totals.tolist()):
        used = usage[:, resource]
        if whole == 0:
            larger = (used > 0) & (below > 0)
            used = np.ones_like(used)
        else:
            larger = (index < 0) | _exceeds(used, whole, above, below)
        index[larger], above[larger], below[larger] = resource, used[larger], whole
    return index, above, below


def rank(numerators: Ints, denominators: Ints, weights: Ints | None = None, tie_rank: Ints | None = None) -> Ints:
    """Rows in ascending order of numerator/(denominator·weight), compared exactly.

    Denominator or weight 0 is infinite and comes last. Ties to the lower `tie_rank`, then to the lower row.
    """
    numerators, below = ints(numerators), ints(denominators)
    wide: Wide = below
    if weights is not None:
        wide = widen(below, largest(below) * largest(ints(weights))) * ints(weights)
    places = ranks(numerators, wide)
    return np.lexsort((places,) if tie_rank is None else (ints(tie_rank), places))


def _exceeds(used: Ints, whole: int, above: Ints, below: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """used/whole > above/below, exactly."""
    bound = max(largest(used) * largest(below), largest(above) * whole)
    if bound < LIMIT:
        return used * below > above * whole
    return (used.astype(object) * below > above.astype(object) * whole).astype(bool)
