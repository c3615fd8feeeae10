"""Owners that announce a group: their pods wait until the group is named on them (docs/decisions/0282).

Volcano's podgroup controller makes the PodGroup of a ReplicaSet or StatefulSet after its first pod and names it on the
pods some moments later. Bound before that, they would be single pods and half a gang.
"""

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change
from fairlead.kube.objects.workloads import Announcer
from fairlead.kube.resources import POD_GROUPS, REPLICA_SETS, STATEFUL_SETS, Resource
from fairlead.levels.queue import reasons
from fairlead.live.cluster.records import PodRecord
from fairlead.model.reasons import Finding, because
from fairlead.model.selectors import integer

MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
"""Annotation of an owner, or of its template: so many of its pods start together."""
QUIET = 5.0
"""Seconds for which a pod waits for its group before it is told."""
UNSEEN = 1.0
"""Seconds for which a pod waits for the watch to show its owner."""
KINDS: dict[str, Resource[Any]] = {REPLICA_SETS.kind: REPLICA_SETS, STATEFUL_SETS.kind: STATEFUL_SETS}


@dataclass(slots=True, eq=False, kw_only=True)
class Announcements:
    """By owner how many of its pods start together. `served` tells which kinds the server has, `synced` whether owners
    are known; `on_change` is called when an owner that pods wait for came or changed. `clock` never goes back."""

    served: Callable[[Resource[Any]], bool]
    synced: Callable[[], bool]
    on_change: Callable[[], None]
    clock: Callable[[], float]
    _owners: dict[str, int] = field(default_factory=dict, init=False)
    """By uid the announced minimum, 0 for none."""
    _since: dict[str, tuple[str, float]] = field(default_factory=dict, init=False)
    """By uid of a pod that waits for its group: its owner, and when it was first seen to."""

    def watched(self) -> Iterator[tuple[Resource[Any], Callable[[Change[Announcer]], None]]]:
        """The kinds to follow, with their sink."""
        for resource in KINDS.values():
            yield resource.of(Announcer), self._on_owner

    def awaits(self, pod: PodRecord) -> bool:
        """Whether the pod has to wait for a group that its owner announces, or for its owner to be known."""
        fields, owner = pod.queue_fields, pod.owner
        if fields.group or fields.native or owner is None or owner.kind not in KINDS or not self.served(POD_GROUPS):
            self.forget(pod.metadata.uid)
            return False
        known = self._owners.get(owner.uid)
        if known is None:
            # The wait is remembered after its end: a pod waits once for an owner that is never seen.
            _, since = self._since.setdefault(pod.metadata.uid, (owner.uid, self.clock()))
            return self.synced() and self.clock() - since < UNSEEN
        if known <= 1:
            self.forget(pod.metadata.uid)
        return known > 1

    def why(self, pod: PodRecord) -> Finding:
        """What such a pod waits for."""
        owner = pod.owner
        assert owner is not None  # it awaits what its owner announces
        return because(
            reasons.GROUP_AWAITED, kind=owner.kind, owner=owner.name, count=self._owners.get(owner.uid, 0) or 1
        )

    def why_late(self, pod: PodRecord) -> Finding | None:
        """Why a pod still waits for its group; None within the time in which it may well come."""
        _, since = self._since.setdefault(pod.metadata.uid, (pod.owner.uid if pod.owner else "", self.clock()))
        return self.why(pod) if self.clock() - since >= QUIET else None

    def forget(self, uid: str) -> None:
        """The pod waits for no group any more."""
        self._since.pop(uid, None)

    def next_due(self) -> float | None:
        """When the next pod that waits should be looked at although nothing happened."""
        now = self.clock()
        times = (since + (QUIET if owner in self._owners else UNSEEN) for owner, since in self._since.values())
        return min((time for time in times if time > now), default=None)

    def _on_owner(self, change: Change[Announcer]) -> None:
        found = change.object
        uid, before = found.metadata.uid, self._owners.get(found.metadata.uid)
        if change.kind == "deleted":
            self._owners.pop(uid, None)
            return
        self._owners[uid] = minimum(found)
        if before != self._owners[uid] and any(owner == uid for owner, _ in self._since.values()):
            self.on_change()


def minimum(owner: Announcer) -> int:
    """How many pods of the owner start together by its annotations or those of its template; 0 for none."""
    for annotations in (owner.metadata.annotations, owner.spec.template.metadata.annotations):
        number = integer(annotations.get(MIN_MEMBER, ""))
        if number is not None and number > 0:
            return number
    return 0
