"""How even a set of targets is after one of them took a replica; exact, and O(1) a candidate.

X is the set of candidates. The absolute score is (max − min)/mean of their usable bytes, the ratio score the same of
usable/total; both count 0 where the mean is 0. Placing a replica changes one value, so the largest two values and the
smallest one tell every new maximum and minimum.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Wide = NDArray[Any]
Number = int | Fraction
Extremes = tuple[Number, Number, Number]
"""The largest value, the one after it, and the smallest."""

Key = tuple[Fraction, Fraction, int, int]
"""(score, unevenness, −usable left, row): the lowest wins. Unevenness is the variance over the squared mean."""

_NEAR = 1e-11
"""Scores in floating point are right to a few 2⁻⁵³ times (1 + max/mean); nearer ones are compared exactly."""


_FEW = 64
"""Up to this many rows of mixed totals a score is shown exactly; the common denominator grows with each total."""


class Field:
    """The candidates of one stage: usable and total bytes in natural order of names (row order decides last ties).

    `totals` is not read where `alpha` is 1.
    """

    def __init__(self, usable: Wide, totals: Wide, alpha: Fraction, size_bytes: int) -> None:
        self.usable = usable
        self.totals = totals
        self.alpha = alpha
        self.size = size_bytes

    def best(self, rows: Wide) -> int:
        """Of `rows` (ascending) the one whose placement has the lowest key.

        With alpha 1 that is the largest usable: no placement can leave a lower maximum or a higher minimum, and it
        alone leaves the least variance. For the same reason, of targets with equal totals only the largest can win.
        """
        if self.alpha == 1:
            return int(rows[np.argmax(self.usable[rows])])
        near = rows[self._near(rows)]
        leaders: dict[int, int] = {}
        for row in near.tolist():
            total = int(self.totals[row])
            if total not in leaders or self.usable[row] > self.usable[leaders[total]]:
                leaders[total] = row
        if len(leaders) == 1:
            return next(iter(leaders.values()))
        return min(leaders.values(), key=self.key)

    def key(self, row: int) -> Key:
        """The exact key of placing on `row`."""
        return self.score(row), self._unevenness(row), self.size - int(self.usable[row]), row

    def score(self, row: int) -> Fraction:
        """The exact score after placing on `row`."""
        if self.alpha == 1:
            return self.absolute(row)
        return self.alpha * self.absolute(row) + (1 - self.alpha) * self.ratio(row)

    def absolute(self, row: int) -> Fraction:
        """The score of usable bytes after placing on `row`."""
        before = int(self.usable[row])
        return _range_over_mean(self._usable_extremes, before, before - self.size, len(self.usable), self._usable_sum)

    def ratio(self, row: int) -> Fraction:
        """The score of usable/total after placing on `row`."""
        total = int(self.totals[row])
        before = Fraction(int(self.usable[row]), total)
        after = before - Fraction(self.size, total)
        return _range_over_mean(self._ratio_extremes, before, after, len(self.usable), self._ratio_sums[0])

    def _unevenness(self, row: int) -> Fraction:
        """α·Σu²/(Σu)² + (1 − α)·Σr²/(Σr)² after placing: orders as the variance does where the means are equal."""
        before = int(self.usable[row])
        after = before - self.size
        mixed = self.alpha * _concentration(self._usable_squares - before**2 + after**2, self._usable_sum - self.size)
        if self.alpha == 1:
            return mixed
        total = int(self.totals[row])
        plain, squares = self._ratio_sums
        squares += Fraction(after**2 - before**2, total**2)
        return mixed + (1 - self.alpha) * _concentration(squares, plain - Fraction(self.size, total))

    def decimals(self) -> list[float]:
        """The score of every row; exact before rounding, but for large sets of mixed totals."""
        if self._is_plain:
            return [float(self.score(row)) for row in range(len(self.usable))]
        scores: list[float] = self._float_scores(np.arange(len(self.usable)))[0].tolist()
        return scores

    def text(self, row: int) -> str:
        """The score of one row as an exact fraction, or as a decimal where that would run to pages."""
        if self._is_plain:
            return str(self.score(row))
        return repr(float(self._float_scores(np.array([row]))[0][0]))

    def _near(self, rows: Wide) -> NDArray[np.bool_]:
        """Which rows may have the lowest score, judged in floating point with room for its error."""
        scores, error = self._float_scores(rows)
        near: NDArray[np.bool_] = scores <= scores.min() + _NEAR * (1 + error)
        return near

    def _float_scores(self, rows: Wide) -> tuple[Wide, float]:
        """Scores in floating point, and max/mean, which their error grows with."""
        usable = self.usable.astype(float)
        steps = np.full(len(rows), float(self.size))
        scores, error = _float_scores(usable, rows, steps)
        if self.alpha == 1:
            return scores, error
        totals = self.totals.astype(float)
        ratios, ratio_error = _float_scores(usable / totals, rows, steps / totals[rows])
        mix = float(self.alpha)
        return mix * scores + (1 - mix) * ratios, error + ratio_error

    @cached_property
    def _is_plain(self) -> bool:
        """Whether exact fractions stay short: few rows, or no ratios."""
        return self.alpha == 1 or len(self.usable) <= _FEW

    @cached_property
    def _usable_sum(self) -> int:
        return int(self.usable.sum())

    @cached_property
    def _usable_squares(self) -> int:
        return sum(value * value for value in self.usable.tolist())

    @cached_property
    def _usable_extremes(self) -> Extremes:
        top = np.partition(self.usable, -2)[-2:] if len(self.usable) > 1 else (self.usable[0], self.usable[0])
        return int(top[1]), int(top[0]), int(self.usable.min())

    @cached_property
    def _by_total(self) -> dict[int, list[int]]:
        groups: dict[int, list[int]] = {}
        for total, value in zip(self.totals.tolist(), self.usable.tolist(), strict=True):
            groups.setdefault(total, []).append(value)
        return groups

    @cached_property
    def _ratio_extremes(self) -> Extremes:
        groups = self._by_total.items()
        tops = sorted(Fraction(value, total) for total, values in groups for value in sorted(values)[-2:])
        return tops[-1], tops[-2] if len(tops) > 1 else tops[-1], min(Fraction(min(v), t) for t, v in groups)

    @cached_property
    def _ratio_sums(self) -> tuple[Fraction, Fraction]:
        """Σr and Σr²."""
        groups = self._by_total.items()
        plain = fraction_sum([(sum(values), total) for total, values in groups])
        squares = fraction_sum([(sum(value * value for value in values), total**2) for total, values in groups])
        return plain, squares


def imbalance(usable: Wide, totals: Wide, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Score and unevenness of the values as they are, 0 and 0 for none."""
    if not len(usable):
        return Fraction(0), Fraction(0)
    return Field(usable, totals, alpha, 0).key(0)[:2]


