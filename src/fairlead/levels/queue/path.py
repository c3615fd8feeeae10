"""What each namespace of a queue would take, as a line through amounts: the loop without its single turns.

Inside a namespace the turns come in a fixed order: priority by priority, first the gangs, one by one, then the replicas
above the minimum, levelled by dominant share. So its usage runs along a line: a jump for every gang, and a slope
wherever jobs are levelled. On a slope the true usage is ahead of the line by at most one replica of each job.
Floating point is enough here: whoever uses a line takes a safe side of it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairlead.model.columns import Int
from fairlead.model.jobs import UNSET

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The jobs whose turns are still to come, one row each, all of one role, sorted by pair and order of turns."""

    job: Int
    pair: Int
    """0 … pairs − 1, in ascending order."""
    group: Int
    """Ascending; jobs of one pair and one priority share a number."""
    count: Int
    gang: Int
    """Replicas that its gang lacks."""
    replicas: Int
    request: Floats
    rise: Floats
    """Dominant share of one replica."""


class Lines:
    """The line of each pair as vertices, all in one array; vertex `first[p]` is where pair p stands now."""

    def __init__(self, waiting: Waiting, start: Floats, scale: Floats, past: Floats) -> None:
        """`start` and `past` are [pair, resource]; `scale` is [pair, resource], the measure of the pair's share."""
        kinds = _vertices(waiting, len(start))
        self.pair, self.level, self.jump, self.group = kinds.pair, kinds.level, kinds.jump, kinds.group
        moves = kinds.move
        moves[kinds.first] = 0.0
        sums = np.cumsum(moves, axis=0)
        self.first = kinds.first
        self.last = np.append(kinds.first[1:], len(self.pair)) - 1
        self.at = start[self.pair] + sums - sums[kinds.first][self.pair]
        self.scale, self.past = scale, past
        self.slack, self.step = _slack(waiting, start)
        self.top = np.maximum(dominant(self.at[self.last] + past, scale), 1e-300)
        """The share of each pair at the end of its line."""
        self.shares = self._keys(np.zeros_like(start))
        self.ahead = self._keys(self.slack)
        self.gang_vertex = kinds.gang_vertex

    def _keys(self, more: Floats) -> Floats:
        """Share of the pair at every vertex with `more` on top, squeezed to pair + [0, 0.75] for one search in all."""
        shares = dominant(self.at + (more + self.past)[self.pair], self.scale[self.pair])
        return self.pair + 0.5 * np.minimum(shares / self.top[self.pair], 1.5)

    def reach(self, level: Floats, *, ahead: bool) -> tuple[Int, Floats]:
        """Vertex and usage of each pair where its share comes to `level`.

        `ahead` True: not beyond what it surely reaches (a gang only if it is surely taken); False: the line itself,
        where a gang begun counts as taken. The part of a slope is in the usage, the vertex is the last one passed.
        """
        keys = self.ahead if ahead else self.shares
        more = self.slack if ahead else np.zeros_like(self.slack)
        pairs = np.arange(len(level))
        target = pairs + 0.5 * np.minimum(level / self.top, 1.9)
        vertex = np.clip(np.searchsorted(keys, target, side="left") - 1, self.first, self.last)
        following = np.minimum(vertex + 1, self.last)
        here, move = self.at[vertex], self.at[following] - self.at[vertex]
        bound = level[:, None] * self.scale - here - more - self.past
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where((move > 0) & (self.scale > 0), bound / move, np.inf).min(axis=1)
        part = np.clip(parts, 0.0, 1.0)
        part = np.where(self.jump[following], 0.0 if ahead else 1.0, part)
        part = np.where(keys[vertex] >= target, 0.0, part)
        return vertex, here + move * part[:, None]

    def spot(self, level: Floats, *, ahead: bool) -> tuple[Int, Floats]:
        """Vertex and height (dominant share of the jobs that are levelled) where each pair's share comes to `level`.

        `ahead` as for `reach`, but a gang that is only begun is not taken.
        """
        vertex, usage = self.reach(level, ahead=ahead)
        following = np.minimum(vertex + 1, self.last)
        move = (self.at[following] - self.at[vertex]).sum(axis=1)
        part = np.where(move > 0, (usage - self.at[vertex]).sum(axis=1) / np.where(move > 0, move, 1.0), 0.0)
        rise = self.level[following] - self.level[vertex]
        return vertex, np.where(self.jump[following], self.level[vertex], self.level[vertex] + part * rise)


