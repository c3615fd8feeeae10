"""Integer water-filling: many units onto targets that start at different heights and rise by different steps."""

import numpy as np

from fairlead.kernel.rational import LIMIT, Ints, Wide, ints, largest, total, wide, widen
from fairlead.kernel.search import Bracket, narrow
from fairlead.kernel.select import first


def level(units: int, base: Wide, step: Wide, cap: Ints, *, tie_rank: Ints | None = None) -> Ints:
    """How many of `units` each target takes, when every unit goes where the result is lowest.

    A target with c units stands at base + step·c. One unit after another goes to the target whose result,
    base + step·(c + 1), is lowest; ties to the lower `tie_rank`, then to the lower row. So the results, sorted from
    the top, are lexicographically minimal. `cap` is the most units a target takes; step 0 is a target that does
    not rise: once it is lowest it takes all it may. The counts sum to min(units, Σ cap). Heights and steps beyond 63
    bits come as Python integers (object columns).

    The answer is that of the turn-by-turn rule; the cost does not depend on `units`. The level is found by search,
    the units below it are handed out at once, and only the last lap is settled by the tie rule.
    """
    base, step = wide(base), wide(step)
    cap = np.minimum(ints(cap), units)
    if units >= total(cap):
        return cap
    below = _Below(base, step, cap)
    top = narrow(below.total, Bracket(-1, below.highest, 0, total(cap)), units).high
    counts = below.counts(top - 1).astype(np.int64)
    lap = below.counts(top).astype(np.int64) - counts
    return counts + first(lap, units - total(counts), None if tie_rank is None else ints(tie_rank))


class _Below:
    """Counts of the units whose results do not pass a level; levels are measured from the lowest base.

    The columns it returns are scratch space, overwritten by the next call.
    """

    def __init__(self, base: Wide, step: Wide, cap: Ints) -> None:
        lowest, highest = int(base.min()), int(base.max())
        self.highest = highest - lowest + largest(step) * largest(cap)
        kind = np.int64 if self.highest < LIMIT else object
        self.height: Wide = (widen(base, self.highest) - lowest).astype(kind, copy=False)
        self.cap: Wide = cap.astype(kind, copy=False)
        self.still = np.flatnonzero(step == 0)
        alike = (step == step[0]).all()
        self.step: Wide | int = int(step[0]) if alike else np.maximum(step, 1).astype(kind, copy=False)
        self.scratch = np.empty_like(self.height)

    def counts(self, top: int) -> Wide:
        """How many units each target holds when none stands above `top`."""
        room = np.subtract(top, self.height, out=self.scratch)
        still = room[self.still]
        if not isinstance(self.step, int) or self.step > 1:
            np.floor_divide(room, self.step, out=room)
        np.maximum(room, 0, out=room)
        np.minimum(room, self.cap, out=room)
        room[self.still] = np.where(still >= 0, self.cap[self.still], 0)
        return room

    def total(self, top: int) -> int:
        """The sum of the counts."""
        return total(self.counts(top))
