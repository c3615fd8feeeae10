"""Equal values kept as one object, for as long as they are in use."""

from collections.abc import Hashable
from typing import TypeVar

MOST = 16_384
"""Values remembered, up to twice as many: enough for the names and owners that a large cluster has at a time."""

T = TypeVar("T", bound=Hashable)


class Shared(dict[T, T]):
    """`shared[value]` gives the first of equal values. What was not asked for lately is forgotten: a name that never
    comes again takes no memory for ever (`docs/decisions/0213`).

    A dictionary, so that a value that is known costs one look.
    """

    def __init__(self, most: int = MOST) -> None:
        super().__init__()
        self._most = most
        self._before: dict[T, T] = {}

    def __missing__(self, value: T) -> T:
        """Values of the generation before are taken over; a full generation becomes the one before."""
        found = self._before.pop(value, value)
        if len(self) >= self._most:
            self._before = dict(self)
            self.clear()
        self[found] = found
        return found
