"""Phase 1 of a cycle: what happens between cycles, and the groups that it wakes.

Watches tell of pods, nodes and everything else; the delivery tells what became of binds. Both only change the stores
and ask for a cycle where a waiting group may be helped.
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY

import structlog

from fairlead.dataclass import dataclass
from fairlead.kube.changes import Change
from fairlead.kube.errors import KubeError
from fairlead.kube.objects.node import Node
from fairlead.live.cluster.cache import About
from fairlead.live.cluster.identity import Wake
from fairlead.live.cluster.records import PodRecord, check_held
from fairlead.live.cluster.turn_types import LiveJob, Place
from fairlead.live.queue.starting import unstarted
from fairlead.live.scheduler.metrics import SchedulerMetrics
from fairlead.live.scheduler.stores import Stores

log = structlog.get_logger("scheduler")


@dataclass(slots=True, eq=False)
class Events:
    """Feeds the stores. `name` is that of the scheduler, `wake` asks for a cycle, `synced` tells of the first lists."""

    stores: Stores
    measures: SchedulerMetrics
    _: KW_ONLY
    name: str
    wake: Callable[[], None]
    synced: Callable[[], bool]
    monotonic: Callable[[], float]

    def on_pod(self, change: Change[PodRecord]) -> None:
        """A pod came, changed or went."""
        event, pod = self.stores.on_pod(change), change.object
        if event.deleted:
            self.stores.spans.pods.gone(pod.metadata.uid)
            return
        if pod.broken and pod.holds_room:
            check_held(pod)
        ours = pod.waits and not event.assumed and pod.scheduler == self.name
        if ours and self.stores.pending.changed(pod):
            self.stores.spans.pods.came(pod.metadata.uid)
            self.wake()

    def on_node(self, change: Change[Node]) -> None:
        """A node came, changed or went; binds to one that is gone are given up."""
        self.stores.cache.on_node(change)
        if change.kind == "deleted":
            for pod in self.stores.delivery.node_gone(change.object.metadata.name):
                self.refused(pod, "its node is gone")

    def happened(self, what: Wake, about: About = None) -> None:
        """Something happened that may help groups that wait: those are woken."""
        if what is Wake.VOLUME:
            self.stores.delivery.volumes.news()
        elif what is Wake.BUDGET:
            self.stores.jobs.rules_changed()
        elif what is Wake.QUEUE and self.synced():
            self.stores.gangs.check()
        if self.stores.pending.wake(what, about):
            self.wake()

    def ready(self, pod: PodRecord, node: str) -> None:
        """The volumes of the pod are there."""
        if not self.stores.assembly.ready(pod):
            self.stores.delivery.binder.bind(pod, node)

    def bound(self, pod: PodRecord, node: str) -> None:
        """The server took the bind."""
        self.measures.bound.inc()
        self.stores.spans.pods.written(pod.metadata.uid)
        self.stores.notifier.bound(pod, node)

    def refused(self, pod: PodRecord, why: KubeError | str) -> None:
        """The server did not take the bind: the pod waits again, a second at least, for the watch may know better."""
        stores = self.stores
        self.measures.failed.inc()
        stores.spans.pods.written(pod.metadata.uid, str(why))
        log.warning("not bound", pod="/".join(pod.key), why=why)
        if stores.delivery.binder.sends(pod) or not stores.forget(pod):
            return  # its bind is under way, or it is gone and its room with it
        stores.pending.rest(pod, self.monotonic())
        stores.assembly.failed(pod)
        self.happened(Wake.POD_LEFT)
        if pod.claims:
            # A volume that was kept for it may serve others.
            self.happened(Wake.VOLUME)
        self.wake()

    def given_back(self, job: LiveJob, places: Sequence[Place]) -> None:
        """Members of a gang that does not start: they wait again."""
        for pod, _ in places:
            self.stores.forget(pod)
            self.stores.spans.pods.written(pod.metadata.uid, "its gang does not start")
        for outcome in unstarted(job, [pod for pod, _ in places if self.stores.still_waits(pod)]):
            self.stores.parking.park(outcome)
        self.happened(Wake.POD_LEFT)
