"""The storage component's metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fairlead.levels.disk.rebalance import Rebalance

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class Measures:
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.seconds = Histogram(
            "fairlead_storage_decide_seconds", "Seconds one look took.", buckets=BUCKETS, registry=self.registry
        )
        self.unscheduled = Gauge(
            "fairlead_storage_unscheduled_replicas",
            "Storage replicas that have no disk and get none.",
            registry=self.registry,
        )
        self.placeable = Gauge(
            "fairlead_storage_placeable_replicas",
            "Replicas without a disk for which there is one.",
            registry=self.registry,
        )
        self.in_flight = Gauge(
            "fairlead_storage_in_flight_replicas",
            "Replicas whose disk does not count them yet.",
            registry=self.registry,
        )
        self.errors = Gauge(
            "fairlead_storage_unusable_objects", "Values of objects that could not be used.", registry=self.registry
        )
        self.moves = Gauge("fairlead_storage_moves_advised", "Moves that are worth making now.", registry=self.registry)
        self.imbalance = Gauge(
            "fairlead_storage_imbalance",
            "Imbalance of the nodes, and of the disks of the worst node, now and after the moves advised.",
            ["stage", "when"],
            registry=self.registry,
        )
        self.writes = Counter("fairlead_storage_writes", "Replicas that were given a disk.", registry=self.registry)
        self.refusals = Counter(
            "fairlead_storage_refused_writes",
            "Placements that were not written: the Replica changed, its node changed, or another cause.",
            ["cause"],
            registry=self.registry,
        )
        self.leading = Gauge("fairlead_storage_leader", "1 while this instance leads.", registry=self.registry)

    def advised(self, advice: Rebalance) -> None:
        """The moves, and the imbalance around them."""
        self.moves.set(len(advice.moves))
        for when, scores in (("now", advice.before), ("after", advice.after)):
            for stage, score in zip(("nodes", "disks"), scores, strict=True):
                self.imbalance.labels(stage, when).set(float(score))
