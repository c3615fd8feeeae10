"""The scheduler's metrics."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fairlead.live.cluster.identity import PodKey
from fairlead.live.scheduler.pending import Pending

STAGES = ("decide", "bind")


BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class SchedulerMetrics:
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.cycles = Counter("fairlead_cycles", "Scheduling cycles completed.", registry=self.registry)
        self.seconds = Histogram(
            "fairlead_stage_seconds",
            "Seconds that a stage of a cycle took.",
            ["stage"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.waiting = Gauge(
            "fairlead_pending_pods",
            "Pods without a confirmed node, by state (parked, awake, binding).",
            ["state"],
            registry=self.registry,
        )
        self.bound = Counter("fairlead_bound_pods", "Pods bound to a node.", registry=self.registry)
        self.failed = Counter("fairlead_failed_binds", "Binds that the API server refused.", registry=self.registry)
        self.leading = Gauge("fairlead_leader", "1 while this instance holds the lease.", registry=self.registry)
        self.checks = Counter(
            "fairlead_self_checks", "Comparisons of the cache with a fresh list.", registry=self.registry
        )
        self.differences = Gauge(
            "fairlead_cache_differences",
            "Differences between the cache and a fresh list, at the last comparison.",
            registry=self.registry,
        )

    def follow(self, leads: Callable[[], bool], pending: Pending, assumed: Mapping[PodKey, str]) -> None:
        """Show whether it leads, and how many pods wait and why, at every scrape."""
        self.leading.set_function(lambda: float(leads()))
        self.waiting.labels("parked").set_function(lambda: len(pending))
        self.waiting.labels("awake").set_function(lambda: pending.awake)
        self.waiting.labels("binding").set_function(lambda: len(assumed))
        self.registry.register(WaitingCollector(pending))


class WaitingCollector(Collector):
    """Pods that found no node, by reason and by what could lift it."""

    def __init__(self, pending: Pending) -> None:
        self._pending = pending

    def collect(self) -> Iterator[Metric]:
        """For prometheus_client."""
        found = GaugeMetricFamily(
            "fairlead_waiting_pods",
            "Pods that found no node, by the reason that is easiest to lift and its cure.",
            labels=["reason", "cure"],
        )
        for reason, number in self._pending.why().items():
            found.add_metric([reason.code, reason.cure], number)
        yield found
