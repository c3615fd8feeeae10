"""The scheduler's metrics."""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fairlead.live.cluster.identity import PodKey
from fairlead.live.runtime.measures import Measures
from fairlead.live.scheduler.pending import Pending


class SchedulerMetrics(Measures):
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        super().__init__()
        self.cycles = self.counter("fairlead_cycles", "Scheduling cycles completed.")
        self.seconds = self.histogram("fairlead_stage_seconds", "Seconds that a stage of a cycle took.", "stage")
        self.waiting = self.gauge(
            "fairlead_pending_pods",
            "Pods without a confirmed node, by state (parked, awake, binding, unanswered).",
            "state",
        )
        self.bound = self.counter("fairlead_bound_pods", "Pods bound to a node.")
        self.failed = self.counter("fairlead_failed_binds", "Binds that the API server refused.")
        self.leading = self.gauge("fairlead_leader", "1 while this instance holds the lease.")
        self.checks = self.counter("fairlead_self_checks", "Comparisons of the cache with a fresh list.")
        self.differences = self.gauge(
            "fairlead_cache_differences", "Differences between the cache and a fresh list, at the last comparison."
        )

    def follow(self, leads: Callable[[], bool], pending: Pending, assumed: Mapping[PodKey, str]) -> None:
        """Show whether it leads, and how many pods wait and why, at every scrape.

        What waited when the lease was lost is old soon: only the instance that leads looks at it again.
        """
        self.leading.set_function(lambda: float(leads()))
        self.waiting.labels("parked").set_function(lambda: len(pending) if leads() else 0)
        self.waiting.labels("awake").set_function(lambda: pending.awake if leads() else 0)
        self.waiting.labels("binding").set_function(lambda: len(assumed))
        self.registry.register(WaitingCollector(leads, pending))


class WaitingCollector(Collector):
    """Pods that found no node, by reason and by what could lift it; none where another instance leads."""

    def __init__(self, leads: Callable[[], bool], pending: Pending) -> None:
        self._leads = leads
        self._pending = pending

    def collect(self) -> Iterator[Metric]:
        """For prometheus_client."""
        found = GaugeMetricFamily(
            "fairlead_waiting_pods",
            "Pods that found no node, by the reason that is easiest to lift and its cure.",
            labels=["reason", "cure"],
        )
        for reason, number in self._pending.why().items() if self._leads() else ():
            found.add_metric([reason.code, reason.cure], number)
        yield found
