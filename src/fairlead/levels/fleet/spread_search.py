"""The search for the clusters that are worth most within limits on clusters, groups and room.

It includes clusters in order of preference and cuts every branch that cannot meet the limits or cannot
be worth more than the best choice so far. With the usual few groups it ends by itself and the choice is exact; it
looks at no more than `MOST_STATES` states and says so when it had to stop there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import NamedTuple

from fairlead.dataclass import dataclass
from fairlead.model.clusters import NO_LIMIT

MOST_STATES = 5_000


class SpreadChoice(NamedTuple):
    """A cluster in the search: its row, its groups (bits) for each constraint, its room and what it is worth."""

    row: int
    groups: tuple[int, ...]
    room: int
    worth: int


class _State(NamedTuple):
    """Candidates before `place` in `open` are decided; `taken` is a chain of those chosen."""

    open: "_Open"
    place: int
    taken: "_Taken | None"
    size: int
    groups: tuple[int, ...]
    room: int
    worth: int


class _Taken(NamedTuple):
    candidate: SpreadChoice
    before: "_Taken | None"


class _Open:
    """Candidates that may still be taken, best first, with what the rest of them adds up to."""

    __slots__ = ("candidates", "room_after", "worth_before")

    def __init__(self, candidates: Sequence[SpreadChoice]) -> None:
        self.candidates = candidates
        self.worth_before = list(accumulate((each.worth for each in candidates), initial=0))
        rooms = list(accumulate((each.room for each in reversed(candidates)), initial=0))
        self.room_after = rooms[::-1]


@dataclass(frozen=True, slots=True)
class SpreadLimits:
    """The constraints: clusters least and most, groups least and most, room wanted."""

    clusters: tuple[int, int]
    groups: tuple[tuple[int, int], ...]
    need: int
    region: int = -1
    """Which of the groups are regions; −1 where none are."""
    prices: Mapping[int, int] = field(default_factory=dict)
    """What the region of a bit costs."""

    def price(self, state: _State, candidate: SpreadChoice) -> int:
        """What it costs to open the region of a candidate, 0 where it is open."""
        if self.region < 0 or candidate.groups[self.region] & state.groups[self.region]:
            return 0
        return self.prices.get(candidate.groups[self.region], 0)

    def met(self, state: _State) -> bool:
        """Whether the clusters taken so far are a choice."""
        enough = all(mask.bit_count() >= least for mask, (least, _) in zip(state.groups, self.groups, strict=True))
        return enough and state.size >= self.clusters[0] and state.room >= self.need

    def hopeless(self, state: _State) -> bool:
        """Whether nothing that may still be taken can make it a choice."""
        slots = min(self.clusters[1] - state.size, len(state.open.candidates) - state.place)
        if state.size + slots < self.clusters[0] or state.room + state.open.room_after[state.place] < self.need:
            return True
        return self.clusters[1] < NO_LIMIT and any(
            # A cluster may lie in several zones, so only a limit on groups it can add is a bound here.
            mask.bit_count() + slots * _widest(state, j) < least
            for j, (mask, (least, _)) in enumerate(zip(state.groups, self.groups, strict=True))
        )

    def surpasses(self, state: _State, worth: int) -> bool:
        """Whether the state may come to be worth more: by its best clusters, and by its best groups alone."""
        last = min(len(state.open.candidates), state.place + self.clusters[1] - state.size)
        before = state.open.worth_before
        if state.worth + before[last] - before[state.place] <= worth:
            return False
        return all(
            (most >= NO_LIMIT and j != self.region)
            or state.worth + _best_groups(state, j, most - mask.bit_count(), self._prices(j)) > worth
            for j, (mask, (_, most)) in enumerate(zip(state.groups, self.groups, strict=True))
        )

    def _prices(self, constraint: int) -> Mapping[int, int]:
        return self.prices if constraint == self.region else {}

    def admits(self, groups: tuple[int, ...], candidate: SpreadChoice) -> bool:
        """Whether the candidate opens no group too many."""
        return all(
            (mask | more).bit_count() <= most
            for mask, more, (_, most) in zip(groups, candidate.groups, self.groups, strict=True)
        )


def _best_groups(state: _State, constraint: int, further: int, prices: Mapping[int, int]) -> int:
    """What the open candidates add at most, where only so many further groups may be opened, at their price."""
    used = state.groups[constraint]
    inside = 0
    fresh: dict[int, int] = {}
    for each in state.open.candidates[state.place :]:
        new = each.groups[constraint] & ~used
        if new.bit_count() == 1:
            fresh[new] = fresh.get(new, -prices.get(new, 0)) + each.worth
        else:
            # In no new group, or in several at once: counted whole, which can only be too much.
            inside += each.worth
    return inside + sum(sorted((more for more in fresh.values() if more > 0), reverse=True)[:further])


def _widest(state: _State, constraint: int) -> int:
    """The most groups one open candidate adds."""
    return max((each.groups[constraint].bit_count() for each in state.open.candidates[state.place :]), default=0)


def search(candidates: Sequence[SpreadChoice], limits: SpreadLimits) -> tuple[list[SpreadChoice] | None, bool]:
    """The choice that is worth most, and whether all others were ruled out."""
    start = _State(_Open(candidates), 0, None, 0, (0,) * len(limits.groups), 0, 0)
    best: _State | None = None
    stack = [start]
    for _ in range(MOST_STATES):
        if not stack:
            return _rows(best), True
        state = stack.pop()
        if limits.met(state) and (best is None or state.worth > best.worth):
            best = state
        if limits.hopeless(state) or (best is not None and not limits.surpasses(state, best.worth)):
            continue
        stack.extend(_next(state, limits))
    return _rows(best), not stack


def _next(state: _State, limits: SpreadLimits) -> Iterator[_State]:
    """Without the next candidate, then with it: the latter is looked at first.

    One that lies in the same groups, is worth no more and has no more room cannot do better in its place, so leaving
    a candidate out leaves those out too. Without a limit on clusters room is no argument, and a candidate that opens
    no group is never left out.
    """
    if state.place == len(state.open.candidates) or state.size == limits.clusters[1]:
        return
    limited = limits.clusters[1] < NO_LIMIT
    candidate = state.open.candidates[state.place]
    groups = tuple(mask | more for mask, more in zip(state.groups, candidate.groups, strict=True))
    rest, place = state.open, state.place + 1
    if limited or groups != state.groups:
        others = [
            each
            for each in rest.candidates[place:]
            if each.groups != candidate.groups or (limited and each.room > candidate.room)
        ]
        yield state._replace(open=_Open(others), place=0)
    if groups != state.groups:
        rest, place = _Open([each for each in rest.candidates[place:] if limits.admits(groups, each)]), 0
    if limits.admits(state.groups, candidate):
        yield _State(
            rest,
            place,
            _Taken(candidate, state.taken),
            state.size + 1,
            groups,
            state.room + candidate.room,
            state.worth + candidate.worth - limits.price(state, candidate),
        )


def _rows(best: _State | None) -> list[SpreadChoice] | None:
    if best is None:
        return None
    taken, result = best.taken, []
    while taken is not None:
        result.append(taken.candidate)
        taken = taken.before
    return result
