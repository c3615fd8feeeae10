"""Choosing clusters so that they cover the groups that spread constraints ask for, and have the room.

The search includes clusters in order of preference and cuts every branch that cannot meet the constraints or cannot
be worth more than the best choice so far. With the usual few groups it ends by itself and the choice is exact; it
looks at no more than `MOST_STATES` states and says so when it had to stop there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from fairlead.levels.fleet import reasons
from fairlead.model.clusters import NO_LIMIT, ClusterTable, Traits
from fairlead.model.columns import Bool, Int
from fairlead.model.division import DividePolicy, FleetSpread, Mode, PriorDivision, SpreadBy
from fairlead.model.reasons import Finding, because

MOST_STATES = 5_000


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters that were chosen, or why no choice does."""

    chosen: Bool
    finding: Finding | None = None
    notes: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    """A cluster in the search: its row, its groups (bits) for each constraint, its room and what it is worth.

    `stays` is the part of its worth that it has because the workload is there.
    """

    row: int
    groups: tuple[int, ...]
    room: int
    worth: int
    stays: int = 0


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
    candidate: _Candidate
    before: "_Taken | None"


class _Open:
    """Candidates that may still be taken, best first, with what the rest of them adds up to."""

    __slots__ = ("candidates", "room_after", "worth_before")

    def __init__(self, candidates: Sequence[_Candidate]) -> None:
        self.candidates = candidates
        self.worth_before = list(accumulate((each.worth for each in candidates), initial=0))
        rooms = list(accumulate((each.room for each in reversed(candidates)), initial=0))
        self.room_after = rooms[::-1]


@dataclass(frozen=True, slots=True)
class _Limits:
    """The constraints: clusters least and most, groups least and most, room wanted."""

    clusters: tuple[int, int]
    groups: tuple[tuple[int, int], ...]
    need: int
    region: int = -1
    """Which of the groups are regions; −1 where none are."""
    price: int = 0
    """What a region costs: more than anything that scores and room add up to, so that the fewest are taken."""

    def value(self, state: _State) -> int:
        """What the clusters taken so far are worth, less the price of their regions."""
        return state.worth - (self.price * state.groups[self.region].bit_count() if self.region >= 0 else 0)

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
        now = self.value(state)
        if now + before[last] - before[state.place] <= worth:
            return False
        return all(
            most >= NO_LIMIT or now + _best_groups(state, j, most - mask.bit_count()) > worth
            for j, (mask, (_, most)) in enumerate(zip(state.groups, self.groups, strict=True))
        )

    def admits(self, groups: tuple[int, ...], candidate: _Candidate) -> bool:
        """Whether the candidate opens no group too many."""
        return all(
            (mask | more).bit_count() <= most
            for mask, more, (_, most) in zip(groups, candidate.groups, self.groups, strict=True)
        )


def _best_groups(state: _State, constraint: int, further: int) -> int:
    """What the open candidates add at most, where only so many further groups may be opened."""
    used = state.groups[constraint]
    inside = 0
    fresh: dict[int, int] = {}
    for each in state.open.candidates[state.place :]:
        new = each.groups[constraint] & ~used
        if new.bit_count() == 1:
            fresh[new] = fresh.get(new, 0) + each.worth
        else:
            # In no new group, or in several at once: counted whole, which can only be too much.
            inside += each.worth
    return inside + sum(sorted(fresh.values(), reverse=True)[:further])


def _widest(state: _State, constraint: int) -> int:
    """The most groups one open candidate adds."""
    return max((each.groups[constraint].bit_count() for each in state.open.candidates[state.place :]), default=0)


def choose(
    clusters: ClusterTable, passing: Int, policy: DividePolicy, replicas: int, prior: PriorDivision
) -> Selection:
    """The clusters among `passing` that meet the spread constraints and are worth most.

    What runs stays as far as the constraints let it. Then the fewest regions, where regions are constrained; then, for
    duplicated workloads, the most clusters that hold it; then the highest sums of score, of replicas that run there
    already and of room. Ties fall to natural order.
    Where the division needs room, the choice has room for all replicas; with `partial` it may have less.
    """
    candidates = _candidates(clusters, passing, policy, replicas, prior)
    need = replicas if policy.needs_room and policy.mode is not Mode.DUPLICATED else 0
    limits = _limits(policy.spread, need, _price(candidates))
    lacking = _lacking(candidates, policy.spread, limits)
    found, exact = (None, True) if lacking and not policy.partial else _search(candidates, limits)
    if found is None and policy.partial:
        # Not everything fits: now room counts for more than any preference.
        candidates = sorted((each._replace(worth=each.room) for each in candidates), key=lambda each: -each.worth)
        found, exact = _search(candidates, _limits(policy.spread, 0, 0))
    chosen = np.zeros(len(clusters), dtype=bool)
    if found is None:
        return Selection(chosen, lacking or _unmet(exact))
    chosen[[each.row for each in found]] = True
    notes: tuple[str, ...] = (f"{len(found)} of {len(candidates)} clusters are chosen by the spread constraints",)
    if not exact:
        notes += (f"the choice is the best of the first {MOST_STATES} looked at: it may not be the best of all",)
    return Selection(chosen, notes=notes)


def _unmet(exact: bool) -> Finding:
    why = "no clusters within the limits have the room together"
    return because(reasons.SPREAD_UNMET, why=why if exact else f"none found among the first {MOST_STATES} looked at")


