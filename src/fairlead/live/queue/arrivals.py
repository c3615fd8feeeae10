"""When groups came to the gate. Groups that come together are weighed against each other (docs/decisions/0340)."""

from collections.abc import Collection

from fairlead.dataclass import dataclass
from fairlead.live.cluster.identity import JobKey

SETTLE, MOST_SETTLE = 0.5, 2.0
"""Seconds without a new group after which the burst is over, at least and at most: as many as it has lasted. No group
is let in before the least of them have passed."""
LONGEST = 10.0
"""Seconds after which a group waits for new groups no longer, however many come."""


@dataclass(frozen=True, slots=True)
class Burst:
    """`young` groups are not let in yet; `unsettled` ones, others are still coming, only within their queue's right.

    `recent` are those that came lately, let in or not: while others come, as many are expected again.
    """

    young: frozenset[JobKey] = frozenset()
    unsettled: frozenset[JobKey] = frozenset()
    recent: frozenset[JobKey] = frozenset()

    @property
    def over(self) -> bool:
        """Whether every group may be let in."""
        return not self.young and not self.unsettled and not self.recent


class Arrivals:
    """The moments at which groups were first seen at the gate, in seconds of any clock that never goes back."""

    def __init__(self) -> None:
        self._since: dict[JobKey, float] = {}
        self._came: dict[JobKey, float] = {}
        """Those that came within `LONGEST`, whether they still ask or not."""
        self._began = self._latest = float("-inf")

    def see(self, groups: Collection[JobKey], now: float) -> Burst:
        """Those that ask now, and what that means for each."""
        fresh = [group for group in groups if group not in self._since]
        if fresh:
            self._began = now if self._settled(now) else self._began
            self._latest = now
        self._since = {group: self._since.get(group, now) for group in groups}
        self._came |= dict.fromkeys(fresh, now)
        self._came = {group: at for group, at in self._came.items() if now - at < LONGEST}
        if self._settled(now):
            return Burst()
        waited = {group: now - since for group, since in self._since.items()}
        return Burst(
            young=frozenset(group for group, seconds in waited.items() if seconds < SETTLE),
            unsettled=frozenset(group for group, seconds in waited.items() if SETTLE <= seconds < LONGEST),
            recent=frozenset(self._came),
        )

    def _settled(self, now: float) -> bool:
        """Whether no group has come for so long that none is expected: a server that stalls is no end of a burst."""
        lasted = self._latest - self._began if self._latest > self._began else 0.0
        return now - self._latest >= min(max(SETTLE, lasted), MOST_SETTLE)
