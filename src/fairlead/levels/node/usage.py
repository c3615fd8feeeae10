"""How used a node is and what one replica adds, from its resources: the highest share of any of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

from fairlead.levels.node.request import Request
from fairlead.model.amounts import CPU
from fairlead.model.nodes import Room

MOST_SCALE = 10**15
"""The largest common denominator. Shares that have none below it are rounded to this many parts of 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Per node usage / scale and rate / scale."""

    usage: tuple[int, ...]
    rate: tuple[int, ...]
    scale: int


def derived(room: Room, request: Request) -> tuple[Fraction, Fraction]:
    """Usage and rate of one node: the highest share over the resources whose total is known.

    A total that is not given is what is free. Of cores the total is one share base each.
    """
    usage, rate = Fraction(0), Fraction(0)
    for name in {*room.free, *room.total}:
        total = room.total.get(name, room.free.get(name, 0))
        if total > 0:
            usage = max(usage, Fraction(total - min(room.free.get(name, 0), total), total))
            rate = max(rate, Fraction(1 if name == "pods" else request.amounts.get(name, 0), total))
    if room.cores:
        free = sum(room.cores.values())
        total = max(len(room.cores) * request.share_base, free)
        usage = max(usage, Fraction(total - free, total))
        rate = max(rate, Fraction(request.pieces, total))
        if CPU not in room.free:
            rate = max(rate, Fraction(request.cpu_milli * request.share_base, 1000 * total))
    return usage, rate


def shares(pairs: Sequence[tuple[Fraction, Fraction]]) -> Shares:
    """Fractions over one denominator: exact where it exists below `MOST_SCALE` or was written as decimals."""
    scale = 1
    for pair in pairs:
        for value in pair:
            scale = lcm(scale, value.denominator)
            if scale > MOST_SCALE and not _decimal(scale):
                return _scaled(pairs, MOST_SCALE)
    return _scaled(pairs, scale)


def _scaled(pairs: Sequence[tuple[Fraction, Fraction]], scale: int) -> Shares:
    return Shares(
        usage=tuple(round(usage * scale) for usage, _ in pairs),
        rate=tuple(round(rate * scale) for _, rate in pairs),
        scale=scale,
    )


def _decimal(denominator: int) -> bool:
    """Whether it divides a power of ten that a written decimal can have."""
    return 10**400 % denominator == 0
