"""What a division by weight owes each cluster: whole floors, and which quotas are not whole."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairlead.dataclass import dataclass
from fairlead.kernel.rational import largest, scale, total, widen
from fairlead.kernel.waterfill import fluid
from fairlead.levels.fleet import reasons
from fairlead.model.columns import Bool, Int
from fairlead.model.reasons import Finding, because


def quotas(weights: Int, units: Int) -> tuple[Int, Bool]:
    """⌊w·R/W⌋ and where a quota is not whole; weights[m, n], units[m]. Weights that sum to 0 are owed nothing."""
    most = int(units[0]) if len(units) == 1 else largest(units)
    bound = largest(weights) * max(most, weights.shape[1])
    wide: NDArray[Any] = widen(weights, bound)
    if len(units) == 1:
        # One row divides by plain numbers, which costs half as much.
        sums: Any = int(np.add.reduce(wide, axis=None)) or 1
        products = wide * most
    else:
        sums = wide.sum(axis=1, keepdims=True)
        sums[sums == 0] = 1
        products = wide * units[:, None]
    floors = products // sums
    part: Bool = products != floors * sums
    if wide is weights:
        return floors, part
    return floors.astype(np.int64), part.astype(bool)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most replicas of each cluster; `room` says whether a lack of room made the upper ones."""

    lower: Int
    upper: Int
    room: bool = False

    def refuses(self, replicas: int, names: tuple[str, ...]) -> Finding | None:
        """Why this many replicas cannot be divided within the bounds; None where they can."""
        narrow = np.flatnonzero(self.lower > self.upper)
        if len(narrow):
            row = int(narrow[0])
            return because(
                reasons.MINIMUM_WITHOUT_ROOM,
                cluster=names[row],
                minimum=int(self.lower[row]),
                room=int(self.upper[row]),
            )
        least, most = total(self.lower), total(self.upper)
        if least > replicas:
            return because(reasons.MINIMUMS_TOO_HIGH, minimums=least, replicas=replicas)
        if most < replicas:
            reason = reasons.INSUFFICIENT_ROOM if self.room else reasons.MAXIMUMS_TOO_LOW
            return because(reason, room=most, replicas=replicas, missing=replicas - most)
        return None


def free_part(weights: Int, replicas: int, bounds: Bounds) -> tuple[Int, Int, int]:
    """A bounded division reduced to a plain one: (weights of the clusters between their bounds, counts of those at
    a bound, replicas left for the former).

    The fluid shares are level·weight, raised to the lower and cut to the upper bound, with the level at which they
    sum to the replicas. A cluster at a bound is fixed there; the others divide the rest by weight, and since bounds
    are whole, neither their floors nor their ceilings leave the bounds. Expects bounds that do not refuse.
    """
    # No cluster gets more than all: this keeps "no limit" small enough to multiply.
    upper = np.where(weights > 0, np.minimum(bounds.upper, np.maximum(bounds.lower, replicas)), bounds.lower)
    level = fluid(np.array([replicas]), weights, upper[:, None], floors=bounds.lower[:, None])[0]
    # A level·weight above every bound says no more than the bound, and need not fit int64.
    enough = (largest(upper) + 1) * level[1] // max(1, level[0]) + 1
    heavy = np.minimum(weights, min(enough, largest(weights)))
    share, fraction = scale(heavy, *level)
    at_lower = (share < bounds.lower) | ((share == bounds.lower) & (fraction == 0))
    at_upper = ~at_lower & (share >= upper)
    fixed = np.where(at_lower, bounds.lower, np.where(at_upper, upper, 0))
    return np.where(at_lower | at_upper, 0, weights), fixed, replicas - total(fixed)