def fraction_sum(parts: Sequence[tuple[int, int]]) -> Fraction:
    """Σ numerator/denominator, exactly; pairwise and reduced once, because many denominators make long numbers."""
    terms = list(parts) or [(0, 1)]
    while len(terms) > 1:
        ends = terms[len(terms) // 2 * 2 :]
        terms = [(a * d + c * b, b * d) for (a, b), (c, d) in zip(terms[::2], terms[1::2], strict=False)] + ends
    return Fraction(*terms[0])


def _range_over_mean(extremes: Extremes, before: Number, after: Number, rows: int, all_: Number) -> Fraction:
    """(max − min)/mean of `rows` values of sum `all_` once one of them, `before`, became `after`."""
    first, second, low = extremes
    mean = Fraction(all_ - before + after) / rows
    if rows == 1 or not mean:
        return Fraction(0)
    others = second if before == first else first
    return (max(others, after) - min(low, after)) / mean


def _float_scores(values: Wide, rows: Wide, steps: Wide) -> tuple[Wide, float]:
    """The same for every row in floating point, and max/mean, which its error grows with."""
    if len(values) == 1:
        return np.zeros(len(rows)), 0.0
    second, first = np.partition(values, -2)[-2:]
    before = values[rows]
    after = before - steps
    others = np.where(before == first, second, first)
    means = (values.sum() - steps) / len(values)
    ranges = np.maximum(others, after) - np.minimum(values.min(), after)
    scores = np.divide(ranges, means, out=np.zeros(len(rows)), where=means > 0)
    return scores, float(first / means.min()) if means.min() > 0 else np.inf


def _concentration(squares: int | Fraction, plain: int | Fraction) -> Fraction:
    return Fraction(squares) / Fraction(plain) ** 2 if plain else Fraction(0)
