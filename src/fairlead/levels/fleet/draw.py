"""The lottery for residuals: rule 5's odds, and which clusters win."""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel import lottery
from fairlead.kernel.rational import largest, widen
from fairlead.model.columns import Bool, Int, frozen

Hashes = NDArray[np.uint64]

HALF = Fraction(1, 2)
_ODD = np.array(1, dtype=np.uint64)
_MOST = 2**62
"""The lottery takes weights below this."""


@lru_cache(maxsize=1024)
def digests(names: tuple[str, ...]) -> Hashes:
    """64 bits that stand for each name."""
    return frozen(np.array([lottery.digest(name) for name in names], dtype=np.uint64))


def uid_digests(uids: Sequence[str]) -> Hashes:
    """64 bits that stand for each object."""
    return np.array([lottery.digest(uid) for uid in uids], dtype=np.uint64)


def numbers(floors: Int, targets: Hashes) -> Hashes:
    """The number of a draw, [m]: other floors, another draw. Clusters whose floor is 0 have no part in it."""
    result: Hashes = np.add.reduce(floors.view(np.uint64) * (targets | _ODD), axis=1)
    return result


def odds(weights: Int, capacity: Int | None, coefficient: Fraction | None, drawing: Bool) -> NDArray[Any]:
    """Integers in proportion to p = (1−c)·weight share + c·room share among the clusters that draw, 0 elsewhere.

    `weights` are 0 already where a cluster does not draw.
    c is ½ by default and 0 where a cluster does not report room (`capacity` None) or there is no room at all.
    """
    share = HALF if coefficient is None else coefficient
    if capacity is None or not share:
        return weights
    room = np.where(drawing, capacity, 0)
    bound = largest(weights) * largest(room) * weights.shape[1] * share.denominator
    wide, wide_room = widen(weights, bound), widen(room, bound)
    rooms = wide_room.sum(axis=1, keepdims=True)
    mixed = (share.denominator - share.numerator) * wide * rooms
    mixed = mixed + share.numerator * wide_room * wide.sum(axis=1, keepdims=True)
    return np.where(rooms > 0, mixed, wide)


def winners(odds: NDArray[Any], weights: Int, drawing: Bool, keys: Hashes, take: Int, rank: Int) -> Bool:
    """The `take` winners of each row's draw. Where too few have odds (c = 1, no room), weights draw the rest."""
    if odds is weights:
        return lottery.winners(weights, keys, take, tie_rank=rank)
    won = lottery.winners(_fitting(odds), keys, take, tie_rank=rank)
    if (short := take > won.sum(axis=1)).any():
        rows = np.flatnonzero(short)
        rest = np.where(drawing[rows] & ~won[rows], weights[rows], 0)
        won[rows] |= lottery.winners(rest, keys[rows], (take - won.sum(axis=1))[rows], tie_rank=rank)
    return won


def _fitting(odds: NDArray[Any]) -> Int:
    """Odds as the lottery takes them: a row that is too large is scaled down by itself, and none of its odds to 0."""
    if largest(odds) < _MOST:
        return odds.astype(np.int64, copy=False)
    shifts = np.array([max(0, int(most).bit_length() - _MOST.bit_length() + 1) for most in odds.max(axis=1)])
    return np.where(odds > 0, np.maximum(odds >> shifts[:, None].astype(odds.dtype), 1), 0).astype(np.int64)
