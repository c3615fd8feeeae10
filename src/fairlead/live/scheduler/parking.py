"""Pods without a node: parked until an event may help them, with the reason kept for `/explain` and told to users."""

from collections.abc import Callable
from dataclasses import KW_ONLY, field

from fairlead.dataclass import dataclass
from fairlead.live.cluster.cache import Cache, PodEvent
from fairlead.live.cluster.identity import Uid
from fairlead.live.cluster.pod_sets import PodSetOutcome
from fairlead.live.cluster.records import PodRecord
from fairlead.live.queue.gangs import GATHERING, gathers
from fairlead.live.scheduler.messages import message
from fairlead.live.scheduler.notifier import PodNotifier
from fairlead.live.scheduler.pending import Pending


@dataclass(slots=True, eq=False)
class Parking:
    """Why each pod waits. In `shadow` nothing is written on pods."""

    cache: Cache
    pending: Pending
    notifier: PodNotifier
    _: KW_ONLY
    shadow: bool
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    reasons: dict[Uid, PodSetOutcome] = field(default_factory=dict, init=False)
    """By uid of the pod, the outcome that left it without a node."""

    def park(self, outcome: PodSetOutcome) -> None:
        """Park the group, and tell its waiting pods why; a gang whose pods may still be coming is tried again soon."""
        now = self.monotonic()
        if gathers(outcome.finding, outcome.waiting, self.wall()):
            self.pending.park(outcome, now, again=GATHERING)
            return
        self.pending.park(outcome, now)
        why = message(outcome)
        for pod in outcome.waiting:
            if pod.key in self.cache.waiting:
                self.reasons[pod.metadata.uid] = outcome
                self.tell(pod, why)

    def tell(self, pod: PodRecord, why: str) -> None:
        """Write on the pod why it waits."""
        if not self.shadow:
            self.notifier.waits(pod, why)

    def drop(self, uid: Uid) -> None:
        """The pod waits no more."""
        self.reasons.pop(uid, None)
        self.notifier.gone(uid)

    def on_pod(self, event: PodEvent) -> None:
        """A pod came, changed or went."""
        if event.deleted:
            self.pending.gone(event.pod)
            self.drop(event.pod.metadata.uid)
