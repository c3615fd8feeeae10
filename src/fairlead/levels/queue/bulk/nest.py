"""The queues of a leap, from those with jobs up to the whole: how far each may go, and which of its states are open.

Keys of children lie on one axis for each parent: their priority first (the highest from 0 to 1, the next from 1 to
2 …), then their share as a part of the highest that any of them can come to.
"""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.queue.bulk.curves import Bounds, Curves, gains, levels, reached
from fairlead.levels.queue.bulk.runs import NEAR, Floats
from fairlead.levels.queue.state import State
from fairlead.model.columns import Bool, Int
from fairlead.model.jobs import UNSET

_EXACT = 1e-12
"""Sums in floating point are off by less than this part of themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What bounds queues, [queue, resource], the whole last; unbounded is infinite."""

    used: Floats
    inside: Floats
    guarantee: Floats
    most: Floats

    @staticmethod
    def of(state: State, places: int | None) -> "Limits":
        """From the ledger; places on nodes are one more resource that only the whole bounds."""
        ledger = state.ledger
        used, inside, guarantee, most = (
            np.array(rows, dtype=float) for rows in (ledger.used, ledger.inside, ledger.guarantee, ledger.most)
        )
        most = np.where(most == UNSET, np.inf, most)
        if places is not None:
            none = np.zeros((len(used), 1))
            used, inside, guarantee = (np.hstack((column, none)) for column in (used, inside, guarantee))
            most = np.hstack((most, none + np.inf))
            most[-1, -1] = places
        return Limits(used=used, inside=inside, guarantee=guarantee, most=most)

    def kept(self, rows: Int, inside: Floats) -> Floats:
        """By how much what queues keep grows when what is inside them grows so much, [row, state, resource]."""
        floor, now = self.guarantee[rows][:, None], self.inside[rows][:, None]
        grown: Floats = np.maximum(floor, now + inside) - np.maximum(floor, now)
        return grown


