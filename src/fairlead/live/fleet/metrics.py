"""The fleet scheduler's metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class FleetMetrics:
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.decisions = Counter(
            "fairlead_fleet_decisions", "Bindings decided, by reason.", ["reason"], registry=self.registry
        )
        self.defects = Counter(
            "fairlead_fleet_defects", "Bindings set aside because deciding them failed.", registry=self.registry
        )
        self.seconds = Histogram(
            "fairlead_fleet_decide_seconds",
            "Seconds that deciding one batch of bindings took.",
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.writes = Counter("fairlead_fleet_writes", "Writes stored, by part.", ["part"], registry=self.registry)
        self.refusals = Counter(
            "fairlead_fleet_refused_writes",
            "Writes that the API server refused, by cause.",
            ["cause"],
            registry=self.registry,
        )
        self.bindings = Gauge("fairlead_fleet_bindings", "Bindings that name this scheduler.", registry=self.registry)
        self.waiting = Gauge(
            "fairlead_fleet_waiting_bindings", "Bindings with replicas that are not placed.", registry=self.registry
        )
        self.leading = Gauge("fairlead_fleet_leader", "1 while this instance holds the lease.", registry=self.registry)
