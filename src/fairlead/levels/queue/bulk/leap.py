"""Many turns at once: how far every job surely gets before any can be refused by the whole.

The states of namespaces are counted at some places of their order (`runs`), queues are put together from them up the
tree (`curves`, `nest`), and of the states of the whole the last one is taken at which everything surely fits. Then the
same is done with places between that one and the first that surely does not fit, until little is left open. Every job
is given the least that it surely has there. The turns that are left lead from that state to the same end, because each
of them would have come before anyway.

A queue whose own bound refuses a job is not followed any further: others reckon with the most that its bounds let
it use.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from fairlead.levels.queue.bulk.curves import Bounds, Curves
from fairlead.levels.queue.bulk.nest import Limits, Nest
from fairlead.levels.queue.bulk.runs import Floats, Runs, runs_of
from fairlead.levels.queue.state import JobKey, State

_STATES, _STATES_DEEPER = 20, 14
"""Places of each namespace and queue that are looked at in one round, and so many more for every level of queues."""
_ROUNDS = 24
"""Rounds at most; every one leaves about a quarter open of what was."""


class Leap:
    """One leap. `heaps` hold the jobs that wait, by pair of queue and namespace; `places` bounds replicas in all."""

    def __init__(self, state: State, heaps: Mapping[int, Sequence[JobKey]], places: int | None = None) -> None:
        keys = list(state.world.pairs)
        pairs = sorted(heaps, key=lambda pair: keys[pair][0])
        self.runs = runs_of(state, heaps, pairs, places=places is not None)
        weights = state.world.namespaces.weight[[keys[pair][1] for pair in pairs]]
        self.pair_part = self.runs.part / weights[:, None]
        self.pair_used = np.zeros((len(pairs), len(self.runs.part)))
        for row, pair in enumerate(pairs):
            used, past = state.pair_used[pair], state.past[pair]
            self.pair_used[row, : len(used)] = used if past is None else np.add(used, past)
        self.first = np.searchsorted(self.runs.pair, np.arange(len(pairs)))
        leaf = np.array([keys[pair][0] for pair in pairs])
        asked, largest, extra = self._steps()
        self.asked = asked
        self.nest = Nest(state, Limits.of(state, places), leaf, (asked, largest, extra))
        highest = np.maximum.reduceat(self._shares(asked[:, None])[:, 0], self.nest.first)
        self.top = np.maximum(np.repeat(highest, self.nest.sizes(len(pairs))), 1e-300)[:, None]
        self.low, self.high = np.zeros(len(pairs)), np.ones(len(pairs))
        self.states = _STATES + _STATES_DEEPER * (len(self.nest.inner) - 1)
        self.settled = np.zeros_like(self.pair_used)
        """By pair: what runs gain about which nothing is open any more."""
        self.given = np.zeros(len(self.runs))
        self.live = np.arange(len(self.runs))

    def _steps(self) -> tuple[Floats, Floats, Floats]:
        """By pair: all that it asks for, the most that one step adds, and the most it needs beyond what it uses."""
        runs = self.runs
        return (
            np.add.reduceat(runs.request * runs.steps[:, None], self.first),
            np.maximum.reduceat(runs.request, self.first),
            np.maximum.reduceat(runs.extra, self.first),
        )

    def counts(self) -> dict[int, int]:
        """Replicas more for each job, so many that none is refused on the way there; empty where that is none."""
        before = np.inf
        for _ in range(_ROUNDS):
            runs = self.runs.only(self.live)
            curves, taken = self._pairs(runs)
            where = self.nest.narrow(curves, self._keys(curves.least), self._keys(curves.most))
            left = self._settle(runs, curves, taken, where)
            if left <= max(32, len(self.runs) // 32) or left > 0.9 * before:
                break
            before = left
        gained = (self.given * self.runs.size).astype(np.int64)
        counts = np.bincount(self.runs.job, weights=gained).astype(np.int64)
        return {int(job): int(counts[job]) for job in np.flatnonzero(counts)}

    def _shares(self, gain: Floats) -> Floats:
        """[pair, state]: the weighted share of namespaces that gain so much."""
        shares: Floats = ((self.pair_used[:, None] + gain) * self.pair_part[:, None]).max(axis=2, initial=0.0)
        return shares

    def _keys(self, gain: Floats) -> Floats:
        """[pair, state]: that share as a part of the highest in the queue, below 1."""
        keys: Floats = 0.999 * np.minimum(self._shares(gain) / self.top, 1.0)
        return keys

    def _pairs(self, runs: Runs) -> tuple[Curves, tuple[Floats, Floats]]:
        """The states of the pairs at places between those that are open, and the steps taken at them."""
        places = self.low[:, None] + (self.high - self.low)[:, None] * np.linspace(0.0, 1.0, self.states)
        taken = runs.taken(places)
        least, most = (self.settled[:, None] + runs.sums(steps, len(places)) for steps in taken)
        return Curves(places, least, most, least, most, self.asked, self.asked), taken

    def _settle(self, runs: Runs, curves: Curves, taken: tuple[Floats, Floats], where: Bounds) -> float:
        """Narrow the pairs to what is open; give every run what it surely has. How many steps are open."""
        pairs, rows = np.arange(len(self.low)), np.arange(len(runs))
        self.low, self.high = curves.places[pairs, where[0]], curves.places[pairs, where[1]]
        least = taken[0][rows, where[0][runs.pair]]
        most = taken[1][rows, where[1][runs.pair]]
        self.given[self.live] = least
        sure = least == most
        np.add.at(self.settled, runs.pair[sure], runs.request[sure] * least[sure][:, None])
        self.live = self.live[~sure]
        return float((most - least).sum())
