"""What a scheduler keeps between cycles, and the one way in which a change of a pod reaches all of it."""

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change
from fairlead.live.cluster.cache import Cache, PodEvent
from fairlead.live.cluster.records import PodRecord
from fairlead.live.queue.gangs import Gangs
from fairlead.live.queue.job_cache import JobCache
from fairlead.live.queue.promises import Promises
from fairlead.live.queue.starting import Assembly
from fairlead.live.runtime.aside import Aside
from fairlead.live.scheduler.delivery import Delivery
from fairlead.live.scheduler.notifier import PodNotifier
from fairlead.live.scheduler.parking import Parking
from fairlead.live.scheduler.pending import Pending
from fairlead.live.scheduler.spans import Spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Stores:
    """The parts of one scheduler. Each is the only one that writes its own state."""

    cache: Cache
    """Nodes, pods, volumes and cores, with what was placed a moment ago."""
    jobs: JobCache
    """The same pods as jobs, with queues, weights and PodGroups."""
    promises: Promises
    """Room that is kept for jobs, and the policy of the next turn."""
    pending: Pending
    """Groups without a node, and the events that wake them."""
    parking: Parking
    """Why each pod waits."""
    delivery: Delivery
    """Volumes and binds under way."""
    assembly: Assembly
    """Gangs whose members wait for one another's volumes."""
    gangs: Gangs
    """Gangs that are recorded and not yet bound to the last pod."""
    notifier: PodNotifier
    aside: Aside
    spans: Spans

    def on_pod(self, change: Change[PodRecord]) -> PodEvent:
        """A pod came, changed or went: first the cache, then everything else that knows pods."""
        event = self.cache.on_pod(change)
        for store in (self.delivery, self.jobs, self.parking, self.assembly, self.gangs):
            store.on_pod(event)
        return event

    def forget(self, pod: PodRecord) -> bool:
        """The pod does not go where it was placed; False where it is gone."""
        known = self.cache.forget(pod)
        if known:
            self.jobs.see(self.cache.pods[pod.key], "")
        return known

    def still_waits(self, pod: PodRecord) -> bool:
        """Whether this very pod is there, has no node, and was not refused a moment ago."""
        return self.cache.still_waiting(pod) is not None and not self.pending.rests(pod)
