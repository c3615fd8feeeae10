"""Nodes whose cores hold several times the base: which whole cores to share, exactly.

Cores of equal size are one group. Giving up a core of v slots for fragments costs min(v, n) of the whole-core slots
that n replicas can use and gains ⌊v·base/fragment⌋ fragments: a covering knapsack over few groups.
"""

from typing import NamedTuple

import numpy as np

from fairlead.model.columns import Int

MOST_SLOTS = 128
"""How many times the base a core may hold."""
MOST_CELLS = 2**20
"""Of one table. The result is exact while (convertible cores + 1)·(slots + 1) stays within it, as for 500 cores of four
slots under any limit, and for every node without one; beyond, fewer cores are considered for conversion, and the result
is what these allow."""


class _Part(NamedTuple):
    """`cores` cores of `slots` slots, converted together."""

    slots: int
    cores: int
    cost: int
    gain: int


class Conversions:
    """The most fragments for every number of slots given up, if `most` cores may be converted for `n` replicas."""

    def __init__(self, slots: Int, most: int, n: int, share_base: int, fragment: int) -> None:
        values, numbers = np.unique(slots, return_counts=True)
        self._parts = [
            _Part(value, cores, cores * min(value, n), cores * (value * share_base // fragment))
            for value, number in zip(values.tolist(), numbers.tolist(), strict=True)
            for cores in _powers(number)
        ]
        self.usable = int(np.minimum(slots, n).sum())
        # Without a limit that can bind, the number of converted cores needs no dimension of its own.
        self._limited = most < len(slots)
        self._top = min(most, MOST_CELLS // (self.usable + 1)) if self._limited else 0
        self._best = np.zeros((self._top + 1, self.usable + 1), dtype=np.int64)
        self._better = [np.packbits(self._raise(part), axis=1) for part in self._parts]

    def _raise(self, part: _Part) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Let the part be converted too; where that gains something."""
        cores = part.cores if self._limited else 0
        before = self._best
        if cores <= self._top:
            self._best = before.copy()
            target = self._best[cores:, part.cost :]
            source = before[: self._top + 1 - cores, : self.usable + 1 - part.cost]
            np.maximum(target, source + part.gain, out=target)
        return self._best > before

    def cost(self, fragments: int) -> int | None:
        """The fewest slots to give up for so many fragments, None where that cannot be."""
        place = int(np.searchsorted(self._best[self._top], max(fragments, 0)))
        return place if place <= self.usable else None

    def cores(self, fragments: int) -> dict[int, int]:
        """How many cores of each size to convert for so many fragments at that cost."""
        chosen: dict[int, int] = {}
        cost, top = self.cost(fragments) or 0, self._top
        for part, better in zip(reversed(self._parts), reversed(self._better), strict=True):
            if better[top, cost // 8] >> (7 - cost % 8) & 1:
                chosen[part.slots] = chosen.get(part.slots, 0) + part.cores
                cost -= part.cost
                top -= part.cores if self._limited else 0
        return chosen


def most_replicas(slots: Int, loose: Int, most: Int, pieces: int, share_base: int) -> Int:
    """Per row the largest n that whole cores of `slots` slots and `loose` fragments allow, `most` being convertible.

    Rows without a limit that can bind are computed together; the others one by one, the same state once.
    """
    result = np.full(len(slots), -1, dtype=np.int64)
    free = np.flatnonzero(most >= (slots > 0).sum(axis=1))
    width = int(slots.sum(axis=1).max(initial=0)) + 1
    for part in np.array_split(free, max(len(free) * width // MOST_CELLS, 1)):
        result[part] = _together(slots[part], loose[part], pieces, share_base)
    known: dict[tuple[bytes, int, int], int] = {}
    for row in np.flatnonzero(result < 0).tolist():
        sizes = np.sort(slots[row][slots[row] > 0])
        state = (sizes.tobytes(), int(loose[row]), int(most[row]))
        if state not in known:
            known[state] = _alone(sizes, state[1], state[2], pieces, share_base)
        result[row] = known[state]
    return result


def _together(slots: Int, loose: Int, pieces: int, share_base: int) -> Int:
    """`most_replicas` of rows without a limit; −1 where n is below the slots of a core, as costs then depend on n."""
    whole_cores, fragment = divmod(pieces, share_base)
    usable = slots.sum(axis=1)
    best = np.zeros((len(slots), int(usable.max(initial=0)) + 1), dtype=np.int64)
    for value in np.unique(slots[slots > 0]).tolist():
        left = (slots == value).sum(axis=1)
        gain = value * share_base // fragment
        for size in _powers(int(left.max())):
            cores = np.minimum(left, size)
            left = left - cores
            for number in np.unique(cores[cores > 0]).tolist():
                rows = cores == number
                block = best[rows]
                raised = block[:, : -number * value] + number * gain
                np.maximum(block[:, number * value :], raised, out=block[:, number * value :])
                best[rows] = block
    largest = slots.max(axis=1, initial=0)
    low, high = largest - 1, usable // whole_cores
    while (low < high).any():
        n = (low + high + 1) // 2
        cost = (best < (n - loose)[:, None]).sum(axis=1)
        fits = (cost <= usable) & (usable - cost >= n * whole_cores)
        searching = low < high
        low, high = np.where(searching & fits, n, low), np.where(searching & ~fits, n - 1, high)
    return np.where(low >= largest, low, -1)


def _alone(slots: Int, loose: int, most: int, pieces: int, share_base: int) -> int:
    """`most_replicas` of one row."""
    whole_cores, fragment = divmod(pieces, share_base)
    largest = int(slots.max())
    # From n = largest slots on the costs no longer depend on n, so one table answers for all of them.
    shared = Conversions(slots, most, largest, share_base, fragment)
    low, high = 0, shared.usable // whole_cores
    while low < high:
        n = (low + high + 1) // 2
        table = shared if n >= largest else Conversions(slots, most, n, share_base, fragment)
        cost = table.cost(n - loose)
        if cost is not None and table.usable - cost >= n * whole_cores:
            low = n
        else:
            high = n - 1
    return low


def _powers(number: int) -> list[int]:
    """1, 2, 4 … and a rest, that sum to `number`: every smaller number is a sum of some of them."""
    parts, size = [], 1
    while number > 0:
        parts.append(min(size, number))
        number -= parts[-1]
        size *= 2
    return parts
