"""Affinity groups that spill over: preferred clusters first, further ones in order as far as room makes them needed.

On the way up only what is new looks for a place, on the way down the last clusters are emptied first; so nothing moves
from one tier to another unless a fresh division is asked for (docs/decisions/0219).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairlead.kernel.rational import total
from fairlead.levels.fleet import reasons
from fairlead.levels.fleet.shares import ClusterShares
from fairlead.levels.fleet.sharing import bounds_of, share_out
from fairlead.model.clusters import NO_LIMIT, ClusterTable
from fairlead.model.columns import Int
from fairlead.model.division import DividePolicy, DivideWorkload, Mode, PriorDivision, Reschedule
from fairlead.model.reasons import because


def spill(
    tiers: Sequence[ClusterTable], workload: DivideWorkload, policy: DividePolicy, prior: PriorDivision
) -> ClusterShares:
    """The shares over all tiers in their order. Each tier divides its part by the mode of the policy."""
    if policy.mode is Mode.DUPLICATED:
        # Every preferred cluster gets the whole: there is nothing that could spill.
        rest = sum(len(tier) for tier in tiers[1:])
        first = share_out(workload, tiers[0], policy, prior)
        return replace(first, counts=np.concatenate([first.counts, np.zeros(rest, dtype=np.int64)]))
    held = [_held(tier, prior) for tier in tiers]
    most = [_most(tier, policy, each) for tier, each in zip(tiers, held, strict=True)]
    short = workload.replicas - sum(most)
    finding = None
    if short > 0:
        finding = because(reasons.INSUFFICIENT_ROOM, room=sum(most), replicas=workload.replicas, missing=short)
        if not policy.partial:
            names = [name for tier in tiers for name in tier.names]
            whole = np.array([prior.counts.get(name, 0) for name in names], dtype=np.int64)
            fits = total(whole) <= workload.replicas
            return ClusterShares(counts=whole if fits else np.zeros_like(whole), finding=finding, rule="refused")
    parts = allotments(
        min(workload.replicas, sum(most)),
        [total(each) for each in held],
        most,
        fresh=policy.reschedule is Reschedule.FRESH,
    )
    shares = [
        share_out(replace(workload, replicas=part), tier, policy, _within(prior, tier))
        for tier, part in zip(tiers, parts, strict=True)
    ]
    used = sum(1 for part in parts if part)
    note = f"{used} of {len(tiers)} tiers of the affinity are used, the preferred one first"
    return ClusterShares(
        counts=np.concatenate([each.counts for each in shares]),
        finding=finding or next((each.finding for each in shares if each.finding is not None), None),
        rule=f"{policy.mode}, overflow",
        draws=tuple(draw for each in shares for draw in each.draws),
        notes=(note,),
    )


def allotments(replicas: int, held: Sequence[int], most: Sequence[int], *, fresh: bool) -> list[int]:
    """How many replicas each tier gets: those it has, more in order while there is room, fewer from the last one."""
    parts = [0] * len(held) if fresh else [min(*both) for both in zip(held, most, strict=True)]
    more = replicas - sum(parts)
    for tier in range(len(parts)) if more > 0 else reversed(range(len(parts))):
        step = min(more, most[tier] - parts[tier]) if more > 0 else max(more, -parts[tier])
        parts[tier] += step
        more -= step
    return parts


def _held(tier: ClusterTable, prior: PriorDivision) -> Int:
    return np.array([prior.counts.get(name, 0) for name in tier.names], dtype=np.int64)


def _most(tier: ClusterTable, policy: DividePolicy, held: Int) -> int:
    """The most replicas that a tier takes; the sum stays small enough to add up."""
    weighs = policy.mode in (Mode.STATIC, Mode.WEBSTER)
    if weighs and not tier.weights.any():
        return 0
    bounds = bounds_of(tier, policy, held, weighs=weighs)
    return NO_LIMIT if bounds is None else min(total(bounds.upper), NO_LIMIT)


def _within(prior: PriorDivision, tier: ClusterTable) -> PriorDivision:
    """What the prior has on the clusters of a tier."""
    counts = {name: prior.counts[name] for name in tier.names if name in prior.counts}
    weights = {name: prior.weights[name] for name in tier.names if name in prior.weights}
    return replace(prior, counts=counts, weights=weights, replicas=sum(counts.values()))
