"""How well a component follows the cluster, told at every scrape: which watches are open, and how much they brought."""

from collections.abc import Iterator, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fairlead.kube.watch import Reflector


class WatchCollector(Collector):
    """Two gauges a kind. A kind that is not served is followed as well as it can be, and counts as current."""

    def __init__(self, registry: CollectorRegistry, reflectors: Sequence[Reflector[Any]]) -> None:
        self._reflectors = tuple(reflectors)
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """For prometheus_client."""
        current = GaugeMetricFamily(
            "fairlead_watch_current",
            "1 while nothing says that what is known of the kind is behind: its watch is open, or it is not served.",
            labels=["resource"],
        )
        objects = GaugeMetricFamily("fairlead_watched_objects", "Known objects of the kind.", labels=["resource"])
        for each in self._reflectors:
            current.add_metric([each.resource.label], float(each.current.is_set()))
            objects.add_metric([each.resource.label], float(len(each.objects)))
        yield current
        yield objects
