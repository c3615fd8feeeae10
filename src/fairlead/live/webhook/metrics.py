"""The webhook's metrics."""

from fairlead.live.runtime.measures import Measures


class WebhookMetrics(Measures):
    """Few labels, so that a scrape stays small."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = self.counter(
            "fairlead_admissions", "Admission reviews answered, by tier and reason.", "tier", "reason"
        )
        self.failures = self.counter(
            "fairlead_admission_failures", "Admission reviews answered with an HTTP error, by status.", "status"
        )
        self.seconds = self.histogram(
            "fairlead_admission_seconds", "Seconds that an admission review took.", "endpoint"
        )
        self.conflicts = self.gauge(
            "fairlead_ledger_conflicts", "Ledger writes repeated because another replica wrote first."
        )
        self.writes = self.gauge("fairlead_ledger_writes", "Ledger writes stored.")
        self.certificate_end = self.gauge(
            "fairlead_certificate_end_seconds",
            "Unix time at which the certificate that is served ends; 0 before the first is loaded.",
        )
        self.leading = self.gauge("fairlead_leader", "1 while this instance holds the lease.")
