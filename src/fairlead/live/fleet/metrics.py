"""The fleet scheduler's metrics."""

from fairlead.live.runtime.measures import Measures

BUCKETS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0)


class FleetMetrics(Measures):
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions = self.counter("fairlead_fleet_decisions", "Bindings decided, by reason.", "reason")
        self.defects = self.counter("fairlead_fleet_defects", "Bindings set aside because deciding them failed.")
        self.seconds = self.histogram(
            "fairlead_fleet_decide_seconds", "Seconds that deciding one batch of bindings took.", buckets=BUCKETS
        )
        self.writes = self.counter("fairlead_fleet_writes", "Writes stored, by part.", "part")
        self.refusals = self.counter(
            "fairlead_fleet_refused_writes", "Writes that the API server refused, by cause.", "cause"
        )
        self.bindings = self.gauge("fairlead_fleet_bindings", "Bindings that name this scheduler.")
        self.waiting = self.gauge("fairlead_fleet_waiting_bindings", "Bindings with replicas that are not placed.")
        self.leading = self.gauge("fairlead_fleet_leader", "1 while this instance holds the lease.")
