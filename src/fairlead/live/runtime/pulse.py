"""Liveness follows progress: every long-running task says until when it will have moved on, and is stuck after that.

See docs/decisions/0206.
"""

from collections.abc import Callable

ROUND_SECONDS = 120.0
"""A loop that takes longer for one round is stuck."""
CALL_SECONDS = 600.0
"""One piece of work that asks the server, retries and all, is stuck after so long."""
IDLE_SECONDS = 15.0
"""A loop that has nothing to do says so this often."""


class UnderWay:
    """One piece of work, due while it is inside. Not a generator: every bind is such a piece."""

    __slots__ = ("_all", "_due")

    def __init__(self, everything: dict[object, tuple[str, float]], name: str, until: float) -> None:
        self._all = everything
        self._due = name, until

    def __enter__(self) -> None:
        self._all[self] = self._due

    def __exit__(self, *error: object) -> None:
        del self._all[self]


class Pulse:
    """The moments by which tasks promised to have moved on. `clock` never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: dict[object, tuple[str, float]] = {}

    def beat(self, name: str, within: float = ROUND_SECONDS) -> None:
        """The loop of this name goes on, and will say so again within so many seconds."""
        self._due[name] = name, self._clock() + within

    def under_way(self, name: str, within: float = CALL_SECONDS) -> UnderWay:
        """What happens inside ends within so many seconds."""
        return UnderWay(self._due, name, self._clock() + within)

    def stuck(self) -> list[str]:
        """The names of what has not moved on in time; empty where all is well."""
        now = self._clock()
        return sorted({name for name, due in self._due.values() if due < now})
