"""Whole units divided by weight: Webster's (Sainte-Laguë's) highest averages."""

import numpy as np

from fairlead.kernel.level import level
from fairlead.kernel.rational import Ints, ints, largest, ranks, total
from fairlead.kernel.search import Bracket, narrow
from fairlead.kernel.seats import earliest
from fairlead.kernel.select import lowest

_MARGIN = 2.0**-49
"""Rounding moves a floating-point seat boundary by less than this, relatively."""
_BITS = 46
"""The divisor is searched on a grid of so many bits; what lies between two points of it is put in order exactly."""
_FEW = 64
"""Seats that are put in order sooner than narrowed further, besides one in sixteen rows."""


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
    weighted = weights > 0
    if minimums is None:
        return _highest(weights, seats, np.where(weighted, room, 0), units, tie_rank)
    owed = np.clip(ints(minimums) - seats, 0, room)
    left = units - total(owed)
    if left > 0:
        granted, more = owed, _highest(weights, seats + owed, np.where(weighted, room - owed, 0), left, tie_rank)
    else:
        granted = _highest(weights, seats, np.where(weighted, owed, 0), units, tie_rank)
        idle = np.where(weighted, 0, owed)
        more = level(units - total(granted), seats, np.ones_like(seats), idle, tie_rank=tie_rank)
    result: Ints = granted + more
    return result


def _highest(weights: Ints, seats: Ints, room: Ints, units: int, tie_rank: Ints | None) -> Ints:
    """Webster's rule where only rows of positive weight have room."""
    if units >= total(room):
        return room
    live = np.flatnonzero(room)
    result = np.zeros(len(room), dtype=np.int64)
    weights, seats, room = weights[live], seats[live], room[live]
    rank = None if tie_rank is None else ints(tie_rank)[live]
    if units > 0 and (found := earliest(weights, seats, room, units, _dense(rank, len(live)))) is not None:
        result[live] = found
    elif units > 0:
        result[live] = _searched(weights, seats, room, units, rank)
    return result


def _dense(rank: Ints | None, rows: int) -> Ints:
    """The ranks as 0, 1, 2 …, equal ones in the order of the rows."""
    if rank is None:
        return np.arange(rows)
    if largest(rank) == rows - 1 and (np.bincount(rank, minlength=rows) == 1).all():
        return rank
    result = np.empty(rows, dtype=np.int64)
    result[np.argsort(rank, kind="stable")] = np.arange(rows)
    return result


def _searched(weights: Ints, seats: Ints, room: Ints, units: int, rank: Ints | None) -> Ints:
    """The earliest seats for numbers of any size.

    Seat number s of a row is taken at "time" (2s + 1)/weight; the earliest `units` are wanted. A time is found
    in floating point before which certainly fewer, and one before which certainly enough are taken; the seats between
    the two are put in order exactly.
    """
    times = _Times(weights, seats, room)
    low, high = times.bracket(units)
    certain = times.taken(low * (1.0 - _MARGIN)).copy()
    doubtful = times.taken(high * (1.0 + _MARGIN)) - certain
    rows, turn = _turns(doubtful)
    number = seats[rows] + certain[rows] + turn
    keys = [ranks(2 * number + 1, weights[rows]), number]
    if rank is not None:
        keys.append(rank[rows])
    won = rows[lowest(units - total(certain), *keys)]
    result: Ints = certain + np.bincount(won, minlength=len(weights))
    return result


def _turns(counts: Ints) -> tuple[Ints, Ints]:
    """Every row as often as its count says, with 0, 1, 2 … for its turns."""
    rows = np.flatnonzero(counts)
    if largest(counts) > 1:
        rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]


class _Times:
    """Seats taken before a moment. The columns it returns are scratch space, overwritten by the next call."""

    def __init__(self, weights: Ints, seats: Ints, room: Ints) -> None:
        self.weights, self.seats, self.room = weights.astype(float), seats, room
        self.stop = seats + room
        self.times = np.empty_like(self.weights)
        self.numbers = np.empty_like(seats)

    def taken(self, moment: float) -> Ints:
        """New seats of each row before `moment`."""
        np.multiply(self.weights, moment / 2, out=self.times)
        self.times += 0.5
        np.minimum(self.times, 2.0**62, out=self.times)
        np.copyto(self.numbers, self.times, casting="unsafe")
        np.clip(self.numbers, self.seats, self.stop, out=self.numbers)
        self.numbers -= self.seats
        return self.numbers

    def bracket(self, units: int) -> tuple[float, float]:
        """Two near moments: before the first fewer than `units` seats are taken, before the second at least that many.

        Searched on a grid of integers so fine that the earliest moment of all is known to `_BITS` bits.
        """
        grid = 2.0 ** (_BITS + largest(self.weights).bit_length())
        last = int(((2.0 * self.stop + 1.0) / self.weights).max() * grid * (1.0 + _MARGIN)) + 1
        found = narrow(
            lambda moment: total(self.taken(moment / grid)),
            Bracket(1 << _BITS - 1, last, 0, total(self.room)),
            units,
            slack=_FEW + len(self.room) // 16,
            tie=len(self.room),
        )
        return found.low / grid, found.high / grid
