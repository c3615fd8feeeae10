"""Equal values kept as one object, for as long as they are in use."""

from collections.abc import Hashable
from typing import Generic, TypeVar

MOST = 16_384
"""Values remembered, up to twice as many: enough for the names and owners that a large cluster has at a time."""

T = TypeVar("T", bound=Hashable)


class Shared(Generic[T]):
    """Gives the first of equal values. What was not asked for lately is forgotten: a name that never comes again takes
    no memory for ever (`docs/decisions/0213`).
    """

    __slots__ = ("_before", "_most", "_now")

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._now: dict[T, T] = {}
        self._before: dict[T, T] = {}

    def __len__(self) -> int:
        return len(self._now) + len(self._before)

    def __call__(self, value: T) -> T:
        found = self._now.get(value)
        return self._remember(value) if found is None else found

    def _remember(self, value: T) -> T:
        """Values of the generation before are taken over; a full generation becomes the one before."""
        found = self._before.pop(value, value)
        if len(self._now) >= self._most:
            self._now, self._before = {}, self._now
        self._now[found] = found
        return found
