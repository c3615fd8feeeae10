"""When groups came to the gate. Groups that come together are weighed against each other (docs/decisions/0340)."""

from collections.abc import Collection
from dataclasses import dataclass

from fairlead.live.cluster.identity import JobKey

SETTLE = 0.5
"""Seconds without a new group after which the burst is over; no group is let in sooner."""
LONGEST = 10.0
"""Seconds after which a group waits for new groups no longer, however many come."""


@dataclass(frozen=True, slots=True)
class Burst:
    """`young` groups are not let in yet; `unsettled` ones, others are still coming, only within their queue's right."""

    young: frozenset[JobKey] = frozenset()
    unsettled: frozenset[JobKey] = frozenset()

    @property
    def over(self) -> bool:
        """Whether every group may be let in."""
        return not self.young and not self.unsettled


class Arrivals:
    """The moments at which groups were first seen at the gate, in seconds of any clock that never goes back."""

    def __init__(self) -> None:
        self._since: dict[JobKey, float] = {}
        self._latest = float("-inf")

    def see(self, groups: Collection[JobKey], now: float) -> Burst:
        """Those that are there now, and what that means for each; groups that are gone are forgotten."""
        if any(group not in self._since for group in groups):
            self._latest = now
        self._since = {group: self._since.get(group, now) for group in groups}
        if now - self._latest >= SETTLE:
            return Burst()
        waited = {group: now - since for group, since in self._since.items()}
        return Burst(
            young=frozenset(group for group, seconds in waited.items() if seconds < SETTLE),
            unsettled=frozenset(group for group, seconds in waited.items() if SETTLE <= seconds < LONGEST),
        )
