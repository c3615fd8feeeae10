"""The earliest seats by Webster's rule, where quotients in floating point are exact.

Seat number s of a row comes at the moment (2s + 1)/weight. Where every product of such a numerator with a weight is
below 2**51, two moments differ by more than rounding can hide: they compare as floating-point numbers exactly as they
compare as fractions.
"""

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel.rational import Ints, largest, total

Floats = NDArray[np.float64]

EXACT = 2**51
_PROBES = 8
_SPARE = 2
"""Seats of a row that are looked at on either side of the moment found."""


def earliest(weights: Ints, seats: Ints, room: Ints, units: int, rank: Ints) -> Ints | None:
    """New seats of each row, the earliest `units` of all; equal moments by fewer seats, then by the lower rank.

    Expects positive weights and 0 < units < Σ room; ranks are 0, 1, 2 … in some order. None where moments are not
    exact, or where the moment is not found in a few probes: then a slower search has to be asked.
    """
    stop = seats + room
    if (2 * largest(stop) + 1) * largest(weights) >= EXACT or largest(stop) * len(stop) >= EXACT:
        return None
    pace = weights.astype(np.float64)
    taken = _near(pace, seats, stop, units)
    if taken is not None:
        missing = units + total(seats) - total(taken)
        taken = _with(pace, taken, stop, missing, rank) if missing > 0 else _without(pace, taken, seats, -missing, rank)
    if taken is None or not _in_order(pace, taken, seats, stop, rank):
        return None
    return taken - seats


def _near(pace: Floats, seats: Ints, stop: Ints, units: int) -> Ints | None:
    """The seats taken up to a moment at which about as many as wanted are; None where none is found."""
    wanted, few = units + total(seats), len(pace) + 2
    half = wanted / float(pace.sum())
    for _ in range(_PROBES):
        taken: Ints = np.minimum(np.maximum(pace * half + 0.5, seats), stop).astype(np.int64)
        missing = wanted - int(taken.sum())
        if -few <= missing <= few:
            return taken
        free = pace[taken < stop] if missing > 0 else pace[taken > seats]
        half += missing / float(free.sum())
    return None


def _with(pace: Floats, taken: Ints, stop: Ints, units: int, rank: Ints) -> Ints | None:
    """The next `units` seats too."""
    numbers = taken + np.arange(_SPARE)[:, None]
    times = np.where(numbers < stop, (2 * numbers + 1) / pace, np.inf)
    rows = _first(times.ravel(), numbers.ravel(), rank, units)
    return None if rows is None else taken + np.bincount(rows, minlength=len(pace))


def _without(pace: Floats, taken: Ints, seats: Ints, units: int, rank: Ints) -> Ints | None:
    """Less the last `units` seats."""
    if not units:
        return taken
    numbers = taken - 1 - np.arange(_SPARE)[:, None]
    times = np.where(numbers >= seats, (2 * numbers + 1) / -pace, np.inf)
    rows = _first(times.ravel(), -numbers.ravel(), len(rank) - 1 - rank, units)
    return None if rows is None else taken - np.bincount(rows, minlength=len(pace))


def _first(times: Floats, numbers: Ints, rank: Ints, units: int) -> Ints | None:
    """The rows of the first `units`; None where fewer are at hand."""
    if units > len(times):
        return None
    edge = np.partition(times, units - 1)[units - 1]
    if edge == np.inf:
        return None
    before, equal = np.flatnonzero(times < edge), np.flatnonzero(times == edge)
    left = units - len(before)
    if len(equal) > left:
        order = numbers[equal] * len(rank) + rank[equal % len(rank)]
        equal = equal[np.argpartition(order, left - 1)[:left]]
    rows: Ints = np.concatenate((before, equal)) % len(rank)
    return rows


def _in_order(pace: Floats, taken: Ints, seats: Ints, stop: Ints, rank: Ints) -> bool:
    """Whether every seat that is taken comes before every seat that is not."""
    last = np.where(taken > seats, (2 * taken - 1) / pace, -np.inf)
    following = np.where(taken < stop, (2 * taken + 1) / pace, np.inf)
    latest, earliest = last.max(), following.min()
    if latest != earliest:
        return bool(latest < earliest)
    order = taken * len(rank) + rank
    return bool(order[last == latest].max() - len(rank) < order[following == earliest].min())
