"""What namespaces use at the least and at the most when their share comes to a level.

`Loose` bounds come from the lines alone: true usage is ahead of a line by at most one replica of each job. `Tight`
bounds count replicas near the level, and stand only where that count proves them; elsewhere the loose ones do.
"""

import numpy as np

from fairlead.levels.queue.path import Floats, Lines, Waiting, dominant
from fairlead.model.columns import Bool, Int

SAFE = 1.0 - 1e-9
"""Rounding in floating point stays within this."""


class Loose:
    """Bounds from the lines."""

    def __init__(self, lines: Lines, waiting: Waiting) -> None:
        self.lines = lines
        self.waiting = waiting

    def above(self, level: Floats) -> Floats:
        """The most that each pair may use when its share has come to the level."""
        usage = self.lines.reach(level, ahead=False)[1]
        most: Floats = np.minimum(usage + self.lines.slack + self.lines.step, self.lines.at[self.lines.last])
        return most

    def below(self, level: Floats) -> Floats:
        """What each pair surely uses before that."""
        return self.lines.reach(level, ahead=True)[1]

    def counts(self, level: Floats) -> Int:
        """Replicas that each job surely has before that."""
        return self._counts(*self.lines.spot(level * SAFE, ahead=True), SAFE)

    def _counts(self, vertex: Int, height: Floats, factor: float) -> Int:
        """Replicas of each job at a place of its line; `factor` puts rounding on the safe side."""
        waiting, lines = self.waiting, self.lines
        reached = lines.group[vertex][waiting.pair]
        after = waiting.count + waiting.gang
        ready = lines.gang_vertex <= vertex[waiting.pair]
        # A replica is taken at the share its job has without it, so those below a height are as many as round up to it.
        levelled = np.ceil(height[waiting.pair] * factor / waiting.rise).astype(np.int64)
        here = np.where(ready, np.clip(levelled, after, waiting.replicas), waiting.count)
        counts: Int = np.where(
            waiting.group < reached, waiting.replicas, np.where(waiting.group == reached, here, waiting.count)
        )
        return counts


class Tight(Loose):
    """Bounds from counted replicas."""

    def __init__(self, lines: Lines, waiting: Waiting, start: Floats) -> None:
        super().__init__(lines, waiting)
        self.start = start
        self.rows = np.searchsorted(waiting.pair, np.arange(len(start)))
        self.step = dominant(lines.step, lines.scale)

    def above(self, level: Floats) -> Floats:
        """The replicas at a place where the share has surely come to the level."""
        vertex, height = self.lines.spot(self._nearer(level) + self.step, ahead=False)
        least = self._usage(self._counts(vertex, height, SAFE))
        proven = self._share(least) >= level / SAFE
        return np.where(proven[:, None], self._usage(self._counts(vertex, height, 1.0 / SAFE)), super().above(level))

    def below(self, level: Floats) -> Floats:
        """The replicas at a place where the share has surely not come to the level."""
        counts, proven = self._least(level)
        return np.where(proven[:, None], self._usage(counts), super().below(level))

    def counts(self, level: Floats) -> Int:
        """See `Loose`."""
        counts, proven = self._least(level)
        return np.where(proven[self.waiting.pair], counts, super().counts(level))

    def _least(self, level: Floats) -> tuple[Int, Bool]:
        vertex, height = self.lines.spot(np.maximum(self._nearer(level) - self.step, 0.0), ahead=False)
        most = self._usage(self._counts(vertex, height, 1.0 / SAFE))
        return self._counts(vertex, height, SAFE), self._share(most) < level * SAFE

    def _nearer(self, level: Floats) -> Floats:
        """The level of the line at which counted replicas come to the level: less by what they are ahead of it."""
        usage = self._usage(self._counts(*self.lines.spot(level, ahead=False), 1.0))
        nearer: Floats = level - np.maximum(self._share(usage) - level, 0.0)
        return nearer

    def _share(self, usage: Floats) -> Floats:
        return dominant(usage + self.lines.past, self.lines.scale)

    def _usage(self, counts: Int) -> Floats:
        """What the pairs use when their jobs hold so many replicas."""
        more = (counts - self.waiting.count)[:, None] * self.waiting.request
        usage: Floats = self.start + np.add.reduceat(more, self.rows, axis=0)
        return usage
