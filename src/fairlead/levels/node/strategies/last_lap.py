"""The last lap of `global` in bulk: what one turn a replica would give (docs/decisions/0051, 0370).

A *state* is a node with so many replicas of the lap: its use u, its result u + rate, and the replicas it holds. A turn
takes the state that is lowest by (held, result, name) among the equals, those with u below the *edge*, which is the
result of the least used state. The edge stays until the least used state itself is taken: one *phase*. So a phase
takes every state that is lower than the least used one by (held, result, name) and starts below its edge, and then the
least used one. Of each node these are the next so many, and how many does not depend on other nodes.

Which states are the least used of a phase is found in one pass over all states by use: a state is, unless an earlier
one of them, with an edge above its use, is higher by (held, result, name); the phase of that one took it already.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fairlead.kernel.level import level
from fairlead.kernel.rational import Wide, ints, largest, total, widen
from fairlead.kernel.search import Bracket, narrow
from fairlead.kernel.select import lowest
from fairlead.model.columns import Bool, Int


class _Least(NamedTuple):
    """The least used state of a phase; its result is the edge."""

    held: int
    result: int
    row: int


class LastLap:
    """Nodes, and what they take of the lap; rows are in the order of names."""

    def __init__(self, used: Wide, rate: Wide, held: Int, room: Int, turns: int) -> None:
        most = largest(used) + largest(rate) * (turns + 2)
        self.used, self.rate = widen(used, most), widen(rate, most)
        self.held, self.room = held, np.minimum(room, turns)
        self.turns = min(turns, total(self.room))
        self.taken = np.zeros(len(held), dtype=np.int64)
        self._still = np.flatnonzero(rate == 0)
        self._divisor = np.maximum(self.rate, 1)
        self._rows = np.arange(len(held))

    def run(self) -> Int:
        """How many of the turns each row takes: whole phases together, then one as far as turns are left."""
        self._take(self._phases(self._below_all_results()))
        while self.turns:
            self._take(self._next_phase())
            self._take(self._phases(self._least_used_states()))
        return self.taken

    def _take(self, more: Int) -> None:
        self.taken = self.taken + more
        self.held = self.held + more
        self.used = self.used + self.rate * more
        self.room = self.room - more
        self.turns -= int(more.sum())

    def _below_all_results(self) -> Int:
        """The states below every result, at most one a row: after levelling most rows have one."""
        open_ = self.room > 0
        edge = (self.used + self.rate).min(where=open_, initial=largest(self.used) + largest(self.rate))
        states: Int = (open_ & (self.used < edge)).astype(np.int64)
        return states

    def _least_used_states(self) -> Int:
        """Of each row, how many of the next states by use are its own: as many in all as there are turns, or more."""
        if not self.turns:
            return np.zeros_like(self.room)
        after = (self.rate > 0) * len(self._rows) + self._rows
        states = level(self.turns, self.used - self.rate, self.rate, self.room, tie_rank=after)
        highest = (self.used + self.rate * (states - 1)).max(where=states > 0, initial=0)
        tied = (self.used + self.rate * states == highest) & (states < self.room) & (self.rate > 0)
        states[tied] += 1
        return states

    def _next_phase(self) -> Int:
        open_ = np.flatnonzero(self.room)
        row = int(open_[lowest(1, self.used[open_], self.rate[open_])][0])
        if self.rate[row] == 0:
            # Nothing is below its edge, and rows like it are its equals as long as they have room.
            room = np.where(self._alike(self.used[row]), self.room, 0)
            return level(self.turns, self.held, np.ones_like(self.held), room)
        more = self.before(_Least(int(self.held[row]), int(self.used[row] + self.rate[row]), row))
        if total(more) >= self.turns:
            return self._first(more)
        more[row] += 1
        return more

    def before(self, least: _Least) -> Int:
        """Of each row, how many states a phase takes before its least used one."""
        apart = least.held - self.held
        result = self.used + self.rate * (np.maximum(apart, 0) + 1)
        # With as many held the result decides, then the name.
        lower = result - (self._rows < least.row) < least.result
        below_edge = -((self.used - least.result) // self._divisor)
        if len(self._still):
            still = self._still
            below_edge[still] = np.where(self.used[still] < least.result, self.room[still], 0)
        more: Wide = np.minimum(np.minimum(apart + lower, below_edge), self.room)
        return ints(np.maximum(more, 0))

    def _first(self, more: Int) -> Int:
        """As many of these states as there are turns: fewest held first, then lowest result, then name."""
        filled = level(self.turns, self.held, np.ones_like(self.held), more)
        top = int((self.held + filled).max(where=filled > 0, initial=0))
        below = np.clip(top - 1 - self.held, 0, more)
        last = np.flatnonzero((more > below) & (self.held + below < top))
        result = self.used[last] + self.rate[last] * (below[last] + 1)
        below[last[lowest(self.turns - total(below), result)]] += 1
        return below

    def _phases(self, states: Int) -> Int:
        """What the phases take whose least used states are among these, as many phases as are whole."""
        rows = np.repeat(self._rows, states)
        if not len(rows):
            return states
        taken = np.arange(len(rows)) - np.repeat(np.cumsum(states) - states, states)
        used = self.used[rows] + self.rate[rows] * taken
        order = _order(used, self.rate[rows], rows, taken)
        rows, used = rows[order], used[order]
        held, result = (self.held[rows] + taken[order]), used + self.rate[rows]
        places = _leasts(used, result, _packed(held, result, rows))
        edges = result[places]

        def until(phases: int) -> Int:
            """What the first so many phases take."""
            place = int(places[phases - 1])
            more = np.bincount(rows[: place + 1], minlength=len(self._rows))
            for each in _descending(edges[:phases]):
                at = places[each]
                more = np.maximum(more, self.before(_Least(int(held[at]), int(result[at]), int(rows[at]))))
            return more

        phases, whole = len(places), until(len(places))
        if total(whole) > self.turns:
            bracket = Bracket(0, len(places), 0, total(whole))
            phases = narrow(lambda phases: total(until(phases)), bracket, self.turns + 1).low
            whole = until(phases) if phases else np.zeros_like(whole)
        still = np.flatnonzero(self.rate[rows[places[:phases]]] == 0)
        if len(still):
            # Rows that do not rise are equals until they are full: phases that do not fill them are settled as one.
            uses = used[places[still]]
            if (self.room - whole)[self._alike(uses[-1])].any():
                phases = int(still[np.flatnonzero(uses == uses[-1])[0]])
                return until(phases) if phases else np.zeros_like(whole)
        return whole

    def _alike(self, used: int) -> Bool:
        """The rows of that use that do not rise."""
        alike: Bool = (self.used == used) & (self.rate == 0)
        return alike


def _leasts(used: Wide, result: Wide, key: Wide) -> Int:
    """The places of the least used states of all phases, among states sorted by use.

    `edges` and `bars` hold earlier ones with an edge above the present use, the highest key (which has the lowest
    edge) on top.
    """
    if used[-1] < result.min():
        return np.flatnonzero(key == np.maximum.accumulate(key))
    found = []
    edges, bars = [largest(result) + 1], [-1]
    edge, bar = edges[-1], bars[-1]
    for place, (use, height) in enumerate(zip(used.tolist(), key.tolist(), strict=True)):
        if use >= edge:
            while use >= edges[-1]:
                edges.pop()
                bars.pop()
            edge, bar = edges[-1], bars[-1]
        if height > bar:
            found.append(place)
            edge, bar = int(result[place]), height
            while len(edges) > 1 and edges[-1] <= edge:
                edges.pop()
                bars.pop()
            edges.append(edge)
            bars.append(bar)
    return np.array(found, dtype=np.int64)


def _descending(edges: Wide) -> Iterable[int]:
    """The places whose edge is above all later ones: what the others take, one of these takes too."""
    back = edges[::-1]
    above = np.ones(len(back), dtype=bool)
    above[1:] = back[1:] > np.maximum.accumulate(back)[:-1]
    return (len(back) - 1 - np.flatnonzero(above)).tolist()


def _order(used: Wide, rate: Wide, rows: Int, taken: Int) -> Int:
    """States by use, then rate, then row, then number."""
    return np.argsort(_packed(used - used.min(), rate, rows, taken))


def _packed(*columns: Wide) -> Wide:
    """One number a row, in the order of the columns in turn (each ≥ 0)."""
    packed, bound = columns[0], largest(columns[0])
    for column in columns[1:]:
        bits = largest(column).bit_length()
        bound = (bound + 1) << bits
        packed = (widen(packed, bound) << bits) | column
    return packed
