"""How even a set of targets is after one of them took a replica; exact, and O(1) a candidate.

X is the set of candidates. The absolute score is (max − min)/mean of their usable bytes, the ratio score the same of
usable/total; both count 0 where the mean is 0. Placing a replica changes one value, so the largest two values and the
smallest one tell every new maximum and minimum.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fairlead.levels.disk.score_stats import Columns, Extremes, Number, Rounded, ScoreStats, Wide

Key = tuple[Fraction, Fraction, int, int]
"""(score, unevenness, −usable left, row): the lowest wins. Unevenness is the variance over the squared mean."""

_NEAR = 1e-13
"""Scores in floating point are right to 64·2⁻⁵³ times (1 + max/mean), most of it from summing a column pairwise; those
nearer to the lowest than a multiple of that are compared exactly."""

_FEW = 64
"""Up to this many rows of mixed totals a score is shown exactly; the common denominator grows with each total."""


class Field:
    """The candidates of one stage: usable and total bytes in natural order of names (row order decides last ties).

    `totals` is not read where `alpha` is 1. `stats` are of all candidates where the columns hold only some of them.
    """

    def __init__(
        self, usable: Wide, totals: Wide, alpha: Fraction, size_bytes: int, stats: ScoreStats | None = None
    ) -> None:
        self.usable = usable
        self.totals = totals
        self.alpha = alpha
        self.size = size_bytes
        self._stats: ScoreStats = stats or Columns(usable, totals)

    def best(self, rows: Wide) -> int:
        """Of `rows` (ascending) the one whose placement has the lowest key.

        With alpha 1 that is the largest usable: no placement can leave a lower maximum or a higher minimum, and it
        alone leaves the least variance. For the same reason, of targets with equal totals only the largest can win.
        """
        if self.alpha == 1:
            everything = len(rows) == len(self.usable)
            return int(np.argmax(self.usable)) if everything else int(rows[np.argmax(self.usable[rows])])
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
        stats = self._stats
        return _range_over_mean(stats.usable_extremes, before, before - self.size, stats.rows, stats.usable_sum)

    def ratio(self, row: int) -> Fraction:
        """The score of usable/total after placing on `row`."""
        total = int(self.totals[row])
        before = Fraction(int(self.usable[row]), total)
        after = before - Fraction(self.size, total)
        return _range_over_mean(self._stats.ratio_extremes, before, after, self._stats.rows, self._stats.ratio_sums[0])

    def _unevenness(self, row: int) -> Fraction:
        """α·Σu²/(Σu)² + (1 − α)·Σr²/(Σr)² after placing: orders as the variance does where the means are equal."""
        before, stats = int(self.usable[row]), self._stats
        after = before - self.size
        mixed = self.alpha * _concentration(stats.usable_squares - before**2 + after**2, stats.usable_sum - self.size)
        if self.alpha == 1:
            return mixed
        total = int(self.totals[row])
        plain, squares = stats.ratio_sums
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
        usable = self.usable[rows].astype(float)
        steps = np.full(len(rows), float(self.size))
        scores, error = _float_scores(usable, steps, self._stats.rounded_usable(), self._stats.rows)
        if self.alpha == 1:
            return scores, error
        totals = self.totals[rows].astype(float)
        rounded = self._stats.rounded_ratios()
        ratios, ratio_error = _float_scores(usable / totals, steps / totals, rounded, self._stats.rows)
        mix = float(self.alpha)
        return mix * scores + (1 - mix) * ratios, error + ratio_error

    @property
    def _is_plain(self) -> bool:
        """Whether exact fractions stay short: few rows, or no ratios."""
        return self.alpha == 1 or len(self.usable) <= _FEW


def imbalance(usable: Wide, totals: Wide, alpha: Fraction) -> tuple[Fraction, Fraction]:
    """Score and unevenness of the values as they are, 0 and 0 for none."""
    if not len(usable):
        return Fraction(0), Fraction(0)
    return Field(usable, totals, alpha, 0).key(0)[:2]


def _range_over_mean(extremes: Extremes, before: Number, after: Number, rows: int, all_: Number) -> Fraction:
    """(max − min)/mean of `rows` values of sum `all_` once one of them, `before`, became `after`."""
    first, second, low = extremes
    mean = Fraction(all_ - before + after) / rows
    if rows == 1 or not mean:
        return Fraction(0)
    others = second if before == first else first
    return (max(others, after) - min(low, after)) / mean


def _float_scores(before: Wide, steps: Wide, stats: Rounded, rows: int) -> tuple[Wide, float]:
    """The same in floating point for each of `before`, and max/mean, which its error grows with."""
    if rows == 1:
        return np.zeros(len(before)), 0.0
    after = before - steps
    others = np.where(before == stats.first, stats.second, stats.first)
    means = (stats.sum - steps) / rows
    ranges = np.maximum(others, after) - np.minimum(stats.low, after)
    scores = np.divide(ranges, means, out=np.zeros(len(before)), where=means > 0)
    least = float(means.min())
    return scores, stats.first / least if least > 0 else np.inf


def _concentration(squares: Number, plain: Number) -> Fraction:
    """Σx²/(Σx)², 0 where the sum is 0."""
    return Fraction(squares) / Fraction(plain) ** 2 if plain else Fraction(0)
