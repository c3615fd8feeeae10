"""The dashboards: scheduler, fairness, tiers, fleet, storage. A query is written here once, and checked against metrics
that the components really expose (tests/live/test_observe.py, tests/cluster/test_observe.py).
"""

from tools.observe.alerts import LEADERS
from tools.observe.panels import Dashboard, Panel, Query, Row


def _of(component: str, more: str = "") -> str:
    """What selects the series of a component in the chosen namespaces."""
    return f'{{namespace=~"$namespace", job="fairlead-{component}"{more}}}'


def _single(title: str, about: str, expression: str, unit: str = "short") -> Panel:
    return Panel(title=title, about=about, queries=(Query(expression, ""),), unit=unit, single=True)


def _quantiles(metric: str, here: str, by: str = "") -> tuple[Query, ...]:
    """Half of them, and all but one in a hundred, are quicker than this."""
    split = f"le, {by}" if by else "le"
    legend = f" {{{{{by}}}}}" if by else ""
    return tuple(
        Query(f"histogram_quantile({part}, sum by ({split}) (rate({metric}_bucket{here}[5m])))", f"{name}{legend}")
        for part, name in ((0.5, "half"), (0.99, "99 %"))
    )


def _health(component: str) -> Row:
    """What every dashboard begins with."""
    here = _of(component)
    return Row(
        title="Health",
        panels=(
            _single("Instances", "Instances that answer.", f"sum(up{here})"),
            _single("Leaders", "Must be 1.", f"sum({LEADERS[component]}{here})"),
            Panel(
                title="Watches behind",
                about="Kinds of which changes are not heard.",
                queries=(Query(f"fairlead_watch_current{here} < 1", "{{pod}} {{resource}}"),),
            ),
            Panel(
                title="Set aside",
                about="Objects that cannot be read or decided, and faults of the program itself.",
                queries=(
                    Query(f"max by (kind) (fairlead_set_aside{here})", "{{kind}}"),
                    Query(f"sum(increase(fairlead_defects_total{here}[5m]))", "own faults"),
                ),
            ),
        ),
    )


S, W, F, D = (_of(name) for name in ("scheduler", "webhook", "fleet", "storage"))

CORES = _of("scheduler", ', resource="cpu"')

SCHEDULER = Dashboard(
    name="scheduler",
    title="Scheduler",
    rows=(
        _health("scheduler"),
        Row(
            title="Pods",
            panels=(
                Panel(
                    title="Waiting pods by reason",
                    about="The reason that is easiest to lift, and what would lift it.",
                    queries=(Query(f"max by (reason, cure) (fairlead_waiting_pods{S})", "{{reason}} ({{cure}})"),),
                    stacked=True,
                ),
                Panel(
                    title="Pods without a confirmed node",
                    about="Parked until something happens, about to be tried again, or with a bind under way.",
                    queries=(Query(f"max by (state) (fairlead_pending_pods{S})", "{{state}}"),),
                ),
                Panel(
                    title="Bound pods a second",
                    about="And binds that the API server refused.",
                    queries=(
                        Query(f"sum(rate(fairlead_bound_pods_total{S}[5m]))", "bound"),
                        Query(f"sum(rate(fairlead_failed_binds_total{S}[5m]))", "refused"),
                    ),
                ),
            ),
        ),
        Row(
            title="Cycles",
            panels=(
                Panel(
                    title="Cycles a second",
                    about="Passes from what is due to what is bound.",
                    queries=(Query(f"sum(rate(fairlead_cycles_total{S}[5m]))", "cycles"),),
                ),
                Panel(
                    title="Seconds of a stage",
                    about="Deciding a cycle, and binding a pod.",
                    queries=_quantiles("fairlead_stage_seconds", S, "stage"),
                    unit="s",
                ),
                Panel(
                    title="Objects known",
                    about="By kind.",
                    queries=(Query(f"max by (resource) (fairlead_watched_objects{S})", "{{resource}}"),),
                ),
                Panel(
                    title="Self-check",
                    about="Differences between what is known and a fresh list; comparisons made.",
                    queries=(
                        Query(f"max(fairlead_cache_differences{S})", "differences"),
                        Query(f"sum(increase(fairlead_self_checks_total{S}[10m]))", "comparisons"),
                    ),
                ),
            ),
        ),
    ),
)

