"""Draws without random state: a hash of the object, of the target and of a counter decides.

The same three give the same answer on every machine: hashes and logarithms are 64-bit integers, and the one division
is correctly rounded wherever IEEE 754 holds.
"""

from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel.logarithm import LN_2_64, POINT, ln
from fairlead.kernel.rational import Ints, ints

Hashes = NDArray[np.uint64]

_GOLDEN = np.array(0x9E3779B97F4A7C15, dtype=np.uint64)
_MIX = (np.array(0xBF58476D1CE4E5B9, dtype=np.uint64), np.array(0x94D049BB133111EB, dtype=np.uint64))
_ONE = np.array(1, dtype=np.uint64)
_WORD = 2**64 - 1
_GOLDEN_INT, _MIX_INTS = int(_GOLDEN), (int(_MIX[0]), int(_MIX[1]))
_LN_2_64_FLOAT = LN_2_64 / 2**POINT
_SLACK = 1e-13
_SHIFTS = tuple(np.array(bits, dtype=np.uint64) for bits in (30, 27, 31))


def digest(text: str) -> int:
    """64 bits that stand for `text`, the same in every process (BLAKE2b over UTF-8)."""
    return int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "big")


def keys(object_digests: Hashes, target_digests: Hashes, draw: Hashes | int) -> Hashes:
    """Uniform 64-bit keys [m, n], one for each object, target and draw (a column of m, or one number for all).

    A target's key depends on no other target: adding or removing one leaves the others' keys alone.
    """
    objects = np.asarray(object_digests, dtype=np.uint64)
    targets = np.asarray(target_digests, dtype=np.uint64)
    draws = np.asarray(draw, dtype=np.uint64)
    if objects.size == 1 and draws.size == 1:
        own = np.array([_mixed_one(_mixed_one(int(objects[0])) ^ int(draws.flat[0]))], dtype=np.uint64)
    else:
        own = _mixed(_mixed(objects) ^ draws)
    return _mixed(own[:, None] ^ _mixed_targets(targets.tobytes()))


@lru_cache(maxsize=256)
def _mixed_targets(words: bytes) -> Hashes:
    """The targets' part of every key: the same targets are drawn among again and again."""
    return _mixed(np.frombuffer(words, dtype=np.uint64) + _GOLDEN)


def order(weights: Ints, keys: Hashes, *, tie_rank: Ints | None = None) -> Ints:
    """Rows in the order of a weighted draw without replacement, first winner first; along the last axis.

    Every row runs a race of exponential length −ln(u)/weight, u = key/2**64, and the shortest is first
    (Efraimidis and Spirakis): the next row is always drawn with odds weight : sum of the weights still there.
    `weights` is [n] or [m, n], `keys` is [n] or [m, n]. −ln(u) has a resolution of 2**-48, which is far below
    what odds can show; a weight less than 2**-40 of another's may not win at all. Weight 0 comes last. Ties (among
    weights 0 always, among others once in 2**40 draws or so) fall to the lower `tie_rank`, then to the lower row.
    """
    lengths = _lengths(ints(weights), np.asarray(keys, dtype=np.uint64))
    if tie_rank is None:
        return np.argsort(lengths, axis=-1, kind="stable")
    ranked = np.argsort(ints(tie_rank), kind="stable")
    order: Ints = ranked[np.argsort(lengths[..., ranked], axis=-1, kind="stable")]
    return order


