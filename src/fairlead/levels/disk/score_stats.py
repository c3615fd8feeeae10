"""What a score has to know of all candidates together: how many, their sums, their extremes; exact, and rounded."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass

Wide = NDArray[Any]
Number = int | Fraction


class Extremes(NamedTuple):
    """The largest value, the one after it (the same again if there is one value only), and the smallest."""

    first: Number
    second: Number
    low: Number


class Rounded(NamedTuple):
    """Extremes and sum in floating point."""

    first: float
    second: float
    low: float
    sum: float


class ScoreStats(Protocol):
    """X, the set of candidates, by its totals and extremes. Ratios are usable/total."""

    @property
    def rows(self) -> int: ...

    @property
    def usable_sum(self) -> int: ...

    @property
    def usable_squares(self) -> int: ...

    @property
    def usable_extremes(self) -> Extremes: ...

    @property
    def ratio_sums(self) -> tuple[Fraction, Fraction]: ...

    @property
    def ratio_extremes(self) -> Extremes: ...

    def rounded_usable(self) -> Rounded: ...

    def rounded_ratios(self) -> Rounded: ...


class Columns:
    """Statistics of candidates given by columns of usable and total bytes. What is not asked for is not worked out."""

    def __init__(self, usable: Wide, totals: Wide) -> None:
        self.usable, self.totals = usable, totals
        self.rows = len(usable)

    @cached_property
    def usable_sum(self) -> int:
        """Σu."""
        return int(self.usable.sum())

    @cached_property
    def usable_squares(self) -> int:
        """Σu²."""
        return sum(value * value for value in self.usable.tolist())

    @cached_property
    def usable_extremes(self) -> Extremes:
        """Of u."""
        top = np.partition(self.usable, -2)[-2:] if self.rows > 1 else (self.usable[0], self.usable[0])
        return Extremes(int(top[1]), int(top[0]), int(self.usable.min()))

    @property
    def ratio_sums(self) -> tuple[Fraction, Fraction]:
        """Σr and Σr²."""
        return self._grouped.ratio_sums

    @property
    def ratio_extremes(self) -> Extremes:
        """Of r."""
        return self._grouped.ratio_extremes

    @cached_property
    def _grouped(self) -> "ScoreGroups":
        values: dict[int, list[int]] = {}
        for total, value in zip(self.totals.tolist(), self.usable.tolist(), strict=True):
            values.setdefault(total, []).append(value)
        return ScoreGroups([group_of(total, own) for total, own in values.items()])

    def rounded_usable(self) -> Rounded:
        """Of u."""
        return _rounded(self.usable.astype(float))

    def rounded_ratios(self) -> Rounded:
        """Of r."""
        return _rounded(self.usable.astype(float) / self.totals.astype(float))


@dataclass(slots=True)
class ScoreGroup:
    """The candidates of one total: how many, Σu, Σu², the two largest u and the smallest."""

    total: int
    rows: int
    sum: int
    squares: int
    first: int
    second: int
    low: int


def group_of(total: int, values: Sequence[int]) -> ScoreGroup:
    """The group of these values."""
    ordered = sorted(values)
    second = ordered[-2] if len(ordered) > 1 else ordered[-1]
    squares = sum(value * value for value in values)
    return ScoreGroup(total, len(ordered), sum(values), squares, ordered[-1], second, ordered[0])


class ScoreGroups:
    """Statistics of candidates given by groups of equal total; O(groups), however many candidates there are."""

    def __init__(self, groups: Sequence[ScoreGroup]) -> None:
        self._groups = groups
        self.rows = sum(group.rows for group in groups)

    @cached_property
    def usable_sum(self) -> int:
        """Σu."""
        return sum(group.sum for group in self._groups)

    @cached_property
    def usable_squares(self) -> int:
        """Σu²."""
        return sum(group.squares for group in self._groups)

    @cached_property
    def usable_extremes(self) -> Extremes:
        """Of u."""
        tops = sorted(value for group in self._groups for value in _tops(group))
        return Extremes(tops[-1], tops[-2] if len(tops) > 1 else tops[-1], min(group.low for group in self._groups))

    @cached_property
    def ratio_sums(self) -> tuple[Fraction, Fraction]:
        """Σr and Σr²."""
        return (
            fraction_sum([(group.sum, group.total) for group in self._groups]),
            fraction_sum([(group.squares, group.total**2) for group in self._groups]),
        )

    @cached_property
    def ratio_extremes(self) -> Extremes:
        """Of r."""
        tops = sorted(Fraction(value, group.total) for group in self._groups for value in _tops(group))
        low = min(Fraction(group.low, group.total) for group in self._groups)
        return Extremes(tops[-1], tops[-2] if len(tops) > 1 else tops[-1], low)

    def rounded_usable(self) -> Rounded:
        """Of u."""
        first, second, low = self.usable_extremes
        return Rounded(float(first), float(second), float(low), float(self.usable_sum))

    def rounded_ratios(self) -> Rounded:
        """Of r; each quotient is rounded as a column's is, so that a value is known again in both."""
        tops = sorted(float(value) / float(group.total) for group in self._groups for value in _tops(group))
        low = min(float(group.low) / float(group.total) for group in self._groups)
        everything = fsum(group.sum / group.total for group in self._groups)
        return Rounded(tops[-1], tops[-2] if len(tops) > 1 else tops[-1], low, everything)


def _tops(group: ScoreGroup) -> tuple[int, ...]:
    return (group.first, group.second) if group.rows > 1 else (group.first,)


def _rounded(values: Wide) -> Rounded:
    top = np.partition(values, -2)[-2:] if len(values) > 1 else (values[0], values[0])
    return Rounded(float(top[1]), float(top[0]), float(values.min()), float(values.sum()))


def fraction_sum(parts: Sequence[tuple[int, int]]) -> Fraction:
    """Σ numerator/denominator, exactly; pairwise and reduced once, because many denominators make long numbers."""
    terms = list(parts) or [(0, 1)]
    while len(terms) > 1:
        ends = terms[len(terms) // 2 * 2 :]
        terms = [(a * d + c * b, b * d) for (a, b), (c, d) in zip(terms[::2], terms[1::2], strict=False)] + ends
    return Fraction(*terms[0])
