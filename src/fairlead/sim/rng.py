"""Random numbers that are the same on every machine: keys from a counter-based hash, worked out in whole numbers."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel.logarithm import LN_2_64, POINT, ln
from fairlead.kernel.lottery import digest, keys
from fairlead.model.columns import Int

Words = NDArray[np.uint64]


class Draws:
    """Columns of random numbers for one named purpose. Each call draws anew; other purposes are not disturbed."""

    def __init__(self, seed: int, purpose: str) -> None:
        self._object = np.array([digest(f"{seed}/{purpose}")], dtype=np.uint64)
        self._turn = 0

    def words(self, count: int) -> Words:
        """Uniform 64-bit words."""
        self._turn += 1
        row: Words = keys(self._object, np.arange(count, dtype=np.uint64), self._turn)[0]
        return row

    def between(self, low: int, high: int, count: int) -> Int:
        """Uniform whole numbers from `low` to `high`, both included; coarser where the range is 2**31 or wider."""
        span = high - low + 1
        shift = max(span.bit_length() - 31, 0)
        top = (self.words(count) >> np.uint64(32)).astype(np.int64)
        drawn: Int = low + np.minimum(((top * ((span >> shift) + bool(shift))) >> 32) << shift, span - 1)
        return drawn

    def exponential(self, mean: int, count: int) -> Int:
        """Whole numbers with an exponential distribution of this mean, each at least 1."""
        lengths = LN_2_64 - ln(self.words(count) | np.uint64(1))
        return np.array([max(1, mean * length >> POINT) for length in lengths.tolist()], dtype=np.int64)

    def choices(self, odds: Sequence[int], count: int) -> Int:
        """Rows drawn with these odds."""
        edges = np.cumsum(np.array(odds, dtype=np.int64))
        return np.searchsorted(edges, self.between(0, int(edges[-1]) - 1, count), side="right").astype(np.int64)

    def some(self, count: int, of: int) -> Int:
        """`count` different rows out of `of`, in order."""
        return np.sort(np.argsort(self.words(of), kind="stable")[:count]).astype(np.int64)
