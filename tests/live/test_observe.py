"""What watches Fairlead from outside names only metrics that there are, and every alert has its runbook."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tools.observe.alerts import Alert, alerts
from tools.observe.dashboards import DASHBOARDS
from tools.observe.panels import COLUMNS, render
from tools.observe.rules import anchor

from fairlead.kube.client import Client
from fairlead.kube.events import Rate, Recorder
from fairlead.kube.resources import PODS
from fairlead.levels.node.constraints.reasons import CLAIM_MISSING, NO_ROOM, NOT_NEAR
from fairlead.levels.queue.reasons import NODES_FULL
from fairlead.live.fleet.component import Fleet, FleetOptions
from fairlead.live.queue.metrics import QueueMetrics
from fairlead.live.runtime.elected import Instance
from fairlead.live.scheduler.component import Options, Scheduler
from fairlead.live.scheduler.pending import Pending, easiest
from fairlead.live.storage.component import StorageKeeper, StorageOptions
from fairlead.live.webhook.component import Webhook
from fairlead.model.reasons import Reason, because
from fairlead.settings import DEFAULTS
from tests.fake.api import FakeApi
from tests.live.test_scheduler_pending import waiting

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"\b(fairlead_[a-z_]+)")


def scheduler() -> CollectorRegistry:
    """Of the scheduler, with the queue level."""
    made = Scheduler(Instance(Client(FakeApi())), Options())
    QueueMetrics(made.measures.registry)
    return made.measures.registry


def fleet() -> CollectorRegistry:
    """Of the fleet scheduler."""
    return Fleet(Instance(Client(FakeApi())), FleetOptions()).registry


def storage() -> CollectorRegistry:
    """Of the storage component."""
    return StorageKeeper(Instance(Client(FakeApi())), StorageOptions()).registry


def webhook() -> CollectorRegistry:
    """Of the webhook."""
    return Webhook(Client(FakeApi()), DEFAULTS).measures.registry


REGISTRIES: dict[str, Callable[[], CollectorRegistry]] = {
    "scheduler": scheduler,
    "webhook": webhook,
    "fleet": fleet,
    "storage": storage,
}
BOARDS = {"scheduler": "scheduler", "fairness": "scheduler", "tiers": "webhook", "fleet": "fleet", "storage": "storage"}


def exposed(registry: CollectorRegistry) -> set[str]:
    """Every name that a query may use: those of the families, and the parts of histograms."""
    text = generate_latest(registry).decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    parts = {
        f"{name}_{part}" for name, kind in kinds.items() if kind == "histogram" for part in ("bucket", "sum", "count")
    }
    return {name for name in kinds if not name.endswith("_created")} | parts


@pytest.mark.parametrize("alert", [*alerts()], ids=lambda alert: f"{alert.component}-{alert.name}")
async def test_alert_names_metrics_that_its_component_exposes(alert: Alert) -> None:
    """A misspelt metric would never fire."""
    assert set(NAME.findall(alert.expression)) <= exposed(REGISTRIES[alert.component]())


@pytest.mark.parametrize("board", DASHBOARDS, ids=lambda board: board.name)
async def test_dashboard_names_metrics_that_its_component_exposes(board: object) -> None:
    """A misspelt metric would be an empty picture."""
    record = render(board)
    names = {
        name for panel in record["panels"] for each in panel.get("targets", ()) for name in NAME.findall(each["expr"])
    }
    assert names
    assert names <= exposed(REGISTRIES[BOARDS[record["uid"].removeprefix("fairlead-")]]())
    assert set(NAME.findall(json.dumps(record["templating"]))) == {"fairlead_watch_current"}


@pytest.mark.parametrize("board", DASHBOARDS, ids=lambda board: board.name)
def test_panels_do_not_overlap(board: object) -> None:
    """Each has its own number and its own part of the grid."""
    panels = render(board)["panels"]
    cells = [
        (x, y)
        for where in (each["gridPos"] for each in panels)
        for x in range(where["x"], where["x"] + where["w"])
        for y in range(where["y"], where["y"] + where["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < COLUMNS
    assert len({each["id"] for each in panels}) == len(panels)


def test_every_alert_has_a_runbook_and_every_runbook_an_alert() -> None:
    """Sections of docs/alerts.md, by the anchor that the alert names."""
    headings = re.findall(r"^## (Fairlead\w+)$", (ROOT / "docs" / "alerts.md").read_text(), re.MULTILINE)
    assert sorted(headings) == sorted({each.name for each in alerts()})
    assert {anchor(each) for each in headings} == {each.lower() for each in headings}


@pytest.mark.parametrize(
    ("refused", "finding", "want"),
    [
        pytest.param((NOT_NEAR, NO_ROOM), None, NO_ROOM, id="room before an edit"),
        pytest.param((CLAIM_MISSING,), None, CLAIM_MISSING, id="the only one"),
        pytest.param(
            (CLAIM_MISSING,), because(NODES_FULL, fits=0, count=1, detail=""), NODES_FULL, id="the queue level's"
        ),
        pytest.param((), None, NO_ROOM, id="no node at all"),
    ],
)
def test_pods_are_counted_by_the_reason_that_is_easiest_to_lift(
    refused: tuple[Reason, ...], finding: object, want: Reason
) -> None:
    """So that `edit` means: nothing but an edit helps."""
    outcome = waiting(*refused, finding=finding)
    pending = Pending()
    pending.park(outcome, 0.0)
    assert easiest(outcome) == want
    assert pending.why() == {want: 1}
    pending.settled(outcome)
    assert pending.why() == {}


async def test_waits_and_watches_are_told_at_a_scrape() -> None:
    """Pods by reason and cure; a watch that is not open yet is behind."""
    made = Scheduler(Instance(Client(FakeApi())), Options())
    made.pending.park(waiting(CLAIM_MISSING), 0.0)
    registry = made.measures.registry
    assert (
        registry.get_sample_value("fairlead_waiting_pods", {"reason": CLAIM_MISSING.code, "cure": CLAIM_MISSING.cure})
        == 1
    )
    assert registry.get_sample_value("fairlead_watch_current", {"resource": "nodes"}) == 0
    assert registry.get_sample_value("fairlead_watched_objects", {"resource": "nodes"}) == 0


async def test_scheduler_that_leads_no_longer_tells_of_no_waiting_pods() -> None:
    """Alerts take the highest or the sum of all instances, and what was known when the lead was lost is old."""
    leads = [True]
    made = Scheduler(Instance(Client(FakeApi()), leads=lambda: leads[0]), Options())
    outcome = waiting(CLAIM_MISSING)
    made.pending.park(outcome, 0.0, again=1.0)
    reason = {"reason": CLAIM_MISSING.code, "cure": CLAIM_MISSING.cure}
    told = made.measures.registry.get_sample_value
    assert told("fairlead_waiting_pods", reason) == 1
    assert told("fairlead_pending_pods", {"state": "parked"}) == told("fairlead_pending_pods", {"state": "awake"}) == 1
    leads[0] = False
    assert told("fairlead_waiting_pods", reason) is None
    assert told("fairlead_pending_pods", {"state": "parked"}) == told("fairlead_pending_pods", {"state": "awake"}) == 0


async def test_events_that_were_not_kept_are_told_at_a_scrape() -> None:
    """A recorder with room for one is told three things while the server is away; a component without one says zero."""
    client = Client(FakeApi())
    recorder = Recorder(client, component="fairlead", instance="x", rate=Rate(kept=1))
    made = Scheduler(Instance(client, recorder=recorder), Options())
    for name in ("a", "b", "c"):
        recorder.record(PODS.refer(name, namespace="shop", uid=name), reason="R", action="A", note="n")
    assert made.measures.registry.get_sample_value("fairlead_dropped_events_total") == 2
    silent = Scheduler(Instance(client), Options())
    assert silent.measures.registry.get_sample_value("fairlead_dropped_events_total") == 0
