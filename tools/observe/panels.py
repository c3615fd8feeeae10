"""Grafana's form of a dashboard: rows of panels on a grid of 24 columns, each panel a few queries on Prometheus."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

COLUMNS, HEIGHT = 24, 8
SOURCE = {"type": "prometheus", "uid": "${source}"}


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart, or with `single` the last value alone. `queries` are PromQL by legend, `unit` is one of Grafana's."""

    title: str
    about: str
    queries: Mapping[str, str]
    _: KW_ONLY
    unit: str = "short"
    single: bool = False
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A page of Grafana. `name` is its file and its stable address; a row is a heading and panels side by side."""

    name: str
    rows: Mapping[str, Sequence[Panel]]


def render(board: Dashboard) -> dict[str, Any]:
    """The JSON that Grafana imports."""
    return {
        "uid": f"fairlead-{board.name}",
        "title": f"Fairlead / {board.name.title()}",
        "tags": ["fairlead"],
        "schemaVersion": 41,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_choice_of_source(), _choice_of_namespace()]},
        "links": [_link()],
        "panels": _placed(board.rows),
    }


def _choice_of_source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _choice_of_namespace() -> dict[str, Any]:
    return {
        "name": "namespace",
        "label": "Namespace of Fairlead",
        "type": "query",
        "datasource": SOURCE,
        "query": "label_values(fairlead_watch_current, namespace)",
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _link() -> dict[str, Any]:
    return {"title": "Fairlead", "type": "dashboards", "tags": ["fairlead"], "asDropdown": True, "keepTime": True}


def _placed(rows: Mapping[str, Sequence[Panel]]) -> list[dict[str, Any]]:
    """Every row below the one before, its panels as wide as they may be."""
    placed: list[dict[str, Any]] = []
    top = 0
    for title, panels in rows.items():
        placed.append(_heading(title, top, len(placed) + 1))
        width = COLUMNS // len(panels)
        for place, panel in enumerate(panels):
            where = {"x": place * width, "y": top + 1, "w": width, "h": HEIGHT}
            placed.append({**_panel(panel), "id": len(placed) + 1, "gridPos": where})
        top += 1 + HEIGHT
    return placed


def _heading(title: str, top: int, number: int) -> dict[str, Any]:
    where = {"x": 0, "y": top, "w": COLUMNS, "h": 1}
    return {"type": "row", "title": title, "id": number, "gridPos": where, "collapsed": False, "panels": []}


def _panel(panel: Panel) -> dict[str, Any]:
    custom = {"fillOpacity": 30 if panel.stacked else 5, "stacking": {"mode": "normal" if panel.stacked else "none"}}
    return {
        "type": "stat" if panel.single else "timeseries",
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, "custom": custom}, "overrides": []},
        "options": {} if panel.single else {"tooltip": {"mode": "multi"}, "legend": {"showLegend": True}},
        "targets": [
            {"refId": chr(ord("A") + place), "expr": expression, "legendFormat": legend, "datasource": SOURCE}
            for place, (legend, expression) in enumerate(panel.queries.items())
        ],
    }
