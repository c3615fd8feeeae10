"""Alerts in the form that Prometheus reads: one file of one group for each component."""

from collections.abc import Iterator
from typing import Any

import yaml

from tools.observe.alerts import LEADERS, Alert, alerts

RUNBOOK = "docs/alerts.md"
NOTE = "# Made by `make manifests` from tools/observe/alerts.py.\n"


def rule_files() -> Iterator[tuple[str, str]]:
    """Every file with its text."""
    for component in LEADERS:
        rules = [_rule(each) for each in alerts() if each.component == component]
        groups = {"groups": [{"name": f"fairlead-{component}", "rules": rules}]}
        yield f"{component}.rules.yaml", NOTE + yaml.safe_dump(groups, sort_keys=False, width=120)


def anchor(name: str) -> str:
    """The heading of an alert on the page of runbooks, as browsers know it."""
    return name.lower()


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.lasting,
        "labels": {"severity": alert.severity, "component": alert.component},
        "annotations": {"summary": alert.summary, "runbook": f"{RUNBOOK}#{anchor(alert.name)}"},
    }
