"""Where a growing count passes a wanted number."""

from collections.abc import Callable
from typing import NamedTuple

_PATIENCE = 4
"""Every so many probes the bracket is halved, whatever the counts suggest, so that the search is logarithmic."""


class Bracket(NamedTuple):
    """count(low) < wanted ≤ count(high), with the two counts."""

    low: int
    high: int
    below: int
    reached: int


def narrow(count: Callable[[int], int], bracket: Bracket, wanted: int, *, slack: int = 0, bits: int = 200) -> Bracket:
    """Close `bracket` around the least place where `count`, which never falls, reaches `wanted`.

    Stops when the ends are neighbours, when they agree in their first `bits` bits, or when no more than `slack`
    is counted between them. Interpolates (Illinois' rule: an end that stays put loses half its pull), so smooth
    counts take a few probes; all arithmetic on Python integers.
    """
    low, high, below, reached = bracket
    pull_low, pull_high = wanted - below, reached - wanted
    probes = 0
    while high - low > max(1, low >> bits) and reached - below > slack:
        probes += 1
        if probes % _PATIENCE:
            middle = low + (high - low) * pull_low // max(1, pull_low + pull_high)
            middle = min(max(middle, low + 1), high - 1)
        else:
            middle = (low + high) // 2
        counted = count(middle)
        if counted < wanted:
            low, below = middle, counted
            pull_low, pull_high = wanted - counted, max(1, pull_high // 2)
        else:
            high, reached = middle, counted
            pull_low, pull_high = max(1, pull_low // 2), counted - wanted
    return Bracket(low, high, below, reached)
