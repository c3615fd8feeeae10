"""Whole units divided by weight: exact floors, and Webster's (Sainte-Laguë's) highest averages."""

import numpy as np

from fairlead.kernel.level import level
from fairlead.kernel.rational import Ints, ints, largest, ranks, scale, total, widen
from fairlead.kernel.search import Bracket, narrow

_MARGIN = 2.0**-49
"""Rounding moves a floating-point seat boundary by less than this, relatively."""
_BITS = 46
"""The divisor is searched to so many bits; what lies between is put in order exactly."""


def floors(weights: Ints, units: int) -> Ints:
    """⌊weight·units/Σ weights⌋ for each row, exact for any int64; all 0 where the weights sum to 0."""
    weights = ints(weights)
    everything = total(weights)
    if everything == 0:
        return np.zeros(len(weights), dtype=np.int64)
    return scale(weights, units, everything)[0]


def floors_many(weights: Ints, units: Ints) -> Ints:
    """`floors` of many divisions at once: weights[m, n] (or one row for all), units[m] -> [m, n]."""
    units = ints(units)
    weights = np.broadcast_to(ints(weights), (len(units), np.shape(weights)[-1]))
    bound = largest(weights) * max(largest(units), weights.shape[1])
    wide = widen(weights, bound)
    sums = np.maximum(wide.sum(axis=1, keepdims=True), 1)
    return (wide * units[:, None] // sums).astype(np.int64)


def webster(
    weights: Ints,
    units: int,
    *,
    initial: Ints | None = None,
    caps: Ints | None = None,
    minimums: Ints | None = None,
    tie_rank: Ints | None = None,
) -> Ints:
    """New units for each row by Webster's rule, on top of the seats in `initial`.

    The next unit goes to the row with the highest weight/(2·seats + 1); ties to fewer seats, then to the lower
    `tie_rank`, then to the lower row. `caps` and `minimums` bound a row's seats, initial ones included. Minimums (no
    higher than the cap) are granted first, whatever the weight; where the units do not cover them, they are granted in
    the same order, rows of weight 0 last, level by level. Beyond its minimum a row of weight 0 gets nothing. The
    result sums to `units`, or to what the caps allow.

    Equal to handing out unit after unit; the cost does not depend on `units`.
    """
    weights = ints(weights)
    seats = np.zeros(len(weights), dtype=np.int64) if initial is None else ints(initial)
    room = np.full(len(weights), units) if caps is None else np.clip(ints(caps) - seats, 0, units)
    if minimums is None:
        return _highest(weights, seats, np.where(weights > 0, room, 0), units, tie_rank)
    owed = np.clip(ints(minimums) - seats, 0, room)
    left = units - total(owed)
    if left > 0:
        more = np.where(weights > 0, room - owed, 0)
        return owed + _highest(weights, seats + owed, more, left, tie_rank)
    weighted = _highest(weights, seats, np.where(weights > 0, owed, 0), units, tie_rank)
    rest = units - total(weighted)
    return weighted + level(rest, seats, np.ones_like(seats), np.where(weights > 0, 0, owed), tie_rank=tie_rank)


def _highest(weights: Ints, seats: Ints, room: Ints, units: int, tie_rank: Ints | None) -> Ints:
    """Webster's rule where only rows of positive weight have room.

    Seat number s of a row is taken at "time" (2s + 1)/weight; the earliest `units` are wanted. A time is found
    in floating point before which certainly fewer, and one before which certainly enough are taken; the seats between
    the two are put in order exactly.
    """
    if units >= total(room):
        return room
    live = np.flatnonzero(room)
    result = np.zeros(len(room), dtype=np.int64)
    weights, seats = weights[live], seats[live]
    times = _Times(weights, seats, room[live])
    bracket = times.bracket(units)
    certain = times.taken(bracket.low, 1.0 - _MARGIN)
    doubtful = times.taken(bracket.high, 1.0 + _MARGIN) - certain
    rows = np.repeat(np.arange(len(live)), doubtful)
    turn = np.arange(len(rows)) - np.repeat(np.cumsum(doubtful) - doubtful, doubtful)
    number = (seats + certain)[rows] + turn
    keys = [rows if tie_rank is None else ints(tie_rank)[live][rows], number]
    order = np.lexsort((*keys, ranks(2 * number + 1, weights[rows])))
    won = rows[order[: units - total(certain)]]
    result[live] = certain + np.bincount(won, minlength=len(live))
    return result


class _Times:
    """Seats taken before a moment; moments are integers, 2**-scale each, so that they can be searched."""

    def __init__(self, weights: Ints, seats: Ints, room: Ints) -> None:
        self.weights, self.seats = weights.astype(float), seats
        self.stop = seats + room
        self.sum = total(weights)
        self.scale = _BITS + 1 + largest(weights).bit_length()

    def taken(self, moment: int, tilt: float = 1.0) -> Ints:
        """New seats of each row before `moment`·`tilt`."""
        half = moment * 0.5 * tilt / 2.0**self.scale
        numbers = np.minimum(self.weights * half + 0.5, 2.0**62).astype(np.int64)
        return np.clip(numbers, self.seats, self.stop) - self.seats

    def bracket(self, units: int) -> Bracket:
        """A narrow pair of moments between which seat number `units` is taken."""
        last = float(((2.0 * self.stop + 1.0) / self.weights).max())
        high = int(last * 2.0**self.scale) + 1
        return narrow(
            lambda moment: total(self.taken(moment)),
            Bracket(1 << _BITS - 1, high, 0, total(self.stop - self.seats)),
            units,
            slack=len(self.seats) // 16,
            bits=_BITS,
        )
