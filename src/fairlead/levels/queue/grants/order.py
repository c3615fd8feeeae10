"""The one share function, and whose turn it is by it. Allocation, preemption and reclaim all compare with these.

A share is max over resources of amount / measure, held as an integer over a fixed denominator, so that two shares are
compared by cross-multiplication. The measure of a queue is what it deserves; that of a namespace is the
whole times its weight; that of a job is the whole.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

Vector = Sequence[int]


class Measure:
    """max_r amount_r / by_r as `above(amounts)` over `below`.

    Where `by` is 0 (nothing deserved) a share begins at 1 and grows by the part of `spare` that is used: such a
    queue comes after those below their right, and among its like the one that borrowed least comes first.
    """

    __slots__ = ("below", "least", "terms")

    def __init__(self, by: Sequence[Fraction | int], spare: Sequence[Fraction | int], counted: Sequence[int]) -> None:
        exact = {r: Fraction(by[r]) for r in counted}
        rest = {r: Fraction(spare[r]) for r in counted}
        divisors = [(exact[r] or rest[r]).numerator for r in counted if exact[r] or rest[r]]
        self.below = lcm(*divisors) if divisors else 1
        self.terms = tuple(
            (r, 0 if exact[r] else self.below, int(self.below / (exact[r] or rest[r])))
            for r in counted
            if exact[r] or rest[r]
        )
        self.least = 0 if any(exact.values()) else self.below

    def above(self, amounts: Vector) -> int:
        """The numerator of the share of these amounts."""
        most = self.least
        for resource, start, factor in self.terms:
            amount = amounts[resource]
            if amount and start + amount * factor > most:
                most = start + amount * factor
        return most

    def share(self, amounts: Vector) -> Fraction:
        """The share itself."""
        return Fraction(self.above(amounts), self.below)


class Exact:
    """A share as a fraction, then a rank: what decides where two quotients round to the same number."""

    __slots__ = ("above", "below", "rank")

    def __init__(self, above: int, below: int, rank: int) -> None:
        self.above = above
        self.below = below
        self.rank = rank

    def __lt__(self, other: "Exact") -> bool:
        mine, theirs = self.above * other.below, other.above * self.below
        return mine < theirs if mine != theirs else self.rank < other.rank


Turn = tuple[int, float, Exact, int]
"""A place in an order, and the row it is of: the lowest is next.

Higher priority first, then the lower share, then the lower rank. Division of integers rounds to the nearest number, so
a smaller share never has a larger quotient, and only equal quotients are looked at exactly.
"""


def turn(priority: int, above: int, below: int, rank: int, row: int) -> Turn:
    """The place of a row with this priority, the share above/below and this rank."""
    return -priority, above / below, Exact(above, below, rank), row


def queue_measure(deserved: Sequence[Fraction], whole: Vector, weight: int, counted: Sequence[int]) -> Measure:
    """Usage over what the queue deserves."""
    return Measure(deserved, [amount * weight for amount in whole], counted)


def namespace_measure(whole: Vector, weight: int, counted: Sequence[int]) -> Measure:
    """Usage over the whole, divided by the weight of the namespace."""
    by = [amount * weight for amount in whole]
    return Measure(by, by, counted)
