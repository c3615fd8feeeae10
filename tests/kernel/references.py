"""The kernels' rules as plain Python, turn by turn, in exact fractions: slow, short, and easy to believe."""

import heapq
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

Column = Sequence[int]


def level(units: int, base: Column, step: Column, cap: Column, tie_rank: Column) -> list[int]:
    """One unit after another to the lowest result."""
    counts = [0] * len(base)
    heap = [(base[i] + step[i], tie_rank[i], i) for i in range(len(base)) if cap[i]]
    heapq.heapify(heap)
    for _ in range(units):
        if not heap:
            break
        _, rank, i = heapq.heappop(heap)
        counts[i] += 1
        if counts[i] < cap[i]:
            heapq.heappush(heap, (base[i] + step[i] * (counts[i] + 1), rank, i))
    return counts


def highest_averages(weights: Column, units: int, seats: Column, stop: Column, tie_rank: Column) -> list[int]:
    """One unit after another to the highest weight/(2·seats + 1), fewer seats first, then the tie rank."""
    held = list(seats)
    rows = [i for i in range(len(weights)) if weights[i] and held[i] < stop[i]]
    heap = [(Fraction(2 * held[i] + 1, weights[i]), held[i], tie_rank[i], i) for i in rows]
    heapq.heapify(heap)
    for _ in range(units):
        if not heap:
            break
        _, _, rank, i = heapq.heappop(heap)
        held[i] += 1
        if held[i] < stop[i]:
            heapq.heappush(heap, (Fraction(2 * held[i] + 1, weights[i]), held[i], rank, i))
    return [now - before for now, before in zip(held, seats, strict=True)]


def webster(
    weights: Column, units: int, initial: Column, caps: Column, minimums: Column, tie_rank: Column
) -> list[int]:
    """Minimums first, then highest averages up to the caps."""
    rows = range(len(weights))
    least = [max(initial[i], min(minimums[i], caps[i])) for i in rows]
    owed = [least[i] - initial[i] for i in rows]
    if sum(owed) <= units:
        more = highest_averages(weights, units - sum(owed), least, caps, tie_rank)
        return [owed[i] + more[i] for i in rows]
    granted = highest_averages(weights, units, initial, least, tie_rank)
    idle = [0 if weights[i] else owed[i] for i in rows]
    rest = level(units - sum(granted), initial, [1] * len(weights), idle, tie_rank)
    return [granted[i] + rest[i] for i in rows]


def fluid(total: int, weights: Column, lower: Column, upper: Column) -> tuple[Fraction, list[Fraction]]:
    """The least level at which max(min(level·weight, upper), lower) sums to the total, by trying every corner."""

    def shares(level: Fraction) -> list[Fraction]:
        bounds = zip(weights, lower, upper, strict=True)
        return [max(min(level * w, Fraction(high)), Fraction(low)) for w, low, high in bounds]

    bounds = [(w, low, high) for w, low, high in zip(weights, lower, upper, strict=True) if w and high > low]
    corners = sorted({Fraction(0)} | {Fraction(x, w) for w, low, high in bounds for x in (low, high)})
    if sum(shares(Fraction(0))) >= total:
        return Fraction(0), shares(Fraction(0))
    for left, right in pairwise(corners):
        at_left, at_right = sum(shares(left)), sum(shares(right))
        if at_right >= total:
            level = left + (total - at_left) * (right - left) / (at_right - at_left)
            return level, shares(level)
    return corners[-1], shares(corners[-1])
