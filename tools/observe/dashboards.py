"""The dashboards: scheduler, fairness, tiers, fleet, storage. A query is written here once, and checked against metrics
that the components really expose (tests/live/test_observe.py, tests/cluster/test_observe.py).
"""

from tools.observe.alerts import LEADERS
from tools.observe.panels import Dashboard, Panel


def _of(component: str, more: str = "") -> str:
    """What selects the series of a component in the chosen namespaces."""
    return f'{{namespace=~"$namespace", job="fairlead-{component}"{more}}}'


def _single(title: str, about: str, expression: str, unit: str = "short") -> Panel:
    return Panel(title, about, {"": expression}, unit=unit, single=True)


def _quantiles(metric: str, here: str, by: str = "") -> dict[str, str]:
    """Half of them, and all but one in a hundred, are quicker than this."""
    split, legend = (f"le, {by}", f" {{{{{by}}}}}") if by else ("le", "")
    return {
        f"{name}{legend}": f"histogram_quantile({part}, sum by ({split}) (rate({metric}_bucket{here}[5m])))"
        for part, name in ((0.5, "half"), (0.99, "99 %"))
    }


def _health(component: str) -> tuple[Panel, ...]:
    """What every dashboard begins with."""
    here = _of(component)
    return (
        _single("Instances", "Instances that answer.", f"sum(up{here})"),
        _single("Leaders", "Must be 1.", f"sum({LEADERS[component]}{here})"),
        Panel(
            "Watches behind",
            "Kinds of which changes are not heard.",
            {"{{pod}} {{resource}}": f"fairlead_watch_current{here} < 1"},
        ),
        Panel(
            "Set aside",
            "Objects that cannot be read or decided, and faults of the program itself.",
            {
                "{{kind}}": f"max by (kind) (fairlead_set_aside{here})",
                "own faults": f"sum(increase(fairlead_defects_total{here}[5m]))",
            },
        ),
    )


S, W, F, D = (_of(name) for name in ("scheduler", "webhook", "fleet", "storage"))

CORES = _of("scheduler", ', resource="cpu"')

SCHEDULER = Dashboard(
    "scheduler",
    {
        "Health": _health("scheduler"),
        "Pods": (
            Panel(
                "Waiting pods by reason",
                "The reason that is easiest to lift, and what would lift it.",
                {"{{reason}} ({{cure}})": f"max by (reason, cure) (fairlead_waiting_pods{S})"},
                stacked=True,
            ),
            Panel(
                "Pods without a confirmed node",
                "Parked until something happens, about to be tried again, or with a bind under way.",
                {"{{state}}": f"max by (state) (fairlead_pending_pods{S})"},
            ),
            Panel(
                "Bound pods a second",
                "And binds that the API server refused.",
                {
                    "bound": f"sum(rate(fairlead_bound_pods_total{S}[5m]))",
                    "refused": f"sum(rate(fairlead_failed_binds_total{S}[5m]))",
                },
            ),
        ),
        "Cycles": (
            Panel(
                "Cycles a second",
                "Passes from what is due to what is bound.",
                {"cycles": f"sum(rate(fairlead_cycles_total{S}[5m]))"},
            ),
            Panel(
                "Seconds of a stage",
                "Deciding a cycle, and binding a pod.",
                _quantiles("fairlead_stage_seconds", S, "stage"),
                unit="s",
            ),
            Panel("Objects known", "By kind.", {"{{resource}}": f"max by (resource) (fairlead_watched_objects{S})"}),
            Panel(
                "Self-check",
                "Differences between what is known and a fresh list; comparisons made.",
                {
                    "differences": f"max(fairlead_cache_differences{S})",
                    "comparisons": f"sum(increase(fairlead_self_checks_total{S}[10m]))",
                },
            ),
        ),
    },
)

FAIRNESS = Dashboard(
    "fairness",
    {
        "Queues": tuple(
            Panel(title, about, {"{{queue}}": f"max by (queue) ({metric}{CORES})"}, stacked=True)
            for title, about, metric in (
                ("Deserved cores", "What fair sharing grants.", "fairlead_queue_deserved"),
                ("Used cores", "What pods use.", "fairlead_queue_used"),
                ("Cores asked for", "What pods request, running and waiting.", "fairlead_queue_asked"),
            )
        ),
        "Distance from the fair share": (
            Panel(
                "Queues",
                "As a fraction of the cluster; 0 is exact.",
                {"{{queue}}": f"max by (queue) (fairlead_queue_distance{S})"},
                unit="percentunit",
            ),
            Panel(
                "Namespaces",
                "As a fraction of the cluster; 0 is exact. The ten farthest.",
                {
                    # The label of the metric is renamed: `namespace` is where the component runs.
                    "{{queue}} / {{exported_namespace}}": "topk(10, "
                    f"max by (queue, exported_namespace) (fairlead_namespace_distance{S}))"
                },
                unit="percentunit",
            ),
        ),
        "Evictions": (
            Panel(
                "Evicted pods",
                "By action: preemption within a queue, reclaim between queues.",
                {"{{action}}": f"sum by (action) (increase(fairlead_evicted_pods_total{S}[10m]))"},
            ),
            Panel(
                "Refused",
                "Decided and not carried out, by cause; and preemptions that would not have helped.",
                {
                    "{{why}}": f"sum by (why) (increase(fairlead_refused_evictions_total{S}[10m]))",
                    "skipped": f"sum(increase(fairlead_skipped_preemptions_total{S}[10m]))",
                },
            ),
            _single(
                "Pods with room kept", "Waiting pods for which room is kept on a node.", f"max(fairlead_held_pods{S})"
            ),
        ),
    },
)

