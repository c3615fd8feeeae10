"""The storage component's metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fairlead.levels.disk.rebalance import Rebalance

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class StorageMetrics:
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "fairlead_storage_decide_seconds",
            "Seconds that one decision about all volumes took.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.unscheduled = Gauge(
            "fairlead_storage_unscheduled_replicas",
            "Storage replicas without a disk for which no disk fits.",
            registry=self.registry,
        )
        self.placeable = Gauge(
            "fairlead_storage_placeable_replicas",
            "Storage replicas without a disk for which a disk fits.",
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "fairlead_storage_in_flight_replicas",
            "Storage replicas placed on a disk whose status does not count them yet.",
            registry=self.registry,
        )
        self.errors = Gauge(
            "fairlead_storage_unusable_objects",
            "Fields of Longhorn objects that could not be read.",
            registry=self.registry,
        )
        self.moves = Gauge(
            "fairlead_storage_moves_advised",
            "Moves of storage replicas that would lower the imbalance.",
            registry=self.registry,
        )
        self.imbalance = Gauge(
            "fairlead_storage_imbalance",
            "Imbalance of the nodes, and of the disks of the worst node, now and after the advised moves.",
            ["stage", "when"],
            registry=self.registry,
        )
        self.writes = Counter(
            "fairlead_storage_writes", "Storage replicas to which a disk was written.", registry=self.registry
        )
        self.refusals = Counter(
            "fairlead_storage_refused_writes",
            "Placements not written because the Replica or its node had changed, or for another cause.",
            ["cause"],
            registry=self.registry,
        )
        self.leading = Gauge(
            "fairlead_storage_leader", "1 while this instance holds the lease.", registry=self.registry
        )

    def advised(self, advice: Rebalance) -> None:
        """The moves, and the imbalance around them."""
        self.moves.set(len(advice.moves))
        for when, scores in (("now", advice.before), ("after", advice.after)):
            for stage, score in zip(("nodes", "disks"), scores, strict=True):
                self.imbalance.labels(stage, when).set(float(score))
