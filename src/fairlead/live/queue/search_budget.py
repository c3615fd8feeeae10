"""Turns that stay short: how far each one searches for victims, and where the next goes on (docs/decisions/0247)."""

from collections.abc import Callable

TURN = 0.1
"""Seconds that a turn should take: watches and binds wait for it."""
FIRST, LEAST, MOST = 20_000, 1_000, 1_000_000
"""Candidates for the first turn, and for any; at least one kind of job is searched for in each."""


class SearchBudget:
    """Sizes the budget of each turn by the time of the last one. `generation` counts changes of the job cache."""

    def __init__(self, generation: Callable[[], int]) -> None:
        self.budget = FIRST
        """Candidates that the next turn may look at."""
        self.tried: frozenset[str] = frozenset()
        """Jobs that turns searched victims for already, see `Sharing.cursor`."""
        self._generation = generation
        self._began = generation()
        """The generation of the job cache when the search began."""

    def took_turn(self, cursor: frozenset[str], seconds: float, *, preempts: bool) -> bool:
        """Note what a turn left open; whether the search has to go on although nothing happened since.

        `preempts`: whether the turn searched for victims at all.
        """
        before, self.tried = self.tried, cursor
        if not preempts:
            return False
        if cursor or seconds > TURN:
            self._resize(seconds)
        changed = self._generation() != self._began
        if not before or not cursor:
            self._began = self._generation()
        # Jobs that were tried before a change may find victims after it.
        return bool(cursor) or (bool(before) and changed)

    def _resize(self, seconds: float) -> None:
        wanted = int(self.budget * min(2.0, max(0.25, TURN / max(seconds, 1e-6))))
        self.budget = min(MOST, max(LEAST, wanted))
