"""The storage component's metrics."""

from fairlead.levels.disk.rebalance import Rebalance
from fairlead.live.runtime.measures import Measures

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class StorageMetrics(Measures):
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = self.histogram(
            "fairlead_storage_decide_seconds", "Seconds that one decision about all volumes took.", buckets=BUCKETS
        )
        self.unscheduled = self.gauge(
            "fairlead_storage_unscheduled_replicas", "Storage replicas without a disk for which no disk fits."
        )
        self.placeable = self.gauge(
            "fairlead_storage_placeable_replicas", "Storage replicas without a disk for which a disk fits."
        )
        self.in_flight = self.gauge(
            "fairlead_storage_in_flight_replicas",
            "Storage replicas placed on a disk whose status does not count them yet.",
        )
        self.errors = self.gauge(
            "fairlead_storage_unusable_objects", "Fields of Longhorn objects that could not be read."
        )
        self.moves = self.gauge(
            "fairlead_storage_moves_advised", "Moves of storage replicas that would lower the imbalance."
        )
        self.imbalance = self.gauge(
            "fairlead_storage_imbalance",
            "Imbalance of the nodes, and of the disks of the worst node, now and after the advised moves.",
            "stage",
            "when",
        )
        self.writes = self.counter("fairlead_storage_writes", "Storage replicas to which a disk was written.")
        self.refusals = self.counter(
            "fairlead_storage_refused_writes",
            "Placements not written because the Replica or its node had changed, or for another cause.",
            "cause",
        )
        self.leading = self.gauge("fairlead_storage_leader", "1 while this instance holds the lease.")

    def advised(self, advice: Rebalance) -> None:
        """The moves, and the imbalance around them."""
        self.moves.set(len(advice.moves))
        for when, scores in (("now", advice.before), ("after", advice.after)):
            for stage, score in zip(("nodes", "disks"), scores, strict=True):
                self.imbalance.labels(stage, when).set(float(score))
