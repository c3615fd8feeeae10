"""States that a namespace or a queue passes through, in order, and the states of a queue from those of its children.

A queue serves whichever child has the lowest key. So when it has come to a level, every child has been served until
its own key came to that level, independently of the others. A curve holds some of the states on the way, with the
least and the most that may have been gained at each. Floating point is enough: keys count as apart only where they
surely are.
"""

import numpy as np

from fairlead.dataclass import dataclass
from fairlead.levels.queue.bulk.runs import NEAR, Floats
from fairlead.model.columns import Int

Bounds = tuple[Int, Int]
"""[child, level]: the last state that is surely reached, and the first that is surely not passed (or one too many)."""


@dataclass(slots=True)
class Curves:
    """Gains over what is used now, [row, state, resource], rising from state to state.

    `kept` is by how much what is used or guaranteed grows. `end` and `kept_end` bound what a row ever gains,
    [row, resource], whatever its states say. `places` are those of the states on the row's own axis, [row, state].
    """

    places: Floats
    least: Floats
    most: Floats
    kept_least: Floats
    kept_most: Floats
    end: Floats
    kept_end: Floats

    def rows(self, which: Int) -> "Curves":
        """These rows."""
        return Curves(*(getattr(self, name)[which] for name in self.__slots__))


def levels(keys: Floats, gain: Floats, low: float, high: float) -> Floats:
    """As many levels between `low` and `high` as children have states, with about equal gains from one to the next.

    `keys` and `gain` are [child, state], both rising from state to state.
    """
    states = keys.shape[1]
    even = np.linspace(0.0, 1.0, states)
    found = low + (high - low) * even
    inside = (keys > low) & (keys < high)
    inside[:, 0] = False
    if inside.any():
        order = np.argsort(keys[inside])
        sums = np.cumsum(np.diff(gain, axis=1, prepend=0.0)[inside][order])
        if sums[-1] > 0:
            # Some of the levels stay evenly spread: keys of children may lie far apart.
            by_gain = np.interp(even, sums / sums[-1], keys[inside][order], left=low)
            found = np.sort(np.concatenate((found[::3], by_gain)))[
                np.round(even * (len(found[::3]) + states - 1)).astype(int)
            ]
    found[0], found[-1] = low, high
    return found


def reached(low_keys: Floats, high_keys: Floats, levels: Floats) -> Bounds:
    """Where children stand when their parent has come to levels, [child, level].

    `low_keys` and `high_keys` are [child, state], from the least and the most that is used there. State 0 is always
    reached.
    """
    surely = (high_keys[:, :, None] < (levels * (1.0 - NEAR))[:, None, :]).sum(axis=1) - 1
    perhaps = (low_keys[:, :, None] < (levels * (1.0 + NEAR))[:, None, :]).sum(axis=1)
    return np.maximum(surely, 0), perhaps


def gains(children: Curves, where: Bounds, first: Int, reach: Floats | None = None) -> tuple[Floats, ...]:
    """[parent, level, resource]: `least`, `most`, `kept_least` and `kept_most` of the parents, inside their own bounds.

    Children are sorted by parent, `first` is the first of each. `reach` bounds the gain of a child that may have
    passed its last state, [child, level, resource].
    """
    rows = np.arange(len(children.places))[:, None]
    surely, perhaps = where
    last = np.minimum(perhaps, children.places.shape[1] - 1)
    beyond = (perhaps > last)[:, :, None]
    end, kept_end = children.end[:, None], children.kept_end[:, None]
    if reach is not None:
        end, kept_end = np.minimum(end, reach), np.minimum(kept_end, reach)
    columns = (
        children.least[rows, surely],
        np.where(beyond, end, children.most[rows, last]),
        children.kept_least[rows, surely],
        np.where(beyond, kept_end, children.kept_most[rows, last]),
    )
    return tuple(np.add.reduceat(column, first, axis=0) for column in columns)
