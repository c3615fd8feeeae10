"""The fluid share: what every queue would have if amounts could be divided at will, and how far off the result is.

Queues: what they deserve, as far as they ask for it. Namespaces of a queue: that amount by weight, resource by
resource, each no more than it asks for. With one resource, replicas of one size, no gangs and no priorities nobody is
a whole replica above its fluid share, and where fluid shares are whole replicas the result is the fluid share.
Beyond that the distance is reported without a claim.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairlead.kernel.waterfill import fluid
from fairlead.levels.queue.state import World
from fairlead.model.columns import Int
from fairlead.model.jobs import UNSET

Amounts = tuple[Fraction, ...]


def queue_fluid(world: World, requested: Int) -> list[Amounts]:
    """[queue]: what it deserves, no more than it asks for."""
    return [
        tuple(
            min(right, Fraction(ask)) for right, ask in zip(world.deserved[row], requested[row].tolist(), strict=True)
        )
        for row in range(len(world.queues))
    ]


def namespace_fluid(world: World, queues: Sequence[Amounts], requested: Int) -> list[Amounts]:
    """[pair]: the exact max-min share of its queue's amount by weight; nothing in a queue that cannot be used."""
    result = [(Fraction(0),) * len(world.whole)] * len(world.pairs)
    members: dict[int, list[tuple[int, int]]] = {}
    for (queue, namespace), pair in world.pairs.items():
        if queue != UNSET:
            members.setdefault(queue, []).append((pair, namespace))
    for queue, rows in members.items():
        pairs = [pair for pair, _ in rows]
        weights = world.namespaces.weight[[namespace for _, namespace in rows]]
        demands = requested[pairs]
        amounts = np.array([int(amount) for amount in queues[queue]], dtype=np.int64)
        levels = [Fraction(*level) for level in fluid(amounts, weights, demands)]
        for pair, weight, asks in zip(pairs, weights.tolist(), demands.tolist(), strict=True):
            result[pair] = tuple(min(level * weight, Fraction(ask)) for level, ask in zip(levels, asks, strict=True))
    return result


def distance(world: World, held: Sequence[int], fair: Amounts) -> Fraction:
    """The largest part of the whole by which a resource held differs from its fluid share."""
    return max((abs(held[r] - fair[r]) / world.whole[r] for r in world.counted if world.whole[r]), default=Fraction(0))