FAIRNESS = Dashboard(
    name="fairness",
    title="Fairness",
    rows=(
        Row(
            title="Queues",
            panels=tuple(
                Panel(
                    title=title,
                    about=about,
                    queries=(Query(f"max by (queue) ({metric}{CORES})", "{{queue}}"),),
                    stacked=True,
                )
                for title, about, metric in (
                    ("Deserved cores", "What fair sharing grants.", "fairlead_queue_deserved"),
                    ("Used cores", "What pods use.", "fairlead_queue_used"),
                    ("Cores asked for", "What pods request, running and waiting.", "fairlead_queue_asked"),
                )
            ),
        ),
        Row(
            title="Distance from the fair share",
            panels=(
                Panel(
                    title="Queues",
                    about="As a fraction of the cluster; 0 is exact.",
                    queries=(Query(f"max by (queue) (fairlead_queue_distance{S})", "{{queue}}"),),
                    unit="percentunit",
                ),
                Panel(
                    title="Namespaces",
                    about="As a fraction of the cluster; 0 is exact. The ten farthest.",
                    queries=(
                        # The label of the metric is renamed: `namespace` is where the component runs.
                        Query(
                            f"topk(10, max by (queue, exported_namespace) (fairlead_namespace_distance{S}))",
                            "{{queue}} / {{exported_namespace}}",
                        ),
                    ),
                    unit="percentunit",
                ),
            ),
        ),
        Row(
            title="Evictions",
            panels=(
                Panel(
                    title="Evicted pods",
                    about="By action: preemption within a queue, reclaim between queues.",
                    queries=(Query(f"sum by (action) (increase(fairlead_evicted_pods_total{S}[10m]))", "{{action}}"),),
                ),
                Panel(
                    title="Refused",
                    about="Decided and not carried out, by cause; and preemptions that would not have helped.",
                    queries=(
                        Query(f"sum by (why) (increase(fairlead_refused_evictions_total{S}[10m]))", "{{why}}"),
                        Query(f"sum(increase(fairlead_skipped_preemptions_total{S}[10m]))", "skipped"),
                    ),
                ),
                _single(
                    "Pods with room kept",
                    "Waiting pods for which room is kept on a node.",
                    f"max(fairlead_held_pods{S})",
                ),
            ),
        ),
    ),
)

TIERS = Dashboard(
    name="tiers",
    title="Tiers",
    rows=(
        _health("webhook"),
        Row(
            title="Admission",
            panels=(
                Panel(
                    title="Reviews a second",
                    about="By tier and by the rule that decided.",
                    queries=(
                        Query(f"sum by (tier, reason) (rate(fairlead_admissions_total{W}[5m]))", "{{tier}} {{reason}}"),
                    ),
                    stacked=True,
                ),
                Panel(
                    title="Seconds of a review",
                    about="Inside the webhook.",
                    queries=_quantiles("fairlead_admission_seconds", W, "endpoint"),
                    unit="s",
                ),
                Panel(
                    title="Failures",
                    about="Reviews answered with an HTTP error.",
                    queries=(
                        Query(f"sum by (status) (increase(fairlead_admission_failures_total{W}[10m]))", "{{status}}"),
                    ),
                ),
            ),
        ),
        Row(
            title="Ledgers and certificate",
            panels=(
                Panel(
                    title="Ledger writes",
                    about="Stored, and repeated because another replica wrote first.",
                    queries=(
                        Query(f"sum(increase(fairlead_ledger_writes{W}[5m]))", "stored"),
                        Query(f"sum(increase(fairlead_ledger_conflicts{W}[5m]))", "repeated"),
                    ),
                ),
                _single(
                    "Certificate ends in",
                    "It is renewed when a third of its life is left.",
                    f"min(fairlead_certificate_end_seconds{W}) - time()",
                    "s",
                ),
            ),
        ),
    ),
)

