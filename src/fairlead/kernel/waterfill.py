"""Weighted max-min: amounts divided by weight among rows that want only so much."""

from math import gcd

import numpy as np

from fairlead.kernel.rational import Ints, Wide, ints, largest, ranks, scale, total, widen

Level = tuple[int, int]
"""An exact fraction: numerator, denominator > 0, in lowest terms."""


def waterfill(
    totals: Ints, weights: Ints, demands: Ints, *, floors: Ints | None = None, caps: Ints | None = None
) -> Ints:
    """What each row deserves of each resource, [n, r], in whole units.

    deserved = max(min(level·weight, cap, demand), floor), with one level a resource, chosen so that the column
    sums to min(total, what all rows would take). A floor is granted even above cap and demand. Fractions are cut
    and the units this leaves are handed out one each by largest fraction, ties to the lower row. Where the
    floors alone pass the total they are kept and the column sums to them: see `short`. Weight 0 deserves its floor.
    """
    totals, weights = ints(totals), ints(weights)
    lower, upper = _bounds(weights, ints(demands), floors, caps)
    columns = [_whole(int(amount), weights, lower[:, r], upper[:, r]) for r, amount in enumerate(totals.tolist())]
    return np.stack(columns, axis=1) if columns else np.zeros_like(lower)


def fluid(
    totals: Ints, weights: Ints, demands: Ints, *, floors: Ints | None = None, caps: Ints | None = None
) -> list[Level]:
    """The exact level of each resource, so that max(min(level·weight, cap, demand), floor) is the fluid share.

    It is the least such level: where everybody has enough, the one at which they just do; where the floors reach
    the total, 0.
    """
    totals, weights = ints(totals), ints(weights)
    lower, upper = _bounds(weights, ints(demands), floors, caps)
    return [_level(amount, weights, lower[:, r], upper[:, r]) for r, amount in enumerate(totals.tolist())]


def short(totals: Ints, floors: Ints) -> Ints:
    """By how much the floors pass the total, for each resource; 0 where they do not."""
    sums = [total(column) for column in ints(floors).T]
    return np.array([max(0, held - amount) for held, amount in zip(sums, totals, strict=True)], dtype=np.int64)


def _bounds(weights: Ints, demands: Ints, floors: Ints | None, caps: Ints | None) -> tuple[Ints, Ints]:
    """The least and the most of each row and resource."""
    lower = np.zeros_like(demands) if floors is None else ints(floors)
    wanted = demands if caps is None else np.minimum(demands, ints(caps))
    return lower, np.where(weights[:, None] > 0, np.maximum(wanted, lower), lower)


def _whole(amount: int, weights: Ints, lower: Ints, upper: Ints) -> Ints:
    """One resource of `waterfill`."""
    numerator, denominator = _level(amount, weights, lower, upper)
    # A level·weight above every bound says no more than the bound, and need not fit int64.
    enough = (largest(upper) + 1) * denominator // max(1, numerator) + 1
    share, fraction = scale(np.minimum(weights, min(enough, largest(weights))), numerator, denominator)
    result = np.clip(share, lower, upper)
    rising = (share >= lower) & (share < upper)
    left = min(amount, total(upper)) - total(result)
    if left > 0:
        rows = np.flatnonzero(rising)
        result[rows[np.argsort(-fraction[rows], kind="stable")[:left]]] += 1
    return result


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
