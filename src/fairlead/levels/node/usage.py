"""How used a node is and what one replica adds, from its resources: the highest share of any of them."""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

from fairlead.dataclass import dataclass
from fairlead.levels.node.request import NodeRequest
from fairlead.model.nodes import Room

PODS = "pods"

MOST_SCALE = 10**15
"""The largest common denominator. Shares that have none below it are rounded to this many parts of 1."""


Share = tuple[int, int]
"""A fraction of 1: numerator and denominator."""
NOTHING: Share = (0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageShares:
    """Per node usage / scale and rate / scale."""

    usage: tuple[int, ...]
    rate: tuple[int, ...]
    scale: int


def derived(room: Room, request: NodeRequest) -> tuple[Share, Share]:
    """Usage and rate of one node: the highest share over the resources whose total is known.

    A total that is not given is what is free. Of cores the total is one share base each.
    """
    usage, rate = Fraction(0), Fraction(0)
    for name in {*room.free, *room.total}:
        total = room.total.get(name, room.free.get(name, 0))
        if total > 0:
            usage = max(usage, Fraction(total - min(room.free.get(name, 0), total), total))
            rate = max(rate, Fraction(1 if name == PODS else request.amounts.get(name, 0), total))
    if room.cores:
        free = sum(room.cores.values())
        total = max(len(room.cores) * request.share_base, free)
        asked = request.pieces * 1000 or request.cpu_milli * request.share_base
        usage = max(usage, Fraction(total - free, total))
        rate = max(rate, Fraction(asked, 1000 * total))
    return usage.as_integer_ratio(), rate.as_integer_ratio()


def shares(pairs: Sequence[tuple[Share, Share]]) -> UsageShares:
    """Fractions over one denominator: exact where it exists below `MOST_SCALE` or was written as decimals."""
    scale = 1
    for (_, below), (_, under) in pairs:
        scale = lcm(scale, below, under)
        if scale > MOST_SCALE and not _decimal(scale):
            scale = MOST_SCALE
            break
    return UsageShares(
        usage=tuple(_scaled(usage, scale) for usage, _ in pairs),
        rate=tuple(_scaled(rate, scale) for _, rate in pairs),
        scale=scale,
    )


def _scaled(share: Share, scale: int) -> int:
    """The share in parts of `scale`, rounded half up where it is no whole number of them."""
    return (2 * share[0] * scale + share[1]) // (2 * share[1])


def _decimal(denominator: int) -> bool:
    """Whether it divides a power of ten that a written decimal can have."""
    return 10**400 % denominator == 0