FLEET = Dashboard(
    name="fleet",
    title="Fleet",
    rows=(
        _health("fleet"),
        Row(
            title="Bindings",
            panels=(
                Panel(
                    title="Bindings",
                    about="That name this scheduler, and those with replicas that no cluster takes.",
                    queries=(
                        Query(f"max(fairlead_fleet_bindings{F})", "ours"),
                        Query(f"max(fairlead_fleet_waiting_bindings{F})", "waiting"),
                    ),
                ),
                Panel(
                    title="Decisions",
                    about="By reason, in ten minutes.",
                    queries=(
                        Query(f"sum by (reason) (increase(fairlead_fleet_decisions_total{F}[10m]))", "{{reason}}"),
                    ),
                    stacked=True,
                ),
                Panel(
                    title="Seconds of a batch",
                    about="Deciding one batch of bindings.",
                    queries=_quantiles("fairlead_fleet_decide_seconds", F),
                    unit="s",
                ),
            ),
        ),
        Row(
            title="Writes",
            panels=(
                Panel(
                    title="Stored",
                    about="By part, in ten minutes.",
                    queries=(Query(f"sum by (part) (increase(fairlead_fleet_writes_total{F}[10m]))", "{{part}}"),),
                ),
                Panel(
                    title="Refused",
                    about="By cause, and bindings set aside because deciding them failed.",
                    queries=(
                        Query(f"sum by (cause) (increase(fairlead_fleet_refused_writes_total{F}[10m]))", "{{cause}}"),
                        Query(f"sum(increase(fairlead_fleet_defects_total{F}[10m]))", "set aside"),
                    ),
                ),
            ),
        ),
    ),
)

STORAGE = Dashboard(
    name="storage",
    title="Storage",
    rows=(
        _health("storage"),
        Row(
            title="Storage replicas",
            panels=(
                Panel(
                    title="Without a disk",
                    about="Those for which none fits, those for which one does, and those placed a moment ago.",
                    queries=(
                        Query(f"max(fairlead_storage_unscheduled_replicas{D})", "no disk fits"),
                        Query(f"max(fairlead_storage_placeable_replicas{D})", "a disk fits"),
                        Query(f"max(fairlead_storage_in_flight_replicas{D})", "just placed"),
                    ),
                ),
                Panel(
                    title="Imbalance",
                    about="Of the nodes, and of the disks of the worst node, now and after the advised moves.",
                    queries=(Query(f"max by (stage, when) (fairlead_storage_imbalance{D})", "{{stage}} {{when}}"),),
                ),
                _single(
                    "Moves advised", "Moves that would lower the imbalance.", f"max(fairlead_storage_moves_advised{D})"
                ),
            ),
        ),
        Row(
            title="Work",
            panels=(
                Panel(
                    title="Writes",
                    about="Disks written and refused, in ten minutes.",
                    queries=(
                        Query(f"sum(increase(fairlead_storage_writes_total{D}[10m]))", "written"),
                        Query(f"sum by (cause) (increase(fairlead_storage_refused_writes_total{D}[10m]))", "{{cause}}"),
                    ),
                ),
                Panel(
                    title="Seconds of a decision",
                    about="About all volumes.",
                    queries=_quantiles("fairlead_storage_decide_seconds", D),
                    unit="s",
                ),
                _single(
                    "Unusable fields",
                    "Fields of Longhorn objects that cannot be read.",
                    f"max(fairlead_storage_unusable_objects{D})",
                ),
            ),
        ),
    ),
)

DASHBOARDS = (SCHEDULER, FAIRNESS, TIERS, FLEET, STORAGE)
