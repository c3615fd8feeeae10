"""The webhook's metrics."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class WebhookMetrics:
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.answers = Counter(
            "fairlead_admissions",
            "Admission reviews answered, by tier and reason.",
            ["tier", "reason"],
            registry=self.registry,
        )
        self.failures = Counter(
            "fairlead_admission_failures",
            "Admission reviews answered with an HTTP error, by status.",
            ["status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "fairlead_admission_seconds",
            "Seconds that an admission review took.",
            ["endpoint"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.conflicts = Gauge(
            "fairlead_ledger_conflicts",
            "Ledger writes repeated because another replica wrote first.",
            registry=self.registry,
        )
        self.writes = Gauge("fairlead_ledger_writes", "Ledger writes stored.", registry=self.registry)
        self.certificate_end = Gauge(
            "fairlead_certificate_end_seconds",
            "Unix time at which the certificate that is served ends; 0 before the first is loaded.",
            registry=self.registry,
        )
        self.leading = Gauge("fairlead_leader", "1 while this instance holds the lease.", registry=self.registry)
