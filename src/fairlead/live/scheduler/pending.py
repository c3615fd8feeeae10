"""What waits, and what would wake it: a group that found no node is looked at again only when something that could
help it has happened, and then not too often.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fairlead.levels.node.constraints import reasons
from fairlead.live.scheduler.decide import GroupKey, Outcome, group_key
from fairlead.live.scheduler.records import Key, PodRecord
from fairlead.model.reasons import Cure, Reason

NODE, POD, BOUND, EDIT, VOLUME, BUDGET, QUEUE = "node", "pod", "bound", "edit", "volume", "budget", "queue"
"""What can happen: a node came or changed, a pod left its node, a pod was bound, a namespace was edited, a claim, a
volume or what drivers say of nodes changed, a disruption budget or a priority class changed, a queue, a weight or a
PodGroup was edited."""

WAKES: dict[Reason, frozenset[str]] = {
    reasons.UNSCHEDULABLE: frozenset({NODE}),
    reasons.NODE_NOT_SELECTED: frozenset({NODE}),
    reasons.TAINT_NOT_TOLERATED: frozenset({NODE}),
    reasons.NO_ROOM: frozenset({NODE, POD}),
    reasons.CORES_TAKEN: frozenset({NODE, POD}),
    reasons.PORT_TAKEN: frozenset({NODE, POD}),
    reasons.TOO_NEAR: frozenset({NODE, POD, EDIT}),
    reasons.NOT_NEAR: frozenset({NODE, BOUND, EDIT}),
    reasons.TOO_UNEVEN: frozenset({NODE, POD, BOUND}),
    reasons.CLAIM_MISSING: frozenset({VOLUME}),
    reasons.CLAIM_UNBOUND: frozenset({VOLUME}),
    reasons.CLAIM_TAKEN: frozenset({POD, VOLUME}),
    reasons.VOLUME_ELSEWHERE: frozenset({NODE, VOLUME}),
    reasons.NO_VOLUME: frozenset({NODE, VOLUME}),
    reasons.NO_STORAGE_ROOM: frozenset({NODE, VOLUME}),
    reasons.TOO_MANY_VOLUMES: frozenset({NODE, POD, VOLUME}),
}
STAGES: dict[Cure, frozenset[str]] = {
    Cure.ROOM: frozenset({NODE, POD, QUEUE, BUDGET}),
    Cure.EVICTION: frozenset({NODE, POD, QUEUE, BUDGET}),
    Cure.EDIT: frozenset({QUEUE}),
    Cure.NOTHING: frozenset(),
}
"""What wakes those whom the queue level stops."""
FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0
"""Seconds before a woken group is tried again; doubled at each failure."""


@dataclass(slots=True)
class _Parked:
    members: frozenset[Key]
    wakes: frozenset[str]
    failures: int
    not_before: float
    awake: bool = False


class Pending:
    """Decides which of the waiting pods are worth a look now. Time is an argument."""

    def __init__(self) -> None:
        self._parked: dict[GroupKey, _Parked] = {}

    def park(self, outcome: Outcome, now: float, again: float | None = None) -> None:
        """The group did not find room for all: remember why. It is looked at again after `again` seconds, if given."""
        key = outcome.group.key
        before = self._parked.get(key)
        failures = before.failures + 1 if before else 1
        wakes = frozenset({NODE}).union(*(WAKES[each.reason] for each in outcome.rejected))
        if outcome.finding is not None:
            wakes |= STAGES[outcome.finding.reason.cure]
        if not outcome.rejected:
            # A node would take one by now: those placed later in the same turn changed what it says.
            wakes |= {BOUND}
        wait = min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT)
        members = frozenset(pod.key for pod in outcome.waiting)
        self._parked[key] = _Parked(members, wakes, failures, now + (again or wait), awake=again is not None)

    def settled(self, outcome: Outcome) -> None:
        """All pods of the group found a place."""
        self._parked.pop(outcome.group.key, None)

    def wake(self, what: str) -> bool:
        """Something happened; True where it concerns a parked group."""
        woken = False
        for parked in self._parked.values():
            if what in parked.wakes and not parked.awake:
                parked.awake = woken = True
        return woken

    def due(self, waiting: Iterable[PodRecord], now: float) -> list[PodRecord]:
        """The waiting pods to look at: new ones, and those of groups that are awake and have waited long enough."""
        chosen: list[PodRecord] = []
        seen: set[GroupKey] = set()
        for pod in waiting:
            key = group_key(pod)
            seen.add(key)
            parked = self._parked.get(key)
            if parked is None or pod.key not in parked.members or (parked.awake and parked.not_before <= now):
                chosen.append(pod)
        for gone in self._parked.keys() - seen:
            del self._parked[gone]
        return chosen

    def next_due(self) -> float | None:
        """When the next awake group may be tried; None where nobody is awake."""
        return min((parked.not_before for parked in self._parked.values() if parked.awake), default=None)

    def __len__(self) -> int:
        return sum(len(parked.members) for parked in self._parked.values())
