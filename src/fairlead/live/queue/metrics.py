"""The metrics of sharing: what queues deserve, use and lack, and what was evicted."""

from prometheus_client import CollectorRegistry

from fairlead.levels.queue.result import Sharing
from fairlead.live.runtime.measures import Measures
from fairlead.model.amounts import CPU

MOST = 200
"""Queues, and namespaces in queues, that have series of their own; the farthest from their fair share come first."""


class QueueMetrics(Measures):
    """Few labels, and a bounded number of series."""

    def __init__(self, registry: CollectorRegistry) -> None:
        super().__init__(registry)
        self.evicted = self.counter("fairlead_evicted_pods", "Pods evicted, by action.", "action")
        self.refused = self.counter(
            "fairlead_refused_evictions", "Evictions that were decided and not carried out, by cause.", "why"
        )
        self.skipped = self.counter(
            "fairlead_skipped_preemptions", "Preemptions not carried out because they would not improve the allocation."
        )
        self.held = self.gauge("fairlead_held_pods", "Waiting pods for which room is kept on a node.")
        amounts = ("queue", "resource")
        self.deserved = self.gauge("fairlead_queue_deserved", "Amount that fair sharing grants to the queue.", *amounts)
        self.used = self.gauge("fairlead_queue_used", "Amount that pods of the queue use.", *amounts)
        self.asked = self.gauge(
            "fairlead_queue_asked", "Amount that pods of the queue request, running and waiting.", *amounts
        )
        self.distance = self.gauge(
            "fairlead_queue_distance",
            "Largest difference of the queue from its exact fair share, as a fraction of the cluster.",
            "queue",
        )
        self.namespace_distance = self.gauge(
            "fairlead_namespace_distance",
            "Largest difference of the namespace from its exact fair share in the queue, as a fraction of the cluster.",
            "queue",
            "namespace",
        )

    def clear(self) -> None:
        """Tell of no queues, and of no room that is kept."""
        self.held.set(0)
        self._clear_queues()

    def show(self, sharing: Sharing) -> None:
        """Bring the gauges up to date; queues and namespaces that are no more lose their series."""
        self._clear_queues()
        for queue in sorted(sharing.queues, key=lambda row: (-row.distance, row.name))[:MOST]:
            self.distance.labels(queue.name).set(float(queue.distance))
            for resource, amount in queue.deserved.items():
                self.deserved.labels(queue.name, resource).set(_whole(resource, amount))
                self.used.labels(queue.name, resource).set(_whole(resource, queue.allocated[resource]))
                self.asked.labels(queue.name, resource).set(_whole(resource, queue.requested[resource]))
        for row in sorted(sharing.namespaces, key=lambda row: (-row.distance, row.queue, row.namespace))[:MOST]:
            self.namespace_distance.labels(row.queue, row.namespace).set(float(row.distance))

    def _clear_queues(self) -> None:
        for gauge in (self.deserved, self.used, self.asked, self.distance, self.namespace_distance):
            gauge.clear()


def _whole(resource: str, amount: int) -> float:
    """Cores for cpu, the amount as it is for everything else."""
    return amount / 1000 if resource == CPU else float(amount)
