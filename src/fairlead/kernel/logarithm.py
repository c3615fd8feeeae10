"""Natural logarithms of integers in fixed point: the same bits on every machine, which no C library promises."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairlead.kernel.rational import Ints

POINT = 48
"""Binary places of the results."""
LN_2_64 = 12486629536330718
"""ln(2**64)."""

_BITS = 10
"""Bits of a mantissa that are looked up; the series takes the rest."""
_W = {n: np.array(n, dtype=np.uint64) for n in (1, 3, 7, 9, 10, 14, 34, 38, 50, 52, 53, 63, 1023, 1 << _BITS)}
"""Constants as columns of no dimension: short columns spend half as much on those as on scalars."""
_REST = np.array((1 << 63 - _BITS) - 1, dtype=np.uint64)
_GUARD = 32
"""Further binary places of the tables while they are summed."""


class _Tables(NamedTuple):
    """ln(1 + i/2**10) for every i, and e·ln 2 for every exponent of a 64-bit word."""

    mantissas: Ints
    powers: Ints


def ln(values: NDArray[np.uint64]) -> Ints:
    """ln(values)·2**48 for values ≥ 1, right to 2 units.

    value = 2**e · (1 + i/2**10) · (1 + t): the first two parts from tables, ln(1 + t) = t − t²/2 + t³/3 − t⁴/4.
    """
    tables = _tables()
    exponent = _exponent(values)
    # Worked in place: the passes over the column are what it costs.
    t = values << (_W[63] - exponent)
    node = t >> _W[53]
    t &= _REST
    t <<= _W[9]
    t //= node << _W[14]
    square = t >> _W[7]
    square *= square
    square >>= _W[34]
    cube = t >> _W[10]
    cube *= square
    cube >>= _W[38]
    cube //= _W[3]
    t += cube
    t -= square >> _W[1]
    square *= square
    square >>= _W[50]
    t -= square
    node -= _W[1024]
    logs: Ints = t.view(np.int64)
    logs += tables.powers.take(exponent.view(np.int64))
    logs += tables.mantissas.take(node.view(np.int64))
    return logs


def _exponent(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """⌊log2(values)⌋: the exponent of the value as a float, less one where rounding reached the next power."""
    exponent: NDArray[np.uint64] = values.astype(np.float64).view(np.uint64)
    exponent >>= _W[52]
    exponent -= _W[1023]
    np.minimum(exponent, _W[63], out=exponent)
    exponent -= (values >> exponent) == 0
    return exponent


@cache
def _tables() -> _Tables:
    """Summed in Python integers from ln((k + 1)/k) = 2·artanh(1/(2k + 1))."""
    logs = [0]
    for k in range(1 << _BITS, 2 << _BITS):
        odd, power, step = 2 * k + 1, 1, 0
        part = (2 << POINT + _GUARD) // odd
        while part:
            step += part // power
            part //= odd * odd
            power += 2
        logs.append(logs[-1] + step)
    ln2 = logs.pop()
    return _Tables(_rounded(logs), _rounded([e * ln2 for e in range(64)]))


def _rounded(logs: list[int]) -> Ints:
    """A read-only column without the further binary places."""
    half = 1 << _GUARD - 1
    column = np.array([(log + half) >> _GUARD for log in logs], dtype=np.int64)
    column.setflags(write=False)
    return column
