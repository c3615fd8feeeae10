"""What waits, and what would wake it: a group that found no node is looked at again only when something that could
help it has happened, and then not too often.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Key
from fairlead.levels.node.constraints import reasons
from fairlead.live.cluster.identity import Uid, Wake
from fairlead.live.cluster.pod_sets import PodSetKey, PodSetOutcome, pod_set_key
from fairlead.live.cluster.records import PodRecord
from fairlead.model.population import Resident
from fairlead.model.reasons import Cure, Reason
from fairlead.model.shape import Shape

WAKES: dict[Reason, frozenset[Wake]] = {
    reasons.UNSCHEDULABLE: frozenset({Wake.NODE}),
    reasons.NODE_NOT_SELECTED: frozenset({Wake.NODE}),
    reasons.TAINT_NOT_TOLERATED: frozenset({Wake.NODE}),
    reasons.NO_ROOM: frozenset({Wake.NODE, Wake.POD_LEFT}),
    reasons.CORES_TAKEN: frozenset({Wake.NODE, Wake.POD_LEFT}),
    reasons.PORT_TAKEN: frozenset({Wake.NODE, Wake.POD_LEFT}),
    reasons.DISK_TAKEN: frozenset({Wake.NODE, Wake.POD_LEFT}),
    reasons.TOO_NEAR: frozenset({Wake.NODE, Wake.POD_LEFT, Wake.NAMESPACE}),
    reasons.NOT_NEAR: frozenset({Wake.NODE, Wake.POD_BOUND, Wake.NAMESPACE}),
    reasons.TOO_UNEVEN: frozenset({Wake.NODE, Wake.POD_LEFT, Wake.POD_BOUND}),
    reasons.CLAIM_MISSING: frozenset({Wake.VOLUME}),
    reasons.CLAIM_UNBOUND: frozenset({Wake.VOLUME}),
    reasons.CLAIM_TAKEN: frozenset({Wake.POD_LEFT, Wake.VOLUME}),
    reasons.VOLUME_ELSEWHERE: frozenset({Wake.NODE, Wake.VOLUME}),
    reasons.NO_VOLUME: frozenset({Wake.NODE, Wake.VOLUME}),
    reasons.NO_STORAGE_ROOM: frozenset({Wake.NODE, Wake.VOLUME}),
    reasons.TOO_MANY_VOLUMES: frozenset({Wake.NODE, Wake.POD_LEFT, Wake.VOLUME}),
    reasons.FEATURE_MISSING: frozenset({Wake.NODE}),
}
STAGES: dict[Cure, frozenset[Wake]] = {
    Cure.ROOM: frozenset({Wake.NODE, Wake.POD_LEFT, Wake.QUEUE, Wake.BUDGET}),
    Cure.EVICTION: frozenset({Wake.NODE, Wake.POD_LEFT, Wake.QUEUE, Wake.BUDGET}),
    Cure.EDIT: frozenset({Wake.QUEUE}),
    Cure.NOTHING: frozenset(),
}
"""What wakes groups that the queue level refuses."""
REST = 1.0
"""Seconds before a pod whose bind was refused is decided anew."""
FIRST_WAIT, LONGEST_WAIT = 0.2, 10.0
"""Seconds before a woken group is tried again; doubled at each failure."""
MOST_KNOWN = 100_000
"""Answers remembered about which pods can help which shapes."""


@dataclass(slots=True)
class _Parked:
    members: frozenset[Uid]
    """Uids of the pods that found no node."""
    wakes: frozenset[Wake]
    claims: frozenset[Key]
    shape: Shape | None
    """Whose wishes tell which pods can help it; None where any may."""
    failures: int
    not_before: float
    defect: bool
    """Whether it could not be decided: then a change of its pods may help."""
    reason: Reason
    """The reason that is easiest to lift."""


class Pending:
    """Decides which of the waiting pods are worth a look now. Time is an argument."""

    def __init__(self) -> None:
        self._parked: dict[PodSetKey, _Parked] = {}
        self._asleep: dict[Wake, dict[PodSetKey, None]] = defaultdict(dict)
        """By what wakes them."""
        self._awake: set[PodSetKey] = set()
        self._waiting: dict[PodSetKey, set[Uid]] = {}
        """The pods of each group that waited at the last look."""
        self._wanted: dict[tuple[Shape, Resident], bool] = {}
        self._resting: dict[Uid, float] = {}
        """By uid, pods whose bind was refused, and until when they rest."""

    def park(self, outcome: PodSetOutcome, now: float, again: float | None = None) -> None:
        """The group did not find room for all: remember why. It is looked at again after `again` seconds, if given.

        Bare pods of a group that were not looked at this time stay parked with it.
        """
        group = outcome.group
        before = self._parked.get(group.key)
        others = self._others(outcome, before) if before else frozenset()
        failures = before.failures + 1 if before else 1
        wakes = frozenset({Wake.NODE}).union(*(WAKES[each.reason] for each in outcome.rejected))
        if outcome.finding is not None:
            wakes |= STAGES[outcome.finding.reason.cure]
        if outcome.defect is not None:
            wakes |= {Wake.VOLUME}
        if not outcome.rejected:
            # A node would take one by now: those placed later in the same turn changed what it says.
            wakes |= {Wake.POD_BOUND}
        if before and others:
            wakes |= before.wakes
        wait = min(FIRST_WAIT * 2 ** min(failures - 1, 10), LONGEST_WAIT)
        self._leave(group.key)
        self._parked[group.key] = _Parked(
            members=others.union(pod.metadata.uid for pod in outcome.waiting),
            wakes=wakes,
            claims=frozenset((pod.metadata.namespace, name) for pod in outcome.waiting for name, _ in pod.claims),
            shape=group.shape if outcome.rejected else None,
            failures=failures,
            not_before=now + (again or wait),
            defect=outcome.defect is not None,
            reason=easiest(outcome),
        )
        if again is not None:
            self._awake.add(group.key)
        else:
            for what in wakes:
                self._asleep[what][group.key] = None

    def settled(self, outcome: PodSetOutcome) -> None:
        """All pods of the group found a place. It may be of several that look the same to every selector."""
        for key in set(map(pod_set_key, outcome.group.pods)):
            self._leave(key)

    def wake(self, what: Wake, about: Key | Resident | None = None) -> bool:
        """Something happened; True where it concerns a parked group.

        `about` is the one claim that changed, or the pod that was bound as others see it; None concerns all groups.
        """
        sleepers = self._asleep.get(what)
        if not sleepers:
            return False
        woken = [key for key in sleepers if about is None or self._concerns(about, self._parked[key])]
        for key in woken:
            self._rouse(key)
        return bool(woken)

    def wake_all(self) -> None:
        """Look at every group again, each after its wait."""
        for key in self._parked:
            self._rouse(key)

    def changed(self, pod: PodRecord) -> bool:
        """The pod came or changed; True where that is a reason for a cycle.

        It is none while the pod stays in a group that is parked, unless that could not be decided: it is awake then.
        """
        key = pod_set_key(pod)
        parked = self._parked.get(key)
        if parked is None or pod.metadata.uid not in parked.members:
            return True
        if parked.defect:
            self._rouse(key)
        return parked.defect

    def _rouse(self, key: PodSetKey) -> None:
        for each in self._parked[key].wakes:
            self._asleep[each].pop(key, None)
        self._awake.add(key)

    def due(self, waiting: Iterable[PodRecord], now: float) -> list[PodRecord]:
        """The waiting pods to look at: new ones, and those of groups that are awake and have waited long enough."""
        chosen: list[PodRecord] = []
        seen: dict[PodSetKey, set[Uid]] = defaultdict(set)
        for pod in waiting:
            key = pod_set_key(pod)
            seen[key].add(pod.metadata.uid)
            parked = self._parked.get(key)
            if (
                parked is None
                or pod.metadata.uid not in parked.members
                or (key in self._awake and parked.not_before <= now)
            ):
                chosen.append(pod)
        for gone in self._parked.keys() - seen.keys():
            self._leave(gone)
        self._waiting = seen
        return chosen

    def rest(self, pod: PodRecord, now: float) -> None:
        """The pod's bind was refused: it is not looked at for a moment, for the watch may know better by then."""
        self._resting[pod.metadata.uid] = now + REST

    def rests(self, pod: PodRecord) -> bool:
        """Whether this very pod, not an earlier one of its name, was refused a moment ago."""
        return pod.metadata.uid in self._resting

    def rested(self, waiting: Iterable[PodRecord], now: float) -> list[PodRecord]:
        """The waiting pods that do not rest any more, or never did."""
        self._resting = {uid: until for uid, until in self._resting.items() if until > now}
        return [pod for pod in waiting if pod.metadata.uid not in self._resting]

    def gone(self, pod: PodRecord) -> None:
        """The pod is no more."""
        self._resting.pop(pod.metadata.uid, None)

    def next_rest(self) -> float | None:
        """When the next pod has rested; None where none rests."""
        return min(self._resting.values(), default=None)

    def next_due(self) -> float | None:
        """When the next awake group may be tried; None where no group is awake."""
        return min((self._parked[key].not_before for key in self._awake), default=None)

    @property
    def awake(self) -> int:
        """Pods of groups that will be tried again without anything more happening."""
        return sum(len(parked.members) for key in list(self._awake) if (parked := self._parked.get(key)))

    def why(self) -> dict[Reason, int]:
        """How many pods are parked, by the reason that is easiest to lift."""
        counts: Counter[Reason] = Counter()
        for parked in list(self._parked.values()):  # a copy: scrapes are made in a thread of their own
            counts[parked.reason] += len(parked.members)
        return dict(counts)

    def __len__(self) -> int:
        return sum(len(parked.members) for parked in list(self._parked.values()))

    def _others(self, outcome: PodSetOutcome, before: _Parked) -> frozenset[Uid]:
        """Members of the parked group that still wait and were not looked at: bare pods are jobs of their own."""
        there = before.members & self._waiting.get(outcome.group.key, set())
        return there.difference(pod.metadata.uid for pod in outcome.group.pods)

    def _leave(self, key: PodSetKey) -> None:
        parked = self._parked.pop(key, None)
        if parked is not None:
            self._awake.discard(key)
            for each in parked.wakes:
                self._asleep[each].pop(key, None)

    def _concerns(self, about: Key | Resident, parked: _Parked) -> bool:
        if not isinstance(about, Resident):
            return about in parked.claims
        if parked.shape is None:
            return True
        asked = parked.shape, about
        found = self._wanted.get(asked)
        if found is None:
            if len(self._wanted) > MOST_KNOWN:
                self._wanted.clear()
            found = self._wanted[asked] = _waits_for(*asked)
        return found


EASE = (Cure.ROOM, Cure.EVICTION, Cure.EDIT, Cure.NOTHING)
"""What may come by itself, what we may do, what only people can do."""


def easiest(outcome: PodSetOutcome) -> Reason:
    """Why the group waits, in one reason: the queue level's, else the one of the nodes' that is easiest to lift.

    Among equals it is the one of most nodes, then the first by code. Where no node gave one, room is missing.
    """
    if outcome.finding is not None:
        return outcome.finding.reason
    ranked = sorted(outcome.rejected, key=lambda each: (EASE.index(each.reason.cure), -each.count, each.reason.code))
    return ranked[0].reason if ranked else reasons.NO_ROOM


def _waits_for(shape: Shape, who: Resident) -> bool:
    """Whether a wish to be near, or an even spread, is about such a pod. Namespaces are not compared."""
    labels = dict(who.labels)
    selectors = [*(wish.selector for wish in shape.near), *(rule.selector for rule in shape.spread)]
    return any(each is not None and each.selects(labels) for each in selectors)
