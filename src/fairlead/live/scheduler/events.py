"""Phase 1 of a cycle: what happens between cycles, and the groups that it wakes.

Watches tell of pods, nodes and everything else; the delivery tells what became of binds. Both only change the stores
and ask for a cycle where a waiting group may be helped.
"""

from collections.abc import Callable, Sequence

import structlog

from fairlead.kube.changes import Change
from fairlead.kube.objects.node import Node
from fairlead.live.cluster.cache import About
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.records import PodRecord, check_held, reference
from fairlead.live.cluster.turn_types import LiveJob, Place
from fairlead.live.queue.starting import unstarted
from fairlead.live.runtime.aside import DECIDING
from fairlead.live.scheduler.metrics import SchedulerMetrics
from fairlead.live.scheduler.stores import Stores

log = structlog.get_logger("scheduler")


class Events:
    """Feeds the stores. `name` is that of the scheduler, `wake` asks for a cycle, `synced` tells of the first lists."""

    def __init__(
        self,
        stores: Stores,
        measures: SchedulerMetrics,
        *,
        name: str,
        wake: Callable[[], None],
        synced: Callable[[], bool],
        monotonic: Callable[[], float],
    ) -> None:
        self._stores = stores
        self._measures = measures
        self._name = name
        self._wake = wake
        self._synced = synced
        self._now = monotonic

    def on_pod(self, change: Change[PodRecord]) -> None:
        """A pod came, changed or went."""
        event, pod = self._stores.on_pod(change), change.object
        if event.deleted:
            self._stores.aside.tell(reference(pod), None, DECIDING)
            self._stores.spans.pods.gone(pod.metadata.uid)
            return
        if pod.broken and pod.holds_room:
            check_held(pod)
        ours = pod.waits and not event.assumed and pod.scheduler == self._name
        if ours and self._stores.pending.changed(pod):
            self._stores.spans.pods.came(pod.metadata.uid)
            self._wake()

    def on_node(self, change: Change[Node]) -> None:
        """A node came, changed or went; binds to one that is gone are given up."""
        self._stores.cache.on_node(change)
        if change.kind == "deleted":
            for pod in self._stores.delivery.node_gone(change.object.metadata.name):
                self.refused(pod, "its node is gone")

    def happened(self, what: Wake, about: About = None) -> None:
        """Something happened that may help groups that wait: those are woken."""
        if what is Wake.VOLUME:
            self._stores.delivery.volumes.news()
        elif what is Wake.BUDGET:
            self._stores.jobs.rules_changed()
        elif what is Wake.QUEUE and self._synced():
            self._stores.gangs.check()
        if self._stores.pending.wake(what, about):
            self._wake()

    def ready(self, pod: PodRecord, node: str) -> None:
        """The volumes of the pod are there."""
        if not self._stores.assembly.ready(pod):
            self._stores.delivery.binder.bind(pod, node)

    def bound(self, pod: PodRecord, node: str) -> None:
        """The server took the bind."""
        self._measures.bound.inc()
        self._stores.spans.pods.written(pod.metadata.uid)
        self._stores.notifier.bound(pod, node)

    def refused(self, pod: PodRecord, why: str) -> None:
        """The server did not take the bind: the pod waits again, a second at least, for the watch may know better."""
        stores = self._stores
        self._measures.failed.inc()
        stores.spans.pods.written(pod.metadata.uid, why)
        log.warning("not bound", pod="/".join(pod.key), why=why)
        if stores.delivery.binder.sends(pod) or not stores.forget(pod):
            return  # its bind is under way, or it is gone and its room with it
        stores.pending.rest(pod, self._now())
        stores.assembly.failed(pod)
        self.happened(Wake.POD_LEFT)
        if pod.claims:
            # A volume that was kept for it may serve others.
            self.happened(Wake.VOLUME)
        self._wake()

    def given_back(self, job: LiveJob, places: Sequence[Place]) -> None:
        """Members of a gang that does not start: they wait again."""
        for pod, _ in places:
            self._stores.forget(pod)
            self._stores.spans.pods.written(pod.metadata.uid, "its gang does not start")
        for outcome in unstarted(job, [pod for pod, _ in places if self._stores.still_waits(pod)]):
            self._stores.parking.park(outcome)
        self.happened(Wake.POD_LEFT)
