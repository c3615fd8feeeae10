"""The files of alerts and dashboards that the chart carries."""

import json
from collections.abc import Iterator
from pathlib import Path

from tools.observe.dashboards import DASHBOARDS
from tools.observe.panels import render
from tools.observe.rules import rule_files


def observe_files(chart: Path) -> Iterator[tuple[Path, str]]:
    """Every file with its text."""
    for name, text in rule_files():
        yield chart / "observe" / name, text
    for board in DASHBOARDS:
        yield chart / "observe" / f"{board.name}.dashboard.json", json.dumps(render(board), indent=2) + "\n"
