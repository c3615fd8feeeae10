"""Choosing clusters so that they cover the groups that spread constraints ask for, and have the room."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.fleet import reasons, spread_search
from fairlead.levels.fleet.spread_search import SpreadChoice, SpreadLimits, search
from fairlead.model.clusters import NO_LIMIT, ClusterTable, Traits
from fairlead.model.columns import Bool, Int
from fairlead.model.division import NO_PRIOR, DividePolicy, DivisionAsk, FleetSpread, Mode, PriorDivision, SpreadBy
from fairlead.model.reasons import Finding, because


@dataclass(frozen=True, slots=True)
class Selection:
    """The clusters that were chosen, or why no choice does."""

    chosen: Bool
    finding: Finding | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Option:
    """A cluster that can be chosen, with what counts for it; `room` at most as many as there are replicas."""

    row: int
    groups: tuple[int, ...]
    room: int
    held: int
    score: int
    tier: int
    stays: bool
    holds: bool


def choose(ask: DivisionAsk, passing: Int, tiers: Int | None = None) -> Selection:
    """The clusters among `passing` that meet the spread constraints and are worth most.

    What runs stays as far as the constraints let it. Then the fewest regions, where regions are constrained; then, for
    duplicated workloads, the most clusters that hold it; then clusters of preferred tiers; then regions by the mean
    score of the clusters that they would use; then the highest sums of score, of replicas that run there already and
    of room. Ties fall to natural order. Where the division needs room, the choice has room for all replicas; with
    `partial` it may have less.
    """
    clusters, policy, replicas = ask.clusters, ask.policy, ask.workload.replicas
    options = _options(ask, passing, tiers)
    need = replicas if policy.needs_room and policy.mode is not Mode.DUPLICATED else 0
    limits = _limits(policy.spread, need)
    candidates, limits = _weighed(options, limits, policy, replicas)
    lacking = _lacking(candidates, policy.spread, limits)
    found, exact = (None, True) if lacking and not policy.partial else search(candidates, limits)
    if found is None and policy.partial:
        # Not everything fits: now room counts for more than any preference.
        candidates = sorted((each._replace(worth=each.room) for each in candidates), key=lambda each: -each.worth)
        found, exact = search(candidates, _limits(policy.spread, 0))
    chosen = np.zeros(len(clusters), dtype=bool)
    if found is None:
        return Selection(chosen, lacking or _unmet(exact))
    chosen[[each.row for each in found]] = True
    notes: tuple[str, ...] = (f"{len(found)} of {len(candidates)} clusters are chosen by the spread constraints",)
    if not exact:
        most = spread_search.MOST_STATES
        notes += (f"the choice is the best of the first {most} looked at: it may not be the best of all",)
    return Selection(chosen, notes=notes)


def _unmet(exact: bool) -> Finding:
    why = "no clusters within the limits have the room together"
    cut = f"none found among the first {spread_search.MOST_STATES} looked at"
    return because(reasons.SPREAD_UNMET, why=why if exact else cut)


def _options(ask: DivisionAsk, passing: Int, tiers: Int | None) -> list[_Option]:
    """The clusters that can be chosen, in natural order. One without the trait that makes groups cannot be."""
    clusters, policy, prior = ask.clusters, ask.policy, ask.prior or NO_PRIOR
    grouping = [spread for spread in policy.spread if spread.by is not SpreadBy.CLUSTER]
    bits: list[dict[str, int]] = [{} for _ in grouping]
    running = prior.running
    result = []
    for row in sorted(passing.tolist(), key=lambda row: int(clusters.rank[row])):
        name, traits = clusters.names[row], clusters.traits_of(row)
        groups = tuple(
            sum(1 << ids.setdefault(name, len(ids)) for name in _groups(spread, traits))
            for ids, spread in zip(bits, grouping, strict=True)
        )
        limit = _limit(clusters, row, prior)
        fits = limit >= ask.workload.replicas
        if all(groups) and _eligible(ask, row, fits or name in running):
            result.append(
                _Option(
                    row=row,
                    groups=groups,
                    room=min(limit, max(ask.workload.replicas, 1)),
                    held=max(prior.counts.get(name, 0), name in running),
                    score=int(clusters.score[row]),
                    tier=0 if tiers is None else int(tiers[row]),
                    stays=name in running,
                    holds=policy.mode is Mode.DUPLICATED and fits,
                )
            )
    return result


def _limit(clusters: ClusterTable, row: int, prior: PriorDivision) -> int:
    """The most replicas that the cluster takes: room counts beside what runs there."""
    room = int(clusters.capacity[row])
    held = prior.counts.get(clusters.names[row], 0)
    return min(int(clusters.maximum[row]), NO_LIMIT if room < 0 else room + held)


def _eligible(ask: DivisionAsk, row: int, whole: bool) -> bool:
    """Whether the mode can give the cluster anything: `whole` tells that all replicas fit or that it runs them."""
    if ask.policy.mode is Mode.DUPLICATED:
        return whole or not ask.policy.needs_room
    return ask.policy.mode not in (Mode.STATIC, Mode.WEBSTER) or int(ask.clusters.weights[row]) > 0


def _weighed(
    options: Sequence[_Option], limits: SpreadLimits, policy: DividePolicy, replicas: int
) -> tuple[list[SpreadChoice], SpreadLimits]:
    """Every preference as one number, each layer larger than all below it together; best first."""
    base = min((each.score for each in options), default=0)
    last = max((each.tier for each in options), default=0)
    unit = max(replicas, 1) * (len(options) + 1)
    own = [((each.score - base) * unit + min(each.held, max(replicas, 1))) * unit + each.room for each in options]
    means = _means(options, limits, policy, replicas, base) if limits.region >= 0 else {}
    mean = sum(own) + 1
    tier = mean * (sum(means.values()) + 1)
    holds = tier * (sum(last - each.tier for each in options) + 1)
    price = holds * (len(options) + 1)
    stays = price * (len(means) + 1)
    candidates = [
        SpreadChoice(
            each.row,
            each.groups,
            each.room,
            worth + tier * (last - each.tier) + holds * each.holds + stays * each.stays,
        )
        for each, worth in zip(options, own, strict=True)
    ]
    prices = {region: price - mean * each for region, each in means.items()}
    return sorted(candidates, key=lambda each: -each.worth), replace(limits, prices=prices)


def _means(
    options: Sequence[_Option], limits: SpreadLimits, policy: DividePolicy, replicas: int, base: int
) -> Mapping[int, int]:
    """The mean score, in thousandths, of the clusters that each region would use, as in Karmada.

    Best first, until there are as many as are wanted and they hold the region's part of the replicas; of a duplicated
    workload those that hold it.
    """
    least = limits.groups[limits.region][0]
    wanted, part = max(limits.clusters[0], least), -(-replicas // max(least, 1))
    regions: dict[int, list[_Option]] = {}
    for each in sorted(options, key=lambda each: (-each.score, -each.room)):
        regions.setdefault(each.groups[limits.region], []).append(each)
    duplicated = policy.mode is Mode.DUPLICATED
    return {
        region: _mean([each for each in found if each.holds] if duplicated else _used(found, wanted, part), base)
        for region, found in regions.items()
    }


def _used(found: Sequence[_Option], wanted: int, part: int) -> Sequence[_Option]:
    """The first clusters that are `wanted` in number and hold the part together; all where they do not."""
    room = 0
    for place, each in enumerate(found, 1):
        room += each.room
        if place >= wanted and room >= part:
            return found[:place]
    return found


def _mean(found: Sequence[_Option], base: int) -> int:
    return sum(each.score - base for each in found) * 1000 // len(found) if found else 0


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


def _limits(spread: Sequence[FleetSpread], need: int) -> SpreadLimits:
    own = [each for each in spread if each.by is SpreadBy.CLUSTER]
    least = max((each.least for each in own), default=0)
    most = min((each.most or NO_LIMIT for each in own), default=NO_LIMIT)
    groups = tuple((each.least, each.most or NO_LIMIT) for each in spread if each.by is not SpreadBy.CLUSTER)
    kinds = [each.by for each in spread if each.by is not SpreadBy.CLUSTER]
    region = kinds.index(SpreadBy.REGION) if SpreadBy.REGION in kinds else -1
    return SpreadLimits((max(least, 1), most), groups, need, region)


def _lacking(candidates: Sequence[SpreadChoice], spread: Sequence[FleetSpread], limits: SpreadLimits) -> Finding | None:
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
