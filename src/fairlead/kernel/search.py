"""Where a growing count passes a wanted number."""

from collections.abc import Callable
from math import isqrt
from typing import NamedTuple

_POOR = 4
"""Interpolations in a row that may be worse than halving."""
_IDLE = 6
"""Probes without effect that show a tie."""


class Bracket(NamedTuple):
    """count(low) < wanted ≤ count(high), with the two counts."""

    low: int
    high: int
    below: int
    reached: int

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def between(self) -> int:
        """How much is counted above low, up to high."""
        return self.reached - self.below

    @property
    def halfway(self) -> int:
        """The middle of the ends, of their logarithms where they are not of one size."""
        if self.high > 4 * max(self.low, 1):
            return isqrt(max(self.low, 1) * self.high)
        return (self.low + self.high) // 2


def narrow(count: Callable[[int], int], bracket: Bracket, wanted: int, *, slack: int = 0, tie: int = 0) -> Bracket:
    """Close `bracket` around the least place where `count`, which never falls, reaches `wanted`.

    Stops when the ends are neighbours, when no more than `slack` is counted between them, or when no more than `tie`
    is and several probes in a row could not lower it. The result is a valid bracket in any case.

    Interpolates by Illinois' rule, sharpened: an end that stays put again and again loses more and more of its pull, so
    that a smooth count takes a few probes however far away the ends are. After a step without effect, or some
    worse than halving, it halves, so that any count takes a logarithm of the width.
    """
    pulls = [wanted - bracket.below, bracket.reached - wanted + 1]
    poor, idle, streak, moved = 0, 0, 0, -1
    while bracket.width > 1 and bracket.between > slack and (idle < _IDLE or bracket.between > tie):
        aim = bracket.halfway if poor == _POOR or idle else bracket.low + bracket.width * pulls[0] // sum(pulls)
        middle = max(aim, bracket.low + 1)
        counted = count(middle)
        end = int(counted >= wanted)
        closer = _moved(bracket, end, middle, counted)
        streak = streak + 1 if end == moved else 0
        pulls[end] = abs(wanted - counted) + end
        pulls[1 - end] = max(1, pulls[1 - end] >> streak)
        poor = poor + 1 if poor < _POOR and 2 * closer.width > bracket.width else 0
        idle = idle + 1 if closer.between == bracket.between else 0
        bracket, moved = closer, end
    return bracket


def _moved(bracket: Bracket, end: int, place: int, counted: int) -> Bracket:
    """`bracket` with its low (0) or high (1) end moved."""
    if end:
        return bracket._replace(high=place, reached=counted)
    return bracket._replace(low=place, below=counted)
