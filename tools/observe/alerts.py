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


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alert of one component. `expression` is PromQL; it holds for `lasting` before the alert fires."""

    component: str
    name: str
    expression: str
    lasting: str
    severity: str
    summary: str


def alerts() -> Iterator[Alert]:
    """All of them, component by component."""
    for component in LEADERS:
        yield from common(component)
        yield from OWN[component]


def common(component: str) -> Iterator[Alert]:
    """What can go wrong with any component."""
    here = f'{{job="fairlead-{component}"}}'
    yield Alert(
        component=component,
        name="FairleadAbsent",
        expression=f'absent(up{{job="fairlead-{component}"}} == 1)',
        lasting="5m",
        severity="critical",
        summary=f"No instance of fairlead-{component} answers the scraper.",
    )
    yield Alert(
        component=component,
        name="FairleadNoLeader",
        expression=f"max by ({BY}) ({LEADERS[component]}{here}) < 1",
        lasting="2m",
        severity="critical",
        summary="Instances of {{ $labels.job }} run, and none of them holds the lease: nothing is done.",
    )
    yield Alert(
        component=component,
        name="FairleadWatchBehind",
        expression=f"min by ({BY}, pod, resource) (fairlead_watch_current{here}) < 1",
        lasting="5m",
        severity="warning",
        summary="{{ $labels.pod }} does not hear of changes to {{ $labels.resource }}.",
    )
    yield Alert(
        component=component,
        name="FairleadSetAside",
        expression=f"max by ({BY}, kind) (fairlead_set_aside{here}) > 0",
        lasting="15m",
        severity="warning",
        summary="{{ $value }} objects of kind {{ $labels.kind }} cannot be read or decided and are left out.",
    )
    yield Alert(
        component=component,
        name="FairleadDefect",
        expression=f"sum by ({BY}) (increase(fairlead_defects_total{here}[1h])) > 0",
        lasting="0m",
        severity="warning",
        summary="{{ $labels.job }} failed on an object by a fault of its own; please report it.",
    )


SCHEDULER = (
    Alert(
        component="scheduler",
        name="FairleadCycleStuck",
        expression=(
            f'sum by ({BY}) (fairlead_pending_pods{{state="awake"}}) > 0 '
            f"and sum by ({BY}) (increase(fairlead_cycles_total[10m])) == 0"
        ),
        lasting="5m",
        severity="critical",
        summary="{{ $value }} pods are due, and no scheduling cycle was completed for ten minutes.",
    ),
    Alert(
        component="scheduler",
        name="FairleadNeedsPeople",
        expression=f'max by ({BY}, reason) (fairlead_waiting_pods{{cure="edit"}}) > 0',
        lasting="30m",
        severity="warning",
        summary="{{ $value }} pods wait because of {{ $labels.reason }}, which only an edit can lift.",
    ),
    Alert(
        component="scheduler",
        name="FairleadEvictionsRefused",
        expression=f'sum by ({BY}, why) (increase(fairlead_refused_evictions_total{{why!="GONE"}}[15m])) > 0',
        lasting="15m",
        severity="warning",
        summary="Evictions that were decided are not carried out: {{ $labels.why }}.",
    ),
    Alert(
        component="scheduler",
        name="FairleadBindsFail",
        expression=(
            f"sum by ({BY}) (increase(fairlead_failed_binds_total[10m])) "
            f"> 0.2 * sum by ({BY}) (increase(fairlead_bound_pods_total[10m])) + 5"
        ),
        lasting="10m",
        severity="warning",
        summary="The API server refuses more than a fifth of the binds.",
    ),
    Alert(
        component="scheduler",
        name="FairleadCacheDiffers",
        expression=f"max by ({BY}, pod) (fairlead_cache_differences) > 0",
        lasting="10m",
        severity="warning",
        summary="What {{ $labels.pod }} knows differs from a fresh list in {{ $value }} places.",
    ),
)
WEBHOOK = (
    Alert(
        component="webhook",
        name="FairleadLedgerContention",
        expression=(
            f"sum by ({BY}) (increase(fairlead_ledger_conflicts[10m])) "
            f"> sum by ({BY}) (increase(fairlead_ledger_writes[10m]))"
        ),
        lasting="10m",
        severity="warning",
        summary="More writes of ledgers are repeated than stored: replicas of the webhook hold one another up.",
    ),
    Alert(
        component="webhook",
        name="FairleadAdmissionFails",
        expression=f"sum by ({BY}, status) (increase(fairlead_admission_failures_total[10m])) > 0",
        lasting="10m",
        severity="warning",
        summary="Admission reviews are answered with HTTP status {{ $labels.status }}.",
    ),
    Alert(
        component="webhook",
        name="FairleadAdmissionSlow",
        expression=f"histogram_quantile(0.99, sum by ({BY}, le) (rate(fairlead_admission_seconds_bucket[10m]))) > 1",
        lasting="15m",
        severity="warning",
        summary="One admission review in a hundred takes longer than a second.",
    ),
    Alert(
        component="webhook",
        name="FairleadCertificateEnds",
        expression=f"min by ({BY}, pod) (fairlead_certificate_end_seconds > 0) - time() < 7 * 86400",
        lasting="1h",
        severity="critical",
        summary="The certificate of {{ $labels.pod }} ends in {{ $value | humanizeDuration }} and was not renewed.",
    ),
)
FLEET = (
    Alert(
        component="fleet",
        name="FairleadFleetWaits",
        expression=f"max by ({BY}) (fairlead_fleet_waiting_bindings) > 0",
        lasting="30m",
        severity="warning",
        summary="{{ $value }} bindings have replicas that no cluster takes.",
    ),
    Alert(
        component="fleet",
        name="FairleadFleetWritesRefused",
        expression=f"sum by ({BY}, cause) (increase(fairlead_fleet_refused_writes_total[15m])) > 0",
        lasting="15m",
        severity="warning",
        summary="Karmada's API server refuses writes: {{ $labels.cause }}.",
    ),
)
STORAGE = (
    Alert(
        component="storage",
        name="FairleadNoDisk",
        expression=f"max by ({BY}) (fairlead_storage_unscheduled_replicas) > 0",
        lasting="30m",
        severity="warning",
        summary="{{ $value }} storage replicas have no disk, and none fits.",
    ),
    Alert(
        component="storage",
        name="FairleadStorageWritesRefused",
        expression=f"sum by ({BY}, cause) (increase(fairlead_storage_refused_writes_total[15m])) > 3",
        lasting="15m",
        severity="warning",
        summary="Disks that were chosen are not written again and again: {{ $labels.cause }}.",
    ),
)
OWN = {"scheduler": SCHEDULER, "webhook": WEBHOOK, "fleet": FLEET, "storage": STORAGE}