class Nest:
    """Queues with jobs that wait in them or below. Children come in ascending order of their parents."""

    def __init__(self, state: State, limits: Limits, leaf: Int, steps: tuple[Floats, Floats, Floats]) -> None:
        """`leaf` is the queue of each pair, ascending. `steps` are by pair: all that it asks for, the most that one
        step adds, and the most that has to be free beyond what a step uses."""
        self.limits = limits
        self.leaves, self.first = np.unique(leaf, return_index=True)
        self.whole = len(limits.used) - 1
        paths = state.ledger.paths
        self.parent = np.full(self.whole + 1, UNSET)
        depths: dict[int, set[int]] = {}
        for queue in self.leaves.tolist():
            for child, row in zip(paths[queue], paths[queue][1:], strict=False):
                self.parent[child] = row
                depths.setdefault(-len(paths[row]), set()).add(row)
        self.inner = [np.array(sorted(depths[depth])) for depth in sorted(depths)]
        """Parents by depth, the deepest first; the whole is last."""
        self.kids = [self._children(rows) for rows in self.inner]
        self._measures(state)
        self._ends(steps)
        self._axes(state)
        self.low, self.high = np.zeros(self.whole + 1), np.ones(self.whole + 1)
        for kids in self.kids:
            np.maximum.at(self.high, self.parent[kids], self.rung[kids] + 1.0)
        asked = self.end[self.whole]
        self.scale = np.where(asked > 0, 1.0 / np.where(asked > 0, asked, 1.0), 0.0)

    def _children(self, rows: Int) -> Int:
        kids = np.flatnonzero(np.isin(self.parent, rows))
        return kids[np.argsort(self.parent[kids], kind="stable")]

    def _measures(self, state: State) -> None:
        """What the share of a queue is measured by, as in `order`: what it deserves, else the whole by weight."""
        width = self.limits.used.shape[1]
        by, offset = np.full((self.whole + 1, width), np.inf), np.ones((self.whole + 1, width))
        self.least = np.ones(self.whole + 1)
        for row in (*self.leaves.tolist(), *np.concatenate(self.inner)[:-1].tolist()):
            measure = state.queue_measures[row]
            self.least[row] = measure.least / measure.below
            for resource, start, factor in measure.terms:
                by[row, resource], offset[row, resource] = measure.below / factor, start / measure.below
        self.by, self.offset = by, offset

    def shares(self, rows: Int, gain: Floats) -> Floats:
        """[row, state]: the share of queues that gain so much, [row, state, resource]."""
        used = self.limits.used[rows][:, None] + gain
        terms = np.where(used > 0, self.offset[rows][:, None] + used / self.by[rows][:, None], 0.0)
        terms = np.where(np.isfinite(self.by[rows])[:, None], terms, 0.0)
        shares: Floats = np.maximum(terms.max(axis=2, initial=0.0), self.least[rows][:, None])
        return shares

    def _ends(self, steps: tuple[Floats, Floats, Floats]) -> None:
        """The most that every queue may ever gain, the most that one turn adds to it, and what has to be free."""
        asked, largest, extra = steps
        limits, shape = self.limits, self.limits.used.shape
        self.end, self.kept_end, self.largest, self.extra = (np.zeros(shape) for _ in range(4))
        self.end[self.leaves] = np.add.reduceat(asked, self.first)
        self.largest[self.leaves] = np.maximum.reduceat(largest, self.first)
        self.extra[self.leaves] = np.maximum.reduceat(extra, self.first)
        inside = self.end.copy()
        left = np.maximum(limits.most - limits.inside, 0.0)
        for rows, kids in ((self.leaves, None), *zip(self.inner, self.kids, strict=True)):
            if kids is not None:
                np.add.at(self.end, self.parent[kids], self.end[kids])
                np.add.at(inside, self.parent[kids], self.kept_end[kids])
                np.maximum.at(self.extra, self.parent[kids], self.extra[kids])
            inside[rows] = np.minimum(inside[rows], left[rows])
            if kids is None:
                self.end[rows] = inside[rows]
            self.kept_end[rows] = limits.kept(rows, inside[rows][:, None])[:, 0]

    def _axes(self, state: State) -> None:
        """The rung of each queue (place of its priority among its siblings'), and the highest share on it."""
        self.rung, self.top = np.zeros(self.whole + 1), np.ones(self.whole + 1)
        priority = np.append(state.world.queues.priority, 0)
        for rows, kids in zip(self.inner, self.kids, strict=True):
            ends = self.shares(kids, self.end[kids][:, None])[:, 0]
            for row in rows.tolist():
                mine = self.parent[kids] == row
                _, rung = np.unique(-priority[kids[mine]], return_inverse=True)
                self.rung[kids[mine]] = rung
                highest = np.zeros(int(rung.max()) + 1)
                np.maximum.at(highest, rung, ends[mine])
                self.top[kids[mine]] = np.maximum(highest[rung], 1e-300)

    def keys(self, rows: Int, gain: Floats) -> Floats:
        """[row, state]: where on its parent's axis a queue stands with such gains."""
        parts = np.minimum(self.shares(rows, gain) / self.top[rows][:, None], 1.0)
        return self.rung[rows][:, None] + 0.999 * parts

    def _reach(self, rows: Int, levels: Floats) -> Floats:
        """The most that leaf queues gain until their parent has come to levels: a step beyond the share at it."""
        part = (levels * (1.0 + NEAR) - self.rung[rows][:, None]) / 0.999
        share = np.where(part < 1.0, part * self.top[rows][:, None], np.inf)[:, :, None]
        by, most = self.by[rows][:, None], np.full(self.limits.used.shape[1], np.inf)
        counted = np.isfinite(by) & np.isin(rows, self.leaves)[:, None, None]
        with np.errstate(invalid="ignore"):
            bound = np.maximum(share - self.offset[rows][:, None], 0.0) * by * (1.0 + NEAR)
        bound = np.maximum(bound - self.limits.used[rows][:, None], 0.0) + self.largest[rows][:, None]
        return np.where(counted, bound, most)

    def _levels(self, grid: Floats, rows: Int, first: Int, keys: Floats, most: Floats) -> None:
        """Choose the levels of these queues, whose children are sorted by them."""
        size = (most * self.scale).sum(axis=2)
        for row, begin, end in zip(rows.tolist(), first.tolist(), [*first[1:].tolist(), len(keys)], strict=True):
            grid[row] = levels(keys[begin:end], size[begin:end], self.low[row], self.high[row])

    def narrow(self, pairs: Curves, low_keys: Floats, high_keys: Floats) -> Bounds:
        """One round: from the states of the pairs up to the whole, and down again to what is open, [pair]."""
        states = pairs.places.shape[1]
        shape = (self.whole + 1, states, self.limits.used.shape[1])
        grid = np.zeros((self.whole + 1, states))
        self._levels(grid, self.leaves, self.first, high_keys, pairs.most)
        least, most, kept_least, kept_most = (np.zeros(shape) for _ in range(4))
        curves = Curves(grid, least, most, kept_least, kept_most, self.end, self.kept_end)
        self.passed, self.failed = np.zeros(self.whole + 1, dtype=np.int64), np.full(self.whole + 1, states - 1)
        of_pairs = reached(low_keys, high_keys, np.repeat(grid[self.leaves], self.sizes(len(low_keys)), axis=0))
        self._put(curves, self.leaves, gains(pairs, of_pairs, self.first))
        found = []
        for rows, kids in zip(self.inner, self.kids, strict=True):
            first = np.searchsorted(self.parent[kids], rows)
            high_keys = self.keys(kids, curves.most[kids])
            self._levels(grid, rows, first, high_keys, curves.most[kids])
            come_to = grid[self.parent[kids]]
            where = reached(self.keys(kids, curves.least[kids]), high_keys, come_to)
            where = np.minimum(where[0], self.passed[kids][:, None]), where[1]
            self._put(curves, rows, gains(curves.rows(kids), where, first, self._reach(kids, come_to)))
            found.append((kids, where))
        return self._descend(grid, found, of_pairs)

    def sizes(self, pairs: int) -> Int:
        """Namespaces of each leaf queue."""
        return np.diff(np.append(self.first, pairs))

    def _put(self, curves: Curves, rows: Int, columns: tuple[Floats, ...]) -> None:
        """Enter the states of queues, those that a bound of their own may refuse with what bounds alone say."""
        least, most, inside_least, inside_most = columns
        limits = self.limits
        now, bound, extra = limits.inside[rows][:, None], limits.most[rows][:, None], self.extra[rows][:, None]
        untouched = (inside_most <= 0.0) & (extra == 0.0)
        fits = (((now + inside_most) * (1.0 + _EXACT) + extra <= bound) | untouched).all(axis=2)
        over = np.where(inside_least > 0.0, now + inside_least, 0.0) * (1.0 - _EXACT)
        never: Bool = np.any(over > bound, axis=2)
        fits[:, 0] = True
        passed = np.cumprod(fits, axis=1).sum(axis=1) - 1
        states = least.shape[1]
        self.passed[rows] = passed
        self.failed[rows] = np.maximum(np.where(never.any(axis=1), never.argmax(axis=1), states - 1), passed)
        beyond = (np.arange(states) > passed[:, None])[:, :, None]
        last = np.arange(len(rows)), passed
        curves.least[rows] = np.where(beyond, least[last][:, None], least)
        curves.most[rows] = np.where(beyond, curves.end[rows][:, None], most)
        kept_least, kept_most = limits.kept(rows, inside_least), limits.kept(rows, inside_most)
        curves.kept_least[rows] = np.where(beyond, kept_least[last][:, None], kept_least)
        curves.kept_most[rows] = np.where(beyond, curves.kept_end[rows][:, None], kept_most)

    def _descend(self, grid: Floats, found: list[tuple[Int, Bounds]], of_pairs: Bounds) -> Bounds:
        """What is open: between the last state of the whole that surely fits and the first that surely does not."""
        states = grid.shape[1]
        a, b = np.zeros(self.whole + 1, dtype=np.int64), np.zeros(self.whole + 1, dtype=np.int64)
        a[self.whole], b[self.whole] = self.passed[self.whole], self.failed[self.whole]
        for kids, (surely, perhaps) in reversed(found):
            rows, parents = np.arange(len(kids)), self.parent[kids]
            a[kids] = surely[rows, a[parents]]
            b[kids] = np.maximum(np.minimum(perhaps[rows, b[parents]], self.failed[kids]), a[kids])
        every = np.arange(self.whole + 1)
        self.low, self.high = grid[every, a], grid[every, b]
        leaf = np.repeat(self.leaves, self.sizes(len(of_pairs[0])))
        rows = np.arange(len(leaf))
        lowest = of_pairs[0][rows, a[leaf]]
        highest = np.minimum(of_pairs[1][rows, b[leaf]], states - 1)
        return lowest, np.maximum(highest, lowest)