def winners(weights: Ints, keys: Hashes, k: Ints | int, *, tie_rank: Ints | None = None) -> NDArray[np.bool_]:
    """Which rows are among the first `k` (one number, or one for each object) of `order`; never one of weight 0.

    Where fewer than `k` rows have weight, all of them win.
    """
    weights, keys = ints(weights), np.asarray(keys, dtype=np.uint64)
    if keys.ndim == 2 and len(keys) == 1 and weights.ndim == 2:
        return _first(weights[0], keys[0], int(np.asarray(k).flat[0]), tie_rank)[None, :]
    if keys.ndim == 1 and weights.ndim == 1:
        return _first(weights, keys, int(np.asarray(k).flat[0]), tie_rank)
    lengths = _lengths(weights, keys)
    if not lengths.size:
        return np.zeros(lengths.shape, dtype=bool)
    # Sorted behind a length that no row has, place k is the last winner's.
    ascending = np.full((len(lengths), lengths.shape[-1] + 1), -1.0)
    ascending[:, 1:] = lengths
    ascending[:, 1:].sort(axis=-1)
    edge = ascending[np.arange(len(lengths)), np.minimum(k, lengths.shape[-1])]
    won: NDArray[np.bool_] = lengths <= edge[:, None]
    won &= weights > 0
    if (won.sum(axis=-1) > k).any():
        # Equal races at the edge, hardly ever seen: the order has the rule for them.
        rows = order(weights, keys, tie_rank=tie_rank)
        won = np.zeros(rows.shape, dtype=bool)
        first = np.arange(rows.shape[-1]) < np.asarray(k)[..., None]
        np.put_along_axis(won, rows, np.broadcast_to(first, rows.shape), axis=-1)
        won &= weights > 0
    return won


def _first(weights: Ints, keys: Hashes, k: int, tie_rank: Ints | None) -> NDArray[np.bool_]:
    """`winners` of one object: by floating point where that leaves no doubt, which is nearly always, else exactly."""
    rows = _plain_order(weights, keys, k)
    if rows is None:
        lengths = _lengths(weights, keys)
        rows = lengths.argsort()
        if 0 < k < len(rows) and lengths[rows[k - 1]] == lengths[rows[k]]:
            # Equal races at the edge, hardly ever seen: the order has the rule for them.
            rows = order(weights, keys, tie_rank=tie_rank)
    won = np.zeros(len(keys), dtype=bool)
    won[rows[:k]] = True
    won &= weights > 0
    return won


def _plain_order(weights: Ints, keys: Hashes, k: int) -> Ints | None:
    """Rows with the first `k` of the exact order in front; None where floating point cannot tell which they are.

    −ln(u) in floating point and in fixed point differ by less than `_SLACK` on any machine: ten units in the last
    place of ln(2**64) are 7e-14. If every one of the first is shorter than every other by more than that, the exact
    order says the same.
    """
    if not 0 < k < len(keys):
        return None
    races = _LN_2_64_FLOAT - np.log((keys | _ONE).astype(np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1.0 / weights
        longest, shortest = (races + _SLACK) * inverse, (races - _SLACK) * inverse
    rows = longest.argsort()
    sure = longest[rows[k - 1]] < np.minimum.reduce(shortest[rows[k:]])
    return rows if sure else None


def _mixed(values: Hashes) -> Hashes:
    """A bijection of 64-bit words in which every bit of the input moves every bit of the output (splitmix64)."""
    words = values + _GOLDEN
    words ^= words >> _SHIFTS[0]
    words *= _MIX[0]
    words ^= words >> _SHIFTS[1]
    words *= _MIX[1]
    words ^= words >> _SHIFTS[2]
    return words


def _mixed_one(word: int) -> int:
    """`_mixed` of one word, for which a column costs more than it saves."""
    word = (word + _GOLDEN_INT) & _WORD
    word = ((word ^ (word >> 30)) * _MIX_INTS[0]) & _WORD
    word = ((word ^ (word >> 27)) * _MIX_INTS[1]) & _WORD
    return word ^ (word >> 31)


def _lengths(weights: Ints, keys: Hashes) -> NDArray[np.float64]:
    """−ln(u)/weight; infinite for weight 0.

    The logarithm is in fixed point. The division is IEEE's, whose result is the correctly rounded one on every
    machine, whatever the weights' size, at a fraction of the cost of a second logarithm.
    """
    exponential = LN_2_64 - ln(keys | _ONE)
    np.maximum(exponential, 1, out=exponential)
    with np.errstate(divide="ignore"):
        lengths: NDArray[np.float64] = exponential / weights
    return lengths
