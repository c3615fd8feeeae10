"""How many Events of a component were never written, told at every scrape."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from fairlead.kube.events import Recorder


class EventCollector(Collector):
    """One counter; zero for a component that records none."""

    def __init__(self, registry: CollectorRegistry, recorder: Recorder | None) -> None:
        self._recorder = recorder
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """For prometheus_client."""
        yield CounterMetricFamily(
            "fairlead_dropped_events",
            "Events that were not kept because too many were waiting to be written.",
            value=0 if self._recorder is None else self._recorder.dropped,
        )
