"""What each queue deserves: weighted max-min over its request, within its capability, never below its guarantee.

Resource by resource, from the whole down: the queues with a `deserved` of their own take that first (by weight where
it is more than there is), then the others share the rest by weight. Only open queues with jobs take part; the
guarantee of the others is kept free all the same. Shares are exact fractions; what a parent hands on is cut to
whole units.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.kernel.waterfill import fluid
from fairlead.levels.queue.tree import QueueTree
from fairlead.model.columns import Bool, Int
from fairlead.model.jobs import UNSET, QueueTable

Amounts = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueClaims:
    """What water-filling needs to know of the queues, [queue, resource], sums of the queues below included."""

    request: Int
    guarantee: Int
    capability: Int
    """UNSET: no bound."""
    active: Bool
    """[queue]: open, with jobs in it or below it."""


def deserved(tree: QueueTree, queues: QueueTable, claims: QueueClaims, whole: Int) -> tuple[Amounts, ...]:
    """For each queue (and last the whole) the exact amounts it deserves."""
    zero = (Fraction(0),) * len(whole)
    result: list[Amounts] = [zero] * (len(queues) + 1)
    result[tree.whole] = tuple(Fraction(amount) for amount in whole.tolist())
    for parent in (tree.whole, *tree.top_down):
        rows = tree.children[parent]
        columns = [
            _divide(int(result[parent][resource]), np.array(rows, dtype=np.int64), resource, queues, claims)
            for resource in range(len(whole) if rows else 0)
        ]
        for place, row in enumerate(rows):
            result[row] = tuple(column[place] for column in columns)
    return tuple(result)


def contended(
    tree: QueueTree, claims: QueueClaims, rights: Sequence[Amounts], counted: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    """For each queue (and last the whole) the resources of which it or a sibling deserves less than it asks for.

    Of the others there is enough for all queues: what a queue lacks of them it lacks for want of something else. Where
    there is enough of everything, all that count.
    """
    wanted = np.where(claims.capability == UNSET, claims.request, np.minimum(claims.request, claims.capability))
    result = [counted] * (len(wanted) + 1)
    for parent in (tree.whole, *tree.top_down):
        rows = [row for row in tree.children[parent] if claims.active[row]]
        scarce = tuple(r for r in counted if any(rights[row][r] < int(wanted[row, r]) for row in rows))
        for row in rows:
            result[row] = scarce or counted
    return tuple(result)


def _divide(amount: int, rows: Int, resource: int, queues: QueueTable, claims: QueueClaims) -> list[Fraction]:
    """One resource of one parent divided among its children; what is kept for idle ones is theirs."""
    if len(rows) == 1:
        return [Fraction(_alone(amount, int(rows[0]), resource, queues, claims))]
    floors = claims.guarantee[rows, resource]
    active = claims.active[rows]
    wanted = np.where(active, claims.request[rows, resource], 0)
    most = claims.capability[rows, resource]
    wanted = np.where(most == UNSET, wanted, np.minimum(wanted, most))
    own = queues.deserved[rows, resource]
    stated = active & (own != UNSET)
    wanted = np.where(stated, np.minimum(wanted, own), wanted)
    shares = [Fraction(floor) for floor in floors.tolist()]
    left = amount - int(floors.sum())
    for group in (stated, active & ~stated):
        places = np.flatnonzero(group)
        held = int(floors[places].sum())
        filled = _fill(left + held, queues.weight[rows[places]], wanted[places], floors[places])
        for place, share in zip(places.tolist(), filled, strict=True):
            shares[place] = share
        left -= int(sum(filled)) - held
    return shares


def _alone(amount: int, row: int, resource: int, queues: QueueTable, claims: QueueClaims) -> int:
    """`_divide` where there is one child: nothing to share, and no need to find a level."""
    floor = int(claims.guarantee[row, resource])
    if not claims.active[row]:
        return floor
    wanted = int(claims.request[row, resource])
    bounds = int(claims.capability[row, resource]), int(queues.deserved[row, resource])
    return max(min(amount, wanted, *(bound for bound in bounds if bound != UNSET)), floor)


def _fill(amount: int, weights: Int, wanted: Int, floors: Int) -> list[Fraction]:
    """max(min(level·weight, wanted), floor) at the exact level that uses up the amount."""
    if not len(weights):
        return []
    if len(weights) == 1:
        return [Fraction(max(min(amount, int(wanted[0])), int(floors[0])))]
    level = Fraction(*fluid(np.array([amount]), weights, wanted[:, None], floors=floors[:, None])[0])
    bounds: Sequence[tuple[int, int, int]] = list(zip(weights.tolist(), wanted.tolist(), floors.tolist(), strict=True))
    return [max(min(level * weight, Fraction(want)), Fraction(floor)) for weight, want, floor in bounds]
