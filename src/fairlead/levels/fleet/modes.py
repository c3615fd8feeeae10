"""The other ways to divide: Webster's rule, by room, on few clusters, the whole in each.

Each takes the clusters that were chosen and returns their counts. Ties are Karmada's: fewer replicas, then the name,
ascending or descending by one bit of the uid, unless the policy says which.
"""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kernel.apportion import webster
from fairlead.kernel.rational import total
from fairlead.levels.fleet.quota import Bounds
from fairlead.model.clusters import ClusterTable
from fairlead.model.columns import Bool, Int
from fairlead.model.division import Reschedule, Ties


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomDivision:
    """A division by room: `held` runs already, `room` still fits, `ties` orders equals, lower first."""

    replicas: int
    held: Int
    room: Int
    bounds: Bounds
    ties: Int
    reschedule: Reschedule


def fnv1a_32(text: str) -> int:
    """The 32-bit FNV-1a hash, by one bit of which Karmada turns its tie order."""
    value = 0x811C9DC5
    for byte in text.encode(errors="surrogatepass"):
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def tie_order(clusters: ClusterTable, ties: Ties, uid: str) -> Int:
    """The place of each name among equals. By uid: ascending where it is empty or its hash even, else descending."""
    ascending = clusters.text_rank
    turned = ties is Ties.DESCENDING or (ties is Ties.UID and uid != "" and fnv1a_32(uid) % 2 == 1)
    return len(clusters) - 1 - ascending if turned else ascending


def by_webster(clusters: ClusterTable, replicas: int, bounds: Bounds | None, ties: Int) -> Int:
    """Webster's rule on the weights: the replicas are handed out on top of the initial seats, which are included."""
    initial = clusters.initial
    caps = None if bounds is None else bounds.upper
    minimums = None if bounds is None else bounds.lower
    return initial + webster(clusters.weights, replicas, initial=initial, caps=caps, minimums=minimums, tie_rank=ties)


def dynamic(ask: RoomDivision) -> Int:
    """By room. Steady: only the difference is divided, by room on the way up, by what runs on the way down."""
    return _scaled(ask, aggregate=False, packed=False)


def aggregated(ask: RoomDivision, *, packed: bool) -> Int:
    """On the fewest clusters that hold it, those that run it first, then the roomiest, then natural order.

    Inside them by room, as Karmada does, or `packed`: each filled before the next.
    """
    return _scaled(ask, aggregate=True, packed=packed)


def duplicated(replicas: int, bounds: Bounds | None, rows: int) -> Int:
    """Every cluster gets all of it, as far as its bound allows."""
    counts = np.full(rows, replicas, dtype=np.int64)
    return counts if bounds is None else np.minimum(counts, bounds.upper)


def _scaled(ask: RoomDivision, *, aggregate: bool, packed: bool) -> Int:
    lower, upper = ask.bounds.lower, ask.bounds.upper
    if ask.reschedule is Reschedule.FRESH:
        return lower + _share(ask, ask.replicas - total(lower), upper - lower, ask.held + ask.room, aggregate, packed)
    start = np.clip(ask.held, lower, upper)
    more = ask.replicas - total(start)
    if more >= 0:
        return start + _share(ask, more, upper - start, ask.room, aggregate, packed)
    return lower + _share(ask, ask.replicas - total(lower), start - lower, start, aggregate, packed)


def _share(ask: RoomDivision, units: int, caps: Int, weights: Int, aggregate: bool, packed: bool) -> Int:
    """`units` more, no row above its cap."""
    if not aggregate:
        return webster(weights, units, caps=caps, tie_rank=ask.ties)
    running = (ask.held > 0) & (ask.reschedule is Reschedule.STEADY)
    order = np.lexsort((ask.ties, -caps, ~running))
    caps = np.minimum(caps, units)
    before = np.cumsum(caps[order]) - caps[order]
    used = np.zeros(len(caps), dtype=bool)
    used[order[before < units]] = True
    if packed:
        return _filled(caps, order, units)
    return _within(used, weights, units, caps, ask.ties)


def _filled(caps: Int, order: Int, units: int) -> Int:
    result = np.zeros_like(caps)
    before = np.cumsum(caps[order]) - caps[order]
    result[order] = np.clip(units - before, 0, caps[order])
    return result


def _within(used: Bool, weights: Int, units: int, caps: Int, ties: Int) -> Int:
    return webster(np.where(used, weights, 0), units, caps=np.where(used, caps, 0), tie_rank=ties)
