"""From a decision to the server's word: volumes first, then the bind, then, without an answer, questions.

    decided ─► volumes there ─► bind ─┬─ answered ──► bound, or refused
                                      └─ unanswered ─► resolver ─► bound, refused, or sent again

What the watch tells in between ends all of it: by uid, and at once (`docs/decisions/0210`).
"""

from collections.abc import Callable, Mapping

from fairlead.kube.client import Client
from fairlead.live.cluster.cache import Cache, PodEvent
from fairlead.live.cluster.records import PodRecord
from fairlead.live.runtime.pulse import Pulse
from fairlead.live.runtime.reconcile_loop import Work
from fairlead.live.scheduler.binder import Binder, OnRefused
from fairlead.live.scheduler.metrics import SchedulerMetrics
from fairlead.live.scheduler.resolver import Resolver
from fairlead.live.scheduler.volume_binder import VolumeBinder

OnPod = Callable[[PodRecord, str], None]


class Delivery:
    """`on_ready` is told of pods whose volumes are there, `on_bound` and `on_refused` of what became of binds."""

    def __init__(
        self,
        client: Client,
        cache: Cache,
        measures: SchedulerMetrics,
        *,
        on_ready: OnPod,
        on_bound: OnPod,
        on_refused: OnRefused,
        leads: Callable[[], bool],
        pulse: Pulse,
        patience: float,
    ) -> None:
        self._cache = cache
        self.binder = Binder(
            client,
            on_refused,
            on_bound,
            measures.seconds.labels("bind").observe,
            leads,
            cache.cores.notes,
            cache.expects,
            lambda pod, node, times: self.resolver.ask(pod, node, times),
            pulse=pulse,
        )
        self.resolver = Resolver(client, cache.expects, self.binder.bind, on_bound, on_refused)
        self.volumes = VolumeBinder(
            client, cache.storage, cache.labels_of, on_ready, on_refused, pulse=pulse, patience=patience
        )
        measures.waiting.labels("unanswered").set_function(lambda: len(self.resolver))

    @property
    def work(self) -> list[Work]:
        """What has to run beside the rounds and the outbox of binds."""
        return [self.resolver.run, self.volumes.run]

    def begin(self, pod: PodRecord, node: str, volumes: Mapping[str, str]) -> None:
        """Bring the pod, which counts on the node already, to the node."""
        if volumes:
            self.volumes.begin(pod, node, volumes)
        else:
            self.binder.bind(pod, node)

    def on_pod(self, event: PodEvent) -> None:
        """The watch tells what became of a bind: nothing more is done for it.

        The answer to a bind that came true is still awaited, for its connection is of use.
        """
        if event.settled:
            self._stop(event.pod, bound=not event.deleted and bool(event.pod.node))

    def _stop(self, pod: PodRecord, *, bound: bool = False) -> None:
        self.resolver.cancel(pod.metadata.uid)
        self.volumes.give_up(pod)
        if not bound:
            self.binder.cancel(pod.metadata.uid)

    def node_gone(self, name: str) -> list[PodRecord]:
        """Nothing more is done to bring pods to a node that is gone; gives those pods."""
        found = [self._cache.pods[key] for key, node in self._cache.assumed.items() if node == name]
        for pod in found:
            self._stop(pod)
        return found
