"""Bound cpu: how many replicas of X whole cores plus a fragment of one more core fit the free pieces of a node.

A core whose free pieces are a multiple of the base is whole: it serves whole-core requests, once per base, or it
becomes a fragment core. A core that is partly used serves fragments only. A replica's cores are distinct. Fragments
do not cross cores. For one workload a core serves either purpose, not both.
"""

import numpy as np

from fairlead.levels.node.oversold import most_replicas
from fairlead.model.columns import Bool, Int

ABSENT = -1
"""Fills up rows of nodes that have fewer cores than the widest."""


def capacity(free: Int, pieces: int, share_base: int, max_share: int | None = None) -> Int:
    """Replicas per row of `free` (nodes × cores, in pieces), the most there can be.

    `max_share` counts the fragment cores that are there already; a row with more of them gets no new one.
    """
    whole_cores, fragment = divmod(pieces, share_base)
    slots, whole = np.divmod(np.maximum(free, 0), share_base)
    partly = whole > 0
    slots[partly] = 0
    if not fragment:
        return _whole_only(slots, whole_cores)
    convertible = _convertible(partly, max_share)
    loose = np.where(partly, free // fragment, 0).sum(axis=1)
    if not whole_cores:
        fragments: Int = loose + _best(slots * share_base // fragment, convertible)
        return fragments
    result = _single(slots, loose, convertible, whole_cores, share_base // fragment)
    rows = np.flatnonzero((slots > 1).any(axis=1))
    result[rows] = most_replicas(slots[rows], loose[rows], convertible[rows], pieces, share_base)
    return result


def fragment_cores(free: Int, share_base: int) -> Int:
    """How many cores of each row are partly used."""
    shared: Int = (np.maximum(free, 0) % share_base > 0).sum(axis=1)
    return shared


def _convertible(partly: Bool, max_share: int | None) -> Int:
    """How many whole cores of each row may become fragment cores."""
    if max_share is None:
        return np.full(len(partly), partly.shape[1], dtype=np.int64)
    left: Int = np.maximum(max_share - partly.sum(axis=1), 0)
    return left


def _whole_only(slots: Int, whole_cores: int) -> Int:
    """The largest n with Σ min(slots, n) ≥ n·X: a core serves a replica once, so no more than n of its slots count."""
    low: Int = np.zeros(len(slots), dtype=np.int64)
    high: Int = slots.sum(axis=1) // whole_cores
    if slots.max(initial=0) <= 1 or whole_cores == 1:
        return high
    while (low < high).any():
        middle = (low + high + 1) // 2
        fits = np.minimum(slots, middle[:, None]).sum(axis=1) >= middle * whole_cores
        low, high = np.where(fits, middle, low), np.where(fits, high, middle - 1)
    return low


def _best(gains: Int, convertible: Int) -> Int:
    """The sum of the largest gains of each row, as many as may be converted."""
    ordered = -np.sort(-gains, axis=1)
    used = np.arange(gains.shape[1]) < convertible[:, None]
    best: Int = np.where(used, ordered, 0).sum(axis=1)
    return best


def _single(slots: Int, loose: Int, convertible: Int, whole_cores: int, gain: int) -> Int:
    """Rows whose whole cores have one slot: k of W become fragment cores, min(loose + k·gain, (W − k)/X) replicas.

    The first term grows with k and the second falls, so the best k is one of the two around their crossing.
    """
    cores = (slots > 0).sum(axis=1)
    crossing = np.maximum(cores - whole_cores * loose, 0) // (gain * whole_cores + 1)
    most = np.minimum(cores, convertible)
    best = np.zeros(len(slots), dtype=np.int64)
    for step in (0, 1):
        converted = np.minimum(crossing + step, most)
        best = np.maximum(best, np.minimum(loose + converted * gain, (cores - converted) // whole_cores))
    return best
