"""All four components on a real API server, scraped: their metrics are well formed, whatever an alert or a dashboard
asks for is there, and a healthy installation raises no alert.
"""

import re
import shutil
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from tools.controlplane.api import Api
from tools.controlplane.plane import ControlPlane
from tools.observe.alerts import LEADERS, alerts
from tools.observe.dashboards import DASHBOARDS
from tools.observe.panels import render

from tests.cluster import karmada, longhorn
from tests.cluster.pages import free_port, page
from tests.cluster.test_scheduler import scheduler
from tests.cluster.webhooks import Setting, webhooks

ROOT = Path(__file__).parents[2]
OBSERVE = ROOT / "deploy" / "chart" / "fairlead" / "observe"
NAME = re.compile(r"\b(fairlead_[a-z_]+)")
BOARDS = {"scheduler": "scheduler", "fairness": "scheduler", "tiers": "webhook", "fleet": "fleet", "storage": "storage"}
PROMTOOL = shutil.which("promtool")


def ready(api: Api, port: int) -> None:
    """Wait until the component is ready, and leads."""
    api.wait("it is ready", lambda: page(port, "/readyz") == "ok\n", seconds=120)
    api.wait(
        "it leads", lambda: bool(re.search(r"^fairlead_\w*leader 1", page(port, "/metrics"), re.MULTILINE)), seconds=120
    )


def scraped(plane: ControlPlane, api: Api, kubeconfig: Path, namespace: str, folder: Path) -> dict[str, str]:
    """The metrics of each component, run as a process of its own."""
    karmada.define(api, "karmada.yaml")
    longhorn.install(api)
    ports = {name: free_port() for name in ("scheduler", "fleet")}
    with ExitStack() as running:
        for each in (
            scheduler(
                kubeconfig,
                "--listen",
                f"127.0.0.1:{ports['scheduler']}",
                "--pages",
                "127.0.0.1:0",
                "--no-leader-election",
            ),
            karmada.fleet(kubeconfig, port=ports["fleet"]),
        ):
            running.enter_context(each)
        ports["storage"] = running.enter_context(longhorn.keeper(kubeconfig, namespace)).port
        served = running.enter_context(webhooks(plane, folder, Setting(mode="webhook"), count=1))
        replica = served.replicas[0]
        for port in ports.values():
            ready(api, port)
        api.wait("the webhook leads", lambda: "fairlead_leader 1" in replica.get("/metrics")[1], seconds=120)
        return {name: page(port, "/metrics") for name, port in ports.items()} | {"webhook": replica.get("/metrics")[1]}


def names(text: str) -> set[str]:
    """What a query may ask for."""
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    return set(kinds) | {f"{name}_bucket" for name, kind in kinds.items() if kind == "histogram"}


def series(component: str, text: str) -> list[dict[str, str]]:
    """The samples as constant series of a scraper."""
    found = [{"series": f'up{{job="fairlead-{component}"}}', "values": "1+0x300"}]
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        own = re.sub(r"\bnamespace=", "exported_namespace=", labels)
        where = f'job="fairlead-{component}",namespace="fairlead-system",pod="p"'
        found.append({"series": f"{name}{{{where}{',' if own else ''}{own}}}", "values": f"{value}+0x300"})
    return found


def test_metrics_of_a_real_run(
    control_plane: ControlPlane, api: Api, kubeconfig: Path, namespace: str, kwok_nodes: object, tmp_path: Path
) -> None:
    """Every metric of every alert and dashboard is exposed by the component that it is about; nothing fires."""
    texts = scraped(control_plane, api, kubeconfig, namespace, tmp_path)
    for alert in alerts():
        assert set(NAME.findall(alert.expression)) <= names(texts[alert.component]), alert.name
    for board in DASHBOARDS:
        asked = {
            name
            for panel in render(board)["panels"]
            for each in panel.get("targets", ())
            for name in NAME.findall(each["expr"])
        }
        assert asked <= names(texts[BOARDS[board.name]]), board.name
    if PROMTOOL is None:
        pytest.skip("NOT TESTED with promtool, which is missing (Debian: prometheus)")
    for text in texts.values():
        checked = subprocess.run(
            [PROMTOOL, "check", "metrics"], input=text, capture_output=True, text=True, check=False
        )
        assert "error" not in checked.stderr.lower(), checked.stderr
    quiet = {"expr": 'ALERTS{alertstate="firing"}', "eval_time": "200m", "exp_samples": []}
    tests = [
        {
            "interval": "1m",
            "input_series": [each for name in LEADERS for each in series(name, texts[name])],
            "promql_expr_test": [quiet],
        }
    ]
    file = tmp_path / "healthy.test.yaml"
    rules = [str(path) for path in sorted(OBSERVE.glob("*.rules.yaml"))]
    file.write_text(yaml.safe_dump({"rule_files": rules, "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([PROMTOOL, "test", "rules", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
