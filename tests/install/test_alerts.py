"""Every alert fires when it should and is quiet when it should be, by Prometheus' own rules (`promtool`)."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.observe.alerts import LEADERS, alerts

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "deploy" / "chart" / "fairlead" / "observe").glob("*.rules.yaml"))
PROMTOOL = shutil.which("promtool")
pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="NOT TESTED: promtool is missing (Debian: prometheus)")

STEADY, CLIMBS, ZERO, ONE = "7+0x300", "0+9x300", "0+0x300", "1+0x300"
LATE = "200m"
"""When everything has lasted long enough."""
DAY = 86400

CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    # Alert: series with which it fires, series with which it is quiet.
    "FairleadWatchBehind": (
        {'fairlead_watch_current{resource="nodes"}': ZERO},
        {'fairlead_watch_current{resource="nodes"}': ONE},
    ),
    "FairleadSetAside": ({'fairlead_set_aside{kind="Pod"}': STEADY}, {'fairlead_set_aside{kind="Pod"}': ZERO}),
    "FairleadDefect": ({"fairlead_defects_total": CLIMBS}, {"fairlead_defects_total": STEADY}),
    "FairleadCycleStuck": (
        {'fairlead_pending_pods{state="awake"}': STEADY, "fairlead_cycles_total": STEADY},
        {'fairlead_pending_pods{state="awake"}': STEADY, "fairlead_cycles_total": CLIMBS},
    ),
    "FairleadNeedsPeople": (
        {'fairlead_waiting_pods{reason="ClaimMissing", cure="edit"}': STEADY},
        {'fairlead_waiting_pods{reason="InsufficientRoom", cure="room"}': STEADY},
    ),
    "FairleadEvictionsRefused": (
        {'fairlead_refused_evictions_total{why="PROTECTED"}': CLIMBS},
        {'fairlead_refused_evictions_total{why="GONE"}': CLIMBS},
    ),
    "FairleadBindsFail": (
        {"fairlead_failed_binds_total": CLIMBS, "fairlead_bound_pods_total": CLIMBS},
        {"fairlead_failed_binds_total": "0+1x300", "fairlead_bound_pods_total": CLIMBS},
    ),
    "FairleadCacheDiffers": ({"fairlead_cache_differences": ONE}, {"fairlead_cache_differences": ZERO}),
    "FairleadLedgerContention": (
        {"fairlead_ledger_conflicts": CLIMBS, "fairlead_ledger_writes": "0+3x300"},
        {"fairlead_ledger_conflicts": "0+3x300", "fairlead_ledger_writes": CLIMBS},
    ),
    "FairleadAdmissionFails": (
        {'fairlead_admission_failures_total{status="500"}': CLIMBS},
        {'fairlead_admission_failures_total{status="500"}': STEADY},
    ),
    "FairleadAdmissionSlow": (
        {
            f'fairlead_admission_seconds_bucket{{le="{le}"}}': more
            for le, more in (("1", "0+1x300"), ("5", "0+9x300"), ("+Inf", "0+9x300"))
        },
        {f'fairlead_admission_seconds_bucket{{le="{le}"}}': "0+9x300" for le in ("0.1", "1", "+Inf")},
    ),
    "FairleadCertificateEnds": (
        {"fairlead_certificate_end_seconds": f"{6 * DAY}+0x300"},
        {"fairlead_certificate_end_seconds": f"{9 * DAY}+0x300"},
    ),
    "FairleadFleetWaits": ({"fairlead_fleet_waiting_bindings": STEADY}, {"fairlead_fleet_waiting_bindings": ZERO}),
    "FairleadFleetWritesRefused": (
        {'fairlead_fleet_refused_writes_total{cause="other"}': CLIMBS},
        {'fairlead_fleet_refused_writes_total{cause="other"}': STEADY},
    ),
    "FairleadNoDisk": ({"fairlead_storage_unscheduled_replicas": ONE}, {"fairlead_storage_unscheduled_replicas": ZERO}),
    "FairleadStorageWritesRefused": (
        {'fairlead_storage_refused_writes_total{cause="other"}': CLIMBS},
        {'fairlead_storage_refused_writes_total{cause="other"}': "0+0.1x300"},
    ),
}


def leaders(component: str) -> tuple[dict[str, str], dict[str, str]]:
    """Two instances: none leads, or one does."""
    metric = LEADERS[component]
    return {f"{metric}{{pod='a'}}": ZERO, f"{metric}{{pod='b'}}": ZERO}, {
        f"{metric}{{pod='a'}}": ZERO,
        f"{metric}{{pod='b'}}": ONE,
    }


def labelled(series: str, component: str) -> str:
    """As a scraper writes it: with the job and where it runs."""
    name, _, rest = series.partition("{")
    given = rest.rstrip("}").replace("'", '"')
    where = f'job="fairlead-{component}", namespace="fairlead-system"' + ("" if "pod=" in given else ', pod="p"')
    return f"{name}{{{where}{', ' if given else ''}{given}}}"


def case(name: str, component: str, series: dict[str, str], fires: bool) -> dict[str, Any]:
    """One test of promtool: how often the alert fires."""
    found = [{"labels": "{}", "value": 1}] if fires else []
    asked = f'count(ALERTS{{alertname="{name}", alertstate="firing", component="{component}"}})'
    return {
        "name": f"{component} {name} {'fires' if fires else 'is quiet'}",
        "interval": "1m",
        "input_series": [{"series": labelled(each, component), "values": text} for each, text in series.items()],
        "promql_expr_test": [{"expr": asked, "eval_time": LATE, "exp_samples": found}],
    }


def cases() -> list[dict[str, Any]]:
    """Both sides of every alert of every component."""
    made = []
    for alert in alerts():
        fires, quiet = CASES.get(alert.name) or (
            leaders(alert.component) if alert.name == "FairleadNoLeader" else ({"up": ZERO}, {"up": ONE})
        )
        made += [case(alert.name, alert.component, fires, True), case(alert.name, alert.component, quiet, False)]
    return made


def run(*words: str) -> str:
    """promtool, which must be content."""
    done = subprocess.run([str(PROMTOOL), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_rules_are_well_formed() -> None:
    """As Prometheus loads them."""
    assert run("check", "rules", *map(str, RULES)).count("SUCCESS") == len(LEADERS)


def test_each_alert_fires_and_is_quiet_as_it_should(tmp_path: Path) -> None:
    """On made-up series, hours long."""
    tests = {"rule_files": [str(path) for path in RULES], "evaluation_interval": "1m", "tests": cases()}
    file = tmp_path / "alerts.test.yaml"
    file.write_text(yaml.safe_dump(tests))
    run("test", "rules", str(file))
    assert {each.name for each in alerts()} == set(CASES) | {"FairleadAbsent", "FairleadNoLeader"}
