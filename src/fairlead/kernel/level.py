"""Integer water-filling: many units onto targets that start at different heights and rise by different steps."""

import numpy as np

from fairlead.kernel.rational import Ints, Wide, ints, largest, total, widen
from fairlead.kernel.search import Bracket, narrow


def level(units: int, base: Ints, step: Ints, cap: Ints, *, tie_rank: Ints | None = None) -> Ints:
    """How many of `units` each target takes, when every unit goes where the result is lowest.

    A target with c units stands at base + step·c. One unit after another goes to the target whose result,
    base + step·(c + 1), is lowest; ties to the lower `tie_rank`, then to the lower row. So the results, sorted from
    the top, are lexicographically minimal. `cap` is the most units a target takes; step 0 is a target that does
    not rise: once it is lowest it takes all it may. The counts sum to min(units, Σ cap).

    The answer is that of the turn-by-turn rule; the cost does not depend on `units`. The level is found by search,
    the units below it are handed out at once, and only the last lap is settled by the tie rule.
    """
    base, step = ints(base), ints(step)
    cap = np.minimum(ints(cap), units)
    if units >= total(cap):
        return cap
    live = np.flatnonzero(cap)
    counts = np.zeros(len(cap), dtype=np.int64)
    ranks = None if tie_rank is None else ints(tie_rank)[live]
    counts[live] = _fill(units, base[live], step[live], cap[live], ranks)
    return counts


def _fill(units: int, base: Ints, step: Ints, cap: Ints, tie_rank: Ints | None) -> Ints:
    """`level` where every target has room and there are fewer units than room."""
    floor = int(base.min())
    height = base.astype(object) - floor if int(base.max()) - floor >= 2**62 else base - floor
    highest = largest(height) + largest(step) * largest(cap)
    height = widen(height, 2 * highest)
    below = _Below(height, step, cap)
    top = narrow(below.total, Bracket(-1, highest, 0, total(cap)), units).high
    counts = below.counts(top - 1)
    on_top = np.minimum(below.counts(top) - counts, cap)
    return counts + first(on_top, units - total(counts), tie_rank)


class _Below:
    """Counts of the units whose results do not pass a level."""

    def __init__(self, height: Wide, step: Ints, cap: Ints) -> None:
        self.height, self.step, self.cap = height, step, cap
        uniform = int(step[0]) if (step == step[0]).all() else -1
        self.uniform = uniform
        self.rising = np.maximum(step, 1)

    def counts(self, top: int) -> Ints:
        room = top - self.height
        if self.uniform == 1:
            steps = room
        elif self.uniform > 1:
            steps = room // self.uniform
        else:
            steps = np.where(self.step > 0, room // self.rising, np.where(room >= 0, self.cap, -1))
        return np.clip(steps, 0, self.cap).astype(np.int64)

    def total(self, top: int) -> int:
        return total(self.counts(top))


def first(room: Ints, units: int, tie_rank: Ints | None) -> Ints:
    """`units` taken by rows in turn, each up to its room: lower `tie_rank` first, then lower row."""
    rows = np.flatnonzero(room)
    if tie_rank is not None:
        rows = rows[np.argsort(tie_rank[rows], kind="stable")]
    before = np.cumsum(room[rows]) - room[rows]
    taken = np.zeros(len(room), dtype=np.int64)
    taken[rows] = np.clip(units - before, 0, room[rows])
    return taken
