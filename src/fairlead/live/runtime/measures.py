"""What a component measures, on one registry for `/metrics`."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Measures:
    """The metrics of a component. Few labels, so that a scrape stays small."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """Something that is counted."""
        return Counter(name, text, labels, registry=self.registry)

    def gauge(self, name: str, text: str, *labels: str) -> Gauge:
        """Something that goes up and down."""
        return Gauge(name, text, labels, registry=self.registry)

    def histogram(self, name: str, text: str, *labels: str, buckets: tuple[float, ...] = BUCKETS) -> Histogram:
        """How long something took."""
        return Histogram(name, text, labels, registry=self.registry, buckets=buckets)