def _slack(waiting: Waiting, start: Floats) -> tuple[Floats, Floats]:
    """By pair: the most that true usage is ahead of the line, one replica of each job of one priority; and one step."""
    groups = np.zeros((int(waiting.group[-1]) + 1, start.shape[1]))
    np.add.at(groups, waiting.group, waiting.request)
    slack, step = np.zeros_like(start), np.zeros_like(start)
    np.maximum.at(slack, waiting.pair, groups[waiting.group])
    np.maximum.at(step, waiting.pair, waiting.request)
    return slack, step


@dataclass(frozen=True, slots=True)
class _Vertices:
    pair: Int
    group: Int
    level: Floats
    jump: NDArray[np.bool_]
    move: Floats
    first: Int
    gang_vertex: Int
    """For each waiting job the vertex after its gang, UNSET where it is ready."""


def _vertices(waiting: Waiting, pairs: int) -> _Vertices:
    """One vertex a pair to begin with, one after every gang, two a job that is levelled: where it begins and ends."""
    gangs = np.flatnonzero(waiting.gang)
    after = waiting.count + waiting.gang
    elastic = np.flatnonzero((waiting.replicas > after) & (waiting.rise > 0))
    begin, end = after[elastic] * waiting.rise[elastic], waiting.replicas[elastic] * waiting.rise[elastic]
    slope = waiting.request[elastic] / waiting.rise[elastic][:, None]
    zeros = np.zeros(len(gangs))
    pair = np.concatenate((np.arange(pairs), waiting.pair[gangs], waiting.pair[elastic], waiting.pair[elastic]))
    group = np.concatenate((np.full(pairs, -1), waiting.group[gangs], waiting.group[elastic], waiting.group[elastic]))
    phase = np.concatenate((np.zeros(pairs), zeros, np.ones(2 * len(elastic))))
    level = np.concatenate((np.zeros(pairs), zeros, begin, end))
    order = np.lexsort((np.arange(len(pair)), level, phase, group, pair))
    jump = np.concatenate((np.zeros(pairs), np.ones(len(gangs)), np.zeros(2 * len(elastic)))).astype(bool)[order]
    width = waiting.request.shape[1]
    change = np.concatenate((np.zeros((pairs + len(gangs), width)), slope, -slope))[order]
    jumps = np.concatenate(
        (
            np.zeros((pairs, width)),
            waiting.request[gangs] * waiting.gang[gangs][:, None],
            np.zeros_like(slope),
            np.zeros_like(slope),
        )
    )[order]
    pair, group, level, phase = pair[order], group[order], level[order], phase[order]
    slopes = np.cumsum(change, axis=0) - change
    same = np.zeros(len(pair), dtype=bool)
    same[1:] = (group[1:] == group[:-1]) & (phase[1:] == 1) & (phase[:-1] == 1)
    rise = np.where(same, level - np.roll(level, 1), 0.0)
    # What is left of a slope after its last job is rounding, not usage.
    move = jumps + np.where(same[:, None], np.maximum(slopes, 0.0) * rise[:, None], 0.0)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    gang_vertex = np.full(len(waiting.job), UNSET)
    gang_vertex[gangs] = place[pairs : pairs + len(gangs)]
    return _Vertices(pair, group, level, jump, move, np.searchsorted(pair, np.arange(pairs)), gang_vertex)


def dominant(usage: Floats, scale: Floats) -> Floats:
    """The largest part of the scale that is used, row by row; a scale of 0 does not count."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = np.where(scale > 0, usage / scale, 0.0).max(axis=1, initial=0.0)
    return shares
