"""The first rows under an order, without sorting more than the order's boundary needs."""

import numpy as np

from fairlead.kernel.rational import Ints, largest, widen


def lowest(k: int, *columns: Ints) -> Ints:
    """The `k` lowest rows by the columns in turn, the first column weighing most; ties to the lower row.

    The rows come back in no particular order.
    """
    rows = np.arange(len(columns[0]) if k else 0)
    chosen = []
    for column in columns:
        if k >= len(rows):
            break
        values = column[rows]
        edge = np.partition(values, k - 1)[k - 1]
        chosen.append(rows[values < edge])
        rows, k = rows[values == edge], k - len(chosen[-1])
    return np.concatenate([*chosen, rows[:k]])


def first(room: Ints, units: int, tie_rank: Ints | None) -> Ints:
    """`units` ≥ 1 taken by rows in turn, each up to its room: lower `tie_rank` first, then lower row."""
    taken = np.zeros(len(room), dtype=np.int64)
    rows = np.flatnonzero(room)
    if largest(room) <= 1:
        taken[rows[:units] if tie_rank is None else rows[lowest(units, tie_rank[rows])]] = 1
        return taken
    if tie_rank is not None:
        rows = rows[np.argsort(tie_rank[rows], kind="stable")]
    asked = room[rows]
    wide = widen(asked, largest(asked) * len(asked))
    taken[rows] = np.clip(units - (np.cumsum(wide) - wide), 0, asked)
    return taken
