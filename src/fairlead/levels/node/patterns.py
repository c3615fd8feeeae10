"""All full fillings of a node's volumes in one table: arrangements by least waste, bounds by prices.

A pattern is how many pieces of each size one bin takes, such that no piece of the smallest size fits beside them. Why
this finds and proves what it does is told in docs/decisions/0371.
"""

from collections.abc import Sequence

import numpy as np

from fairlead.model.columns import Int

MOST_PATTERNS = 20_000
"""Of all bins together; beyond, there is no table."""
_MOST_SPACE = 2**62
_EVENNESS = (0.02, 0.08, 0.2)
"""How much an uneven mix counts beside waste, in turn."""
_PRICES = 24
"""Sets of prices that a proof tries."""
_STEP = 0.02
"""How far the first prices move from the sizes."""
_UNIT = 100_000
"""All prices together."""


class Patterns:
    """The patterns of all bins, in the order of the bins; `sizes` are distinct, the largest first, each so often."""

    def __init__(
        self, bins: Sequence[int], sizes: Sequence[int], numbers: Sequence[int], bin_of: Int, table: Int
    ) -> None:
        self._bins, self._bin_of, self._table = bins, bin_of, table
        self._sizes = np.array(sizes, dtype=np.int64)
        self._numbers = np.array(numbers, dtype=np.int64)
        self._first = np.searchsorted(bin_of, np.arange(len(bins)))
        self._of = np.split(table, self._first[1:])

    def ruled_out(self, replicas: int) -> bool:
        """Whether prices prove that so many replicas do not fit.

        Whatever the pieces are worth, the replicas (at least one) are worth no more than the most valuable pattern of
        every bin. Prices start as the sizes, and fall where the most valuable patterns have too much of a size.
        """
        prices = self._sizes / self._sizes.sum()
        for step in range(1, _PRICES + 1):
            whole = np.rint(prices / prices.sum() * _UNIT).astype(np.int64)
            worth = self._table @ whole
            best = np.maximum.reduceat(worth, self._first)
            one, most = int(self._numbers @ whole), int(best.sum())
            if most < one * replicas:
                return True
            hits = np.flatnonzero(worth == best[self._bin_of])
            one_a_bin = hits[np.searchsorted(self._bin_of[hits], np.arange(len(self._bins)))]
            taken = self._table[one_a_bin].sum(axis=0) / self._numbers
            prices *= np.exp(-_STEP / step**0.5 * (taken * one / most - 1))
        return False

    def arrange(self, replicas: int) -> list[tuple[int, ...]] | None:
        """A pattern per bin that holds so many replicas, or None where none was found; that proves nothing.

        Bins in order of size, each with the pattern that wastes least and keeps the mix of what is left; the last three
        together, the largest of them with whatever is left then.
        """
        wanted = self._numbers * replicas
        order = sorted(range(len(self._bins)), key=lambda row: self._bins[row])
        for evenness in _EVENNESS:
            found = self._by_waste(order, wanted, evenness)
            if found is not None:
                return found
        return None

    def _by_waste(self, order: Sequence[int], wanted: Int, evenness: float) -> list[tuple[int, ...]] | None:
        space = sum(self._bins)
        spare = space - int(wanted @ self._sizes)
        left = wanted
        found: list[tuple[int, ...]] = [()] * len(order)
        for row in order[:-3]:
            taken = np.minimum(self._of[row], left)
            waste = self._bins[row] - taken @ self._sizes
            uneven = np.abs(taken - left * (self._bins[row] / space)) @ self._sizes
            best = int(np.argmin(waste + evenness * uneven))
            spare -= int(waste[best])
            if spare < 0:
                return None
            found[row] = tuple(taken[best].tolist())
            left, space = left - taken[best], space - self._bins[row]
        return found if self._finish(order[-3:], left, found) else None

    def _finish(self, rows: Sequence[int], left: Int, found: list[tuple[int, ...]]) -> bool:
        """Fill the last bins, every two patterns of all but the largest tried."""
        *others, largest = rows
        pairs = np.zeros((1, len(left)), dtype=np.int64)
        for row in others:
            pairs = (pairs[:, None, :] + self._of[row][None, :, :]).reshape(-1, len(left))
        rests = np.maximum(left - pairs, 0)
        fits = np.flatnonzero(rests @ self._sizes <= self._bins[largest])
        if not len(fits):
            return False
        at = int(fits[0])
        found[largest] = tuple(rests[at].tolist())
        for row in reversed(others):
            at, pattern = divmod(at, len(self._of[row]))
            taken = np.minimum(self._of[row][pattern], left)
            found[row] = tuple(taken.tolist())
            left = left - taken
        return True


def tabulated(bins: Sequence[int], sizes: Sequence[int], numbers: Sequence[int]) -> Patterns | None:
    """The patterns, or None where they are too many or the space is beyond int64."""
    table = _table(bins, sizes) if bins and sum(bins) < _MOST_SPACE else None
    return None if table is None else Patterns(bins, sizes, numbers, *table)


def _table(bins: Sequence[int], sizes: Sequence[int]) -> tuple[Int, Int] | None:
    """The bin of each pattern and the patterns, size after size; the smallest size fills what the others leave."""
    rows, left = np.arange(len(bins)), np.array(bins, dtype=np.int64)
    table = np.zeros((len(bins), 0), dtype=np.int64)
    for size in sizes[:-1]:
        ways = left // size + 1
        if float(ways.sum()) > MOST_PATTERNS:
            return None
        source = np.repeat(np.arange(len(rows)), ways)
        taken = np.arange(len(source)) - np.repeat(np.cumsum(ways) - ways, ways)
        rows, left = rows[source], left[source] - taken * size
        table = np.column_stack((table[source], taken))
    return rows, np.column_stack((table, left // sizes[-1]))