TIERS = Dashboard(
    "tiers",
    {
        "Health": _health("webhook"),
        "Admission": (
            Panel(
                "Reviews a second",
                "By tier and by the rule that decided.",
                {"{{tier}} {{reason}}": f"sum by (tier, reason) (rate(fairlead_admissions_total{W}[5m]))"},
                stacked=True,
            ),
            Panel(
                "Seconds of a review",
                "Inside the webhook.",
                _quantiles("fairlead_admission_seconds", W, "endpoint"),
                unit="s",
            ),
            Panel(
                "Failures",
                "Reviews answered with an HTTP error.",
                {"{{status}}": f"sum by (status) (increase(fairlead_admission_failures_total{W}[10m]))"},
            ),
        ),
        "Ledgers and certificate": (
            Panel(
                "Ledger writes",
                "Stored, and repeated because another replica wrote first.",
                {
                    "stored": f"sum(increase(fairlead_ledger_writes{W}[5m]))",
                    "repeated": f"sum(increase(fairlead_ledger_conflicts{W}[5m]))",
                },
            ),
            _single(
                "Certificate ends in",
                "It is renewed when a third of its life is left.",
                f"min(fairlead_certificate_end_seconds{W}) - time()",
                "s",
            ),
        ),
    },
)

FLEET = Dashboard(
    "fleet",
    {
        "Health": _health("fleet"),
        "Bindings": (
            Panel(
                "Bindings",
                "That name this scheduler, and those with replicas that no cluster takes.",
                {"ours": f"max(fairlead_fleet_bindings{F})", "waiting": f"max(fairlead_fleet_waiting_bindings{F})"},
            ),
            Panel(
                "Decisions",
                "By reason, in ten minutes.",
                {"{{reason}}": f"sum by (reason) (increase(fairlead_fleet_decisions_total{F}[10m]))"},
                stacked=True,
            ),
            Panel(
                "Seconds of a batch",
                "Deciding one batch of bindings.",
                _quantiles("fairlead_fleet_decide_seconds", F),
                unit="s",
            ),
        ),
        "Writes": (
            Panel(
                "Stored",
                "By part, in ten minutes.",
                {"{{part}}": f"sum by (part) (increase(fairlead_fleet_writes_total{F}[10m]))"},
            ),
            Panel(
                "Refused",
                "By cause, and bindings set aside because deciding them failed.",
                {
                    "{{cause}}": f"sum by (cause) (increase(fairlead_fleet_refused_writes_total{F}[10m]))",
                    "set aside": f"sum(increase(fairlead_fleet_defects_total{F}[10m]))",
                },
            ),
        ),
    },
)

STORAGE = Dashboard(
    "storage",
    {
        "Health": _health("storage"),
        "Storage replicas": (
            Panel(
                "Without a disk",
                "Those for which none fits, those for which one does, and those placed a moment ago.",
                {
                    "no disk fits": f"max(fairlead_storage_unscheduled_replicas{D})",
                    "a disk fits": f"max(fairlead_storage_placeable_replicas{D})",
                    "just placed": f"max(fairlead_storage_in_flight_replicas{D})",
                },
            ),
            Panel(
                "Imbalance",
                "Of the nodes, and of the disks of the worst node, now and after the advised moves.",
                {"{{stage}} {{when}}": f"max by (stage, when) (fairlead_storage_imbalance{D})"},
            ),
            _single(
                "Moves advised", "Moves that would lower the imbalance.", f"max(fairlead_storage_moves_advised{D})"
            ),
        ),
        "Work": (
            Panel(
                "Writes",
                "Disks written and refused, in ten minutes.",
                {
                    "written": f"sum(increase(fairlead_storage_writes_total{D}[10m]))",
                    "{{cause}}": f"sum by (cause) (increase(fairlead_storage_refused_writes_total{D}[10m]))",
                },
            ),
            Panel(
                "Seconds of a decision",
                "About all volumes.",
                _quantiles("fairlead_storage_decide_seconds", D),
                unit="s",
            ),
            _single(
                "Unusable fields",
                "Fields of Longhorn objects that cannot be read.",
                f"max(fairlead_storage_unusable_objects{D})",
            ),
        ),
    },
)

DASHBOARDS = (SCHEDULER, FAIRNESS, TIERS, FLEET, STORAGE)