def _candidates(
    clusters: ClusterTable, passing: Int, policy: DividePolicy, replicas: int, prior: PriorDivision
) -> list[_Candidate]:
    """The clusters that can be chosen, best first. One without the trait that makes groups cannot be."""
    running = prior.running
    grouping = [spread for spread in policy.spread if spread.by is not SpreadBy.CLUSTER]
    bits: list[dict[str, int]] = [{} for _ in grouping]
    base = min((int(clusters.score[row]) for row in passing.tolist()), default=0)
    enough = max(replicas, 1)
    unit = enough * (len(clusters) + 1)
    scores = sum(int(clusters.score[row]) - base for row in passing.tolist()) + 1
    # A target that stays is worth more than everything else together, the price of every region included.
    kept = (scores * (len(clusters) + 1) * unit * unit + 1) * (len(clusters) + 2)
    order = sorted(passing.tolist(), key=lambda row: int(clusters.rank[row]))
    result = []
    for row in order:
        name = clusters.names[row]
        held = prior.counts.get(name, 0)
        room = int(clusters.capacity[row])
        limit = min(int(clusters.maximum[row]), NO_LIMIT if room < 0 else room + held)
        traits = clusters.traits_of(row)
        groups = tuple(
            sum(1 << ids.setdefault(name, len(ids)) for name in _groups(spread, traits))
            for ids, spread in zip(bits, grouping, strict=True)
        )
        weighs = policy.mode not in (Mode.STATIC, Mode.WEBSTER) or clusters.weights[row] > 0
        whole = policy.mode is not Mode.DUPLICATED or not policy.needs_room or limit >= replicas or name in running
        if all(groups) and weighs and whole:
            holds = policy.mode is Mode.DUPLICATED and limit >= replicas
            score = int(clusters.score[row]) - base + scores * holds
            rank = score * unit + min(max(held, name in running), enough)
            stays = kept * (name in running)
            worth = stays + rank * unit + min(limit, enough)
            result.append(_Candidate(row, groups, min(limit, enough), worth, stays))
    return sorted(result, key=lambda each: -each.worth)


def _groups(spread: FleetSpread, traits: Traits) -> tuple[str, ...]:
    """The names of the groups a cluster lies in."""
    if spread.by is SpreadBy.ZONE:
        return tuple(sorted(set(traits.zones)))
    name = {
        SpreadBy.REGION: traits.region,
        SpreadBy.PROVIDER: traits.provider,
        SpreadBy.LABEL: traits.labels.get(spread.label, ""),
    }[spread.by]
    return (name,) if name else ()


def _price(candidates: Sequence[_Candidate]) -> int:
    """More than all candidates are worth besides what stays, which is what their `stays` part counts for."""
    return sum(each.worth - each.stays for each in candidates) + 1


def _limits(spread: Sequence[FleetSpread], need: int, price: int) -> _Limits:
    own = [each for each in spread if each.by is SpreadBy.CLUSTER]
    least = max((each.least for each in own), default=0)
    most = min((each.most or NO_LIMIT for each in own), default=NO_LIMIT)
    groups = tuple((each.least, each.most or NO_LIMIT) for each in spread if each.by is not SpreadBy.CLUSTER)
    kinds = [each.by for each in spread if each.by is not SpreadBy.CLUSTER]
    region = kinds.index(SpreadBy.REGION) if SpreadBy.REGION in kinds else -1
    return _Limits((max(least, 1), most), groups, need, region, price)


def _lacking(candidates: Sequence[_Candidate], spread: Sequence[FleetSpread], limits: _Limits) -> Finding | None:
    """What all candidates together lack, told in numbers."""
    if len(candidates) < limits.clusters[0]:
        why = f"{limits.clusters[0]} clusters are wanted, {len(candidates)} can be chosen"
        return because(reasons.SPREAD_UNMET, why=why)
    grouping = [each for each in spread if each.by is not SpreadBy.CLUSTER]
    for j, (each, (least, _)) in enumerate(zip(grouping, limits.groups, strict=True)):
        covered = 0
        for candidate in candidates:
            covered |= candidate.groups[j]
        if covered.bit_count() < least:
            what = f"values of label {each.label}" if each.by is SpreadBy.LABEL else f"{each.by}s"
            return because(reasons.SPREAD_UNMET, why=f"{least} {what} are wanted, there are {covered.bit_count()}")
    room = sum(each.room for each in candidates)
    if room < limits.need:
        return because(reasons.INSUFFICIENT_ROOM, room=room, replicas=limits.need, missing=limits.need - room)
    return None


def _search(candidates: Sequence[_Candidate], limits: _Limits) -> tuple[list[_Candidate] | None, bool]:
    """The choice that is worth most, and whether all others were ruled out."""
    start = _State(_Open(candidates), 0, None, 0, (0,) * len(limits.groups), 0, 0)
    best: _State | None = None
    stack = [start]
    for _ in range(MOST_STATES):
        if not stack:
            return _rows(best), True
        state = stack.pop()
        if limits.met(state) and (best is None or limits.value(state) > limits.value(best)):
            best = state
        if limits.hopeless(state) or (best is not None and not limits.surpasses(state, limits.value(best))):
            continue
        stack.extend(_next(state, limits))
    return _rows(best), not stack


def _next(state: _State, limits: _Limits) -> Iterator[_State]:
    """Without the next candidate, then with it: the latter is looked at first.

    Whoever lies in the same groups, is worth no more and has no more room cannot do better in its place, so leaving
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
            state.worth + candidate.worth,
        )


def _rows(best: _State | None) -> list[_Candidate] | None:
    if best is None:
        return None
    taken, result = best.taken, []
    while taken is not None:
        result.append(taken.candidate)
        taken = taken.before
    return result
