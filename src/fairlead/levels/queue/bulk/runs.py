"""What waits in each namespace of a queue, as runs of equal steps in the one order in which they come.

Inside a namespace the order of turns is fixed, whatever others do: priority by priority, first the gangs one by one,
then the replicas above the minimum, levelled by the dominant share of their jobs. So a place between 0 and 1 says
which steps have been taken: every priority has a stretch as long as what it asks for, gangs in front, then the shares
of its jobs. A job has one run for its gang and one for every role, since roles may ask for different amounts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass
from fairlead.levels.queue.state import JobKey, State
from fairlead.model.columns import Bool, Int

Floats = NDArray[np.float64]

NEAR = 1e-11
"""Two shares nearer than this part of themselves may be equal: then the least and the most are told apart."""


@dataclass(frozen=True, slots=True)
class Runs:
    """One row a run, sorted by pair (0 … pairs − 1). Amounts are of all resources, shares of those that count."""

    job: Int
    pair: Int
    begin: Floats
    cut: Floats
    finish: Floats
    """Where the gangs of its pair and priority begin, where its levelled shares do, and where both have ended."""
    gang: Int
    """Number among the gangs of its pair and priority; −1 for replicas above the minimum."""
    gangs: Int
    """Gangs of its pair and priority."""
    steps: Floats
    """How many there are of them."""
    size: Int
    """Replicas that one step grants."""
    held: Floats
    """What the job holds before the first step."""
    request: Floats
    """What one step adds."""
    extra: Floats
    """What has to be free beyond that when the step is taken."""
    low: Floats
    high: Floats
    """The shares that jobs of its pair and priority have before the first and after the last of these steps."""
    part: Floats
    """By resource: what one unit adds to a share of the whole; 0 where the resource does not count."""

    def __len__(self) -> int:
        return len(self.job)

    def only(self, rows: Int | Bool) -> "Runs":
        """These rows."""
        return replace(
            self, **{each.name: getattr(self, each.name)[rows] for each in fields(self) if each.name != "part"}
        )

    def sums(self, steps: Floats, pairs: int) -> Floats:
        """[pair, place, resource]: what so many steps of each run add, [run, place]."""
        total = np.zeros((pairs, steps.shape[1], self.request.shape[1]))
        if len(self):
            rows, first = np.unique(self.pair, return_index=True)
            for resource in range(total.shape[2]):
                total[rows, :, resource] = np.add.reduceat(steps * self.request[:, resource, None], first, axis=0)
        return total

    def taken(self, places: Floats) -> tuple[Floats, Floats]:
        """[run, place]: the least and the most steps taken at these places of its pair, [pair, place]."""
        place = places[self.pair]
        begin, cut, finish = self.begin[:, None], self.cut[:, None], self.finish[:, None]
        gang = np.flatnonzero(self.gang >= 0)
        least, most = self._levelled(np.clip((place - cut) / (finish - cut), 0.0, 1.0))
        for bound in (least, most):
            bound[place <= cut] = 0.0
            np.copyto(bound, self.steps[:, None], where=place >= finish)
        begun = np.floor((place - begin) / (cut - begin) * self.gangs[:, None])[gang] > self.gang[gang, None]
        least[gang] = most[gang] = begun | (place >= cut)[gang]
        return least, most

    def _levelled(self, part: Floats) -> tuple[Floats, Floats]:
        """[run, part]: steps that jobs take while their shares are below such a part of the stretch of shares."""
        height = self.low[:, None] + (self.high - self.low)[:, None] * part
        least, most = np.full(height.shape, np.inf), np.full(height.shape, np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            for resource in np.flatnonzero(self.part).tolist():
                asked, held = self.request[:, resource, None], self.held[:, resource, None]
                reach = height / self.part[resource]
                # Nothing asked for: infinitely many steps below the height, none above it, in doubt at it.
                np.minimum(least, (reach * (1.0 - NEAR) - held) / asked, out=least)
                np.fmin(most, (reach * (1.0 + NEAR) - held) / asked, out=most)
        steps = self.steps[:, None]
        least = np.nan_to_num(least, nan=0.0, posinf=np.inf)
        return np.clip(np.ceil(least), 0.0, steps), np.clip(np.ceil(most), 0.0, steps)


def runs_of(state: State, heaps: Mapping[int, Sequence[JobKey]], pairs: Sequence[int], *, places: bool) -> Runs:
    """The runs of all jobs that wait, pair by pair in this order; with `places` a replica is one more resource."""
    jobs, members = state.world.jobs, state.members
    rows = [(key[-1], place, key[0]) for place, pair in enumerate(pairs) for key in sorted(heaps[pair])]
    job, pair, priority = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    new = np.ones(len(job), dtype=bool)
    new[1:] = (pair[1:] != pair[:-1]) | (priority[1:] != priority[:-1])
    group = np.cumsum(new) - 1
    owner, role, first = _roles(state, job)
    held, request = np.array(members.held)[role], jobs.role_request[role].astype(float)
    lack = _lacks(state, job, first, held)
    used = np.array([state.job_used[row] for row in job.tolist()], dtype=float)
    if places:
        request, used = (
            np.hstack((column, np.full((len(column), 1), one))) for column, one in ((request, 1), (used, 0))
        )
    gang_use, gang_size = np.add.reduceat(request * lack[:, None], first), np.add.reduceat(lack, first)
    floor = np.zeros_like(used)
    floor[:, : jobs.min_resources.shape[1]] = jobs.min_resources[job]
    extra = np.maximum(floor - used - gang_use, 0.0)
    steps = jobs.role_replicas[role] - held - lack
    adds = request * steps[:, None]
    before, elastic_use = np.cumsum(adds, axis=0) - adds, np.add.reduceat(adds, first)
    start = (used + gang_use)[owner] + before - before[first][owner]
    gangs, elastic = np.flatnonzero(gang_size), np.flatnonzero(steps > 0)
    part = _parts(state, request.shape[1])
    low, high = _span(start[elastic], adds[elastic], group[owner[elastic]], int(group[-1]) + 1, part)
    entry = np.concatenate((gangs, owner[elastic]))
    weight: Floats = np.stack(
        [np.bincount(group, (use * part).max(axis=1, initial=0.0), len(low)) for use in (gang_use, elastic_use)], axis=1
    )
    begin, cut, finish = _stretches(weight, pair[np.flatnonzero(new)])
    runs = Runs(
        job=job[entry],
        pair=pair[entry],
        begin=begin[group[entry]],
        cut=cut[group[entry]],
        finish=finish[group[entry]],
        gang=np.concatenate((_places(group[gangs]), np.full(len(elastic), -1))),
        gangs=np.bincount(group[gangs], minlength=len(low))[group[entry]],
        steps=np.concatenate((np.ones(len(gangs)), steps[elastic])),
        size=np.concatenate((gang_size[gangs], np.ones(len(elastic), dtype=np.int64))),
        held=np.concatenate((used[gangs], start[elastic])),
        request=np.concatenate((gang_use[gangs], request[elastic])),
        extra=np.concatenate((extra[gangs], np.zeros((len(elastic), request.shape[1])))),
        low=low[group[entry]],
        high=high[group[entry]],
        part=part,
    )
    return runs.only(np.argsort(runs.pair, kind="stable"))


def _roles(state: State, job: Int) -> tuple[Int, Int, Int]:
    """The roles of these jobs: which of the jobs each is of, its row, and the first of each job."""
    start = state.world.jobs.role_start
    number = start[job + 1] - start[job]
    first = np.cumsum(number) - number
    owner = np.repeat(np.arange(len(job)), number)
    return owner, start[job][owner] + np.arange(len(owner)) - first[owner], first


def _lacks(state: State, job: Int, first: Int, held: Int) -> Int:
    """[role]: replicas that the gang of its job lacks."""
    members = state.members
    lack = np.zeros(len(held), dtype=np.int64)
    single = np.diff(np.append(first, len(held))) == 1
    lack[first[single]] = np.maximum(state.world.jobs.min_member[job[single]] - held[first[single]], 0)
    for row in np.flatnonzero(~single).tolist():
        start = members.roles(int(job[row])).start
        for role, count in members.missing(int(job[row])).items():
            lack[first[row] + role - start] = count
    return lack


def _stretches(weight: Floats, pair: Int) -> tuple[Floats, Floats, Floats]:
    """[group]: where it begins, goes over from gangs to shares, and ends, between 0 and 1 for each pair.

    `weight` is [group, 2], what gangs and what levelled replicas ask for; every part has some length.
    """
    first = np.searchsorted(pair, np.arange(int(pair[-1]) + 1))
    total = np.add.reduceat(weight.sum(axis=1), first)[pair]
    length = (weight + (total[:, None] + 1e-9) * 0.01) / ((total + 1e-9) * (1.0 + 0.02 * np.bincount(pair)[pair]))[
        :, None
    ]
    ends = np.cumsum(length.reshape(-1)).reshape(-1, 2)
    before = ends[first, 0] - length[first, 0]
    cut, finish = (ends - before[pair][:, None]).T
    begin = np.append(0.0, finish[:-1])
    begin[first] = 0.0
    return begin, cut, np.where(np.append(pair[1:] != pair[:-1], True), 1.0, finish)


def _places(group: Int) -> Int:
    """0, 1, … within each group; groups are ascending."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def _parts(state: State, width: int) -> Floats:
    """See `Runs.part`."""
    parts = np.zeros(width)
    for resource, _ in state.factors:
        parts[resource] = 1.0 / state.world.whole[resource]
    return parts


def _span(start: Floats, adds: Floats, group: Int, groups: int, part: Floats) -> tuple[Floats, Floats]:
    """[group]: the lowest share before and the highest share after these runs."""
    low, high = np.full(groups, np.inf), np.zeros(groups)
    np.minimum.at(low, group, (start * part).max(axis=1, initial=0.0))
    np.maximum.at(high, group, ((start + adds) * part).max(axis=1, initial=0.0))
    return np.where(np.isfinite(low), low, 0.0), high * (1.0 + 1e-6) + 1e-9
