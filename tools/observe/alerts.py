"""The alerts, each with what it says and when it fires. Every one has a section in docs/alerts.md."""

from collections.abc import Iterator
from dataclasses import dataclass

LEADERS = {
    "scheduler": "fairlead_leader",
    "webhook": "fairlead_leader",
    "fleet": "fairlead_fleet_leader",
    "storage": "fairlead_storage_leader",
}
"""The components, each with the metric that says whether an instance leads."""
BY = "namespace, job"
CRITICAL, WARNING = "critical", "warning"

Row = tuple[str, str, str, str, str]
"""Name, how long the expression holds before the alert fires, severity, the expression in PromQL, and the summary."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert of one component."""

    component: str
    name: str
    lasting: str
    severity: str
    expression: str
    summary: str


def alerts() -> Iterator[Alert]:
    """All of them, component by component."""
    for component in LEADERS:
        for row in (*common(component), *OWN[component]):
            yield Alert(component, *row)


def common(component: str) -> tuple[Row, ...]:
    """What can go wrong with any component."""
    here = f'{{job="fairlead-{component}"}}'
    # fmt: off
    return (
        ("FairleadAbsent", "5m", CRITICAL,
         f"absent(up{here} == 1)",
         f"No instance of fairlead-{component} answers the scraper."),
        ("FairleadNoLeader", "2m", CRITICAL,
         f"max by ({BY}) ({LEADERS[component]}{here}) < 1",
         "Instances of {{ $labels.job }} run, and none of them holds the lease: nothing is done."),
        ("FairleadWatchBehind", "5m", WARNING,
         f"min by ({BY}, pod, resource) (fairlead_watch_current{here}) < 1",
         "{{ $labels.pod }} does not hear of changes to {{ $labels.resource }}."),
        ("FairleadSetAside", "15m", WARNING,
         f"max by ({BY}, kind) (fairlead_set_aside{here}) > 0",
         "{{ $value }} objects of kind {{ $labels.kind }} cannot be read or decided and are left out."),
        ("FairleadDefect", "0m", WARNING,
         f"sum by ({BY}) (increase(fairlead_defects_total{here}[1h])) > 0",
         "{{ $labels.job }} failed on an object by a fault of its own; please report it."),
    )
    # fmt: on


# fmt: off
OWN: dict[str, tuple[Row, ...]] = {
    "scheduler": (
        ("FairleadCycleStuck", "5m", CRITICAL,
         f'sum by ({BY}) (fairlead_pending_pods{{state="awake"}}) > 0 '
         f"and sum by ({BY}) (increase(fairlead_cycles_total[10m])) == 0",
         "{{ $value }} pods are due, and no scheduling cycle was completed for ten minutes."),
        ("FairleadNeedsPeople", "30m", WARNING,
         f'max by ({BY}, reason) (fairlead_waiting_pods{{cure="edit"}}) > 0',
         "{{ $value }} pods wait because of {{ $labels.reason }}, which only an edit can lift."),
        ("FairleadEvictionsRefused", "15m", WARNING,
         f'sum by ({BY}, why) (increase(fairlead_refused_evictions_total{{why!="GONE"}}[15m])) > 0',
         "Evictions that were decided are not carried out: {{ $labels.why }}."),
        ("FairleadBindsFail", "10m", WARNING,
         f"sum by ({BY}) (increase(fairlead_failed_binds_total[10m])) "
         f"> 0.2 * sum by ({BY}) (increase(fairlead_bound_pods_total[10m])) + 5",
         "The API server refuses more than a fifth of the binds."),
        ("FairleadCacheDiffers", "10m", WARNING,
         f"max by ({BY}, pod) (fairlead_cache_differences) > 0",
         "What {{ $labels.pod }} knows differs from a fresh list in {{ $value }} places."),
    ),
    "webhook": (
        ("FairleadLedgerContention", "10m", WARNING,
         f"sum by ({BY}) (increase(fairlead_ledger_conflicts[10m])) "
         f"> sum by ({BY}) (increase(fairlead_ledger_writes[10m]))",
         "More writes of ledgers are repeated than stored: replicas of the webhook hold one another up."),
        ("FairleadAdmissionFails", "10m", WARNING,
         f"sum by ({BY}, status) (increase(fairlead_admission_failures_total[10m])) > 0",
         "Admission reviews are answered with HTTP status {{ $labels.status }}."),
        ("FairleadAdmissionSlow", "15m", WARNING,
         f"histogram_quantile(0.99, sum by ({BY}, le) (rate(fairlead_admission_seconds_bucket[10m]))) > 1",
         "One admission review in a hundred takes longer than a second."),
        ("FairleadCertificateEnds", "1h", CRITICAL,
         f"min by ({BY}, pod) (fairlead_certificate_end_seconds > 0) - time() < 7 * 86400",
         "The certificate of {{ $labels.pod }} ends in {{ $value | humanizeDuration }} and was not renewed."),
    ),
    "fleet": (
        ("FairleadFleetWaits", "30m", WARNING,
         f"max by ({BY}) (fairlead_fleet_waiting_bindings) > 0",
         "{{ $value }} bindings have replicas that no cluster takes."),
        ("FairleadFleetWritesRefused", "15m", WARNING,
         f"sum by ({BY}, cause) (increase(fairlead_fleet_refused_writes_total[15m])) > 0",
         "Karmada's API server refuses writes: {{ $labels.cause }}."),
    ),
    "storage": (
        ("FairleadNoDisk", "30m", WARNING,
         f"max by ({BY}) (fairlead_storage_unscheduled_replicas) > 0",
         "{{ $value }} storage replicas have no disk, and none fits."),
        ("FairleadStorageWritesRefused", "15m", WARNING,
         f"sum by ({BY}, cause) (increase(fairlead_storage_refused_writes_total[15m])) > 3",
         "Disks that were chosen are not written again and again: {{ $labels.cause }}."),
    ),
}
# fmt: on
