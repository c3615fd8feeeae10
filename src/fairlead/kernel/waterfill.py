"""Weighted max-min: amounts divided by weight among rows that want only so much."""

from math import gcd

import numpy as np

from fairlead.kernel.rational import Ints, Wide, ints, largest, ranks, total, widen

Level = tuple[int, int]
"""An exact fraction: numerator, denominator > 0, in lowest terms."""


def fluid(totals: Ints, weights: Ints, demands: Ints, *, floors: Ints | None = None) -> list[Level]:
    """The exact level of each resource, so that max(min(level·weight, demand), floor) is the fluid share.

    The shares sum to the total, or to all demands where those are less. It is the least such level: where every row has
    enough, the one at which they just do; where the floors reach the total, 0. A floor is granted even above the
    demand; weight 0 has its floor only.
    """
    totals, weights = ints(totals), ints(weights)
    lower, upper = _bounds(weights, ints(demands), floors)
    return [_level(amount, weights, lower[:, r], upper[:, r]) for r, amount in enumerate(totals.tolist())]


def _bounds(weights: Ints, demands: Ints, floors: Ints | None) -> tuple[Ints, Ints]:
    """The least and the most of each row and resource."""
    lower = np.zeros_like(demands) if floors is None else ints(floors)
    return lower, np.where(weights[:, None] > 0, np.maximum(demands, lower), lower)


def _level(amount: int, weights: Ints, lower: Ints, upper: Ints) -> Level:
    """The least exact level at which the row sum reaches `amount`, or the highest that changes anything."""
    rows = np.flatnonzero(upper > lower)
    held = total(lower)
    if not len(rows) or held >= amount:
        return 0, 1
    events = _Events(weights[rows], lower[rows], upper[rows], held)
    before, after = 0, len(events.slope)
    # The sum is too low at event `before` and reaches the amount at event `after` (or never).
    while after - before > 1:
        middle = (before + after) // 2
        if events.reaches(middle, amount):
            after = middle
        else:
            before = middle
    slope = int(events.slope[before])
    if slope == 0:
        return _lowest(int(events.above[before]), int(events.weight[before]))
    return _lowest(amount - int(events.fixed[before]), slope)


class _Events:
    """Levels at which a row begins or ceases to rise, in order; between two, the sum is fixed + slope·level."""

    def __init__(self, weights: Ints, lower: Ints, upper: Ints, held: int) -> None:
        above = np.concatenate((lower, upper))
        weight = np.concatenate((weights, weights))
        order = np.argsort(ranks(above, weight))
        sign = np.repeat((1, -1), len(weights))[order]
        self.above, self.weight = above[order], weight[order]
        self.slope = _running(sign, self.weight)
        self.fixed = held - _running(sign, self.above)

    def reaches(self, event: int, amount: int) -> bool:
        """Whether the sum at this event's level is `amount` or more."""
        above, weight = int(self.above[event]), int(self.weight[event])
        return int(self.fixed[event]) * weight + int(self.slope[event]) * above >= amount * weight


def _running(sign: Ints, column: Ints) -> Wide:
    """Running sums of sign·column."""
    return np.cumsum(sign * widen(column, largest(column) * len(column)))


def _lowest(numerator: int, denominator: int) -> Level:
    """The fraction in lowest terms."""
    common = gcd(numerator, denominator)
    return numerator // common, denominator // common
