"""What a notebook shows: well-formed HTML in which every name is text."""

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import fairlead
from fairlead.pictures.html.parts import Html, bar, chart, html, table

EXAMPLES = Path(__file__).parents[2] / "examples"
EVIL = "<script>alert(1)</script><b>'\"&[bold]x[/bold][/"
VOID = {"rect", "polyline"}


class Page(HTMLParser):
    """The elements of a piece of HTML, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""
        self.labels: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)
        self.labels += [value for name, value in attrs if name == "aria-label"]
        assert not any(name.startswith("on") or name in ("src", "href") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(answer: Any) -> Page:
    """What a notebook shows of the answer; only elements that a picture is made of."""
    page = Page(answer._repr_html_())
    allowed = {"div", "p", "b", "pre", "span", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert set(page.seen) <= allowed | {"svg", "title", "rect", "polyline", "text"}
    return page


def node(name: str, **labels: str) -> dict[str, Any]:
    """A node of four cores."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}},
    }


def workload(name: str, replicas: int) -> dict[str, Any]:
    """A Deployment of one core a replica."""
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "<i>ns</i>"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [container]}},
        },
    }


def answers() -> dict[str, Any]:
    """An answer of every kind in which names are HTML and markup."""
    cluster = fairlead.read(node(EVIL), node("n2"), workload(EVIL, 9))
    planned = fairlead.plan(cluster)
    disks = [{"name": EVIL, "usable": "4Gi"}]
    pool = [{"name": EVIL, "cpu": "4", "memory": "8Gi"}]
    return {
        "plan": planned,
        "explain": planned.explain(f"<i>ns</i>/{EVIL}"),
        "what_if": fairlead.what_if(planned, drain="n2"),
        "divide": fairlead.divide({"workload": {"name": EVIL, "replicas": 3}, "clusters": [{"name": EVIL}]}),
        "share": fairlead.share(
            {"total": {"cpu": 1}, "queues": [{"name": EVIL}],
             "jobs": [{"name": EVIL, "queue": EVIL, "replicas": 3, "request": {"cpu": 1}}]}
        ),
        "place": fairlead.place({"strategy": "auto", "count": 2, "request": {"cpu": "1"}, "nodes": pool}),
        "balance": fairlead.balance({"size": "1Gi", "nodes": [{"name": EVIL, "disks": disks}]}),
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["plan", "explain", "what_if", "divide", "share", "place", "balance"])
def test_names_with_html_are_shown_as_text(kind: str) -> None:
    """Neither HTML nor a terminal's markup in a name does anything."""
    answer = answers()[kind]
    page = shown(answer)
    assert "script" not in page.seen
    assert EVIL in page.text or any(EVIL in label for label in page.labels)
    assert EVIL in str(answer).replace("\n", "") or kind in ("plan", "what_if")  # long names are folded in a table
    assert "[bold]" in str(answer)


def test_plan_shows_workloads_nodes_and_reasons() -> None:
    """The numbers of the record, and a bar for every node."""
    page = shown(fairlead.plan(EXAMPLES / "shop"))
    assert page.seen.count("svg") == 12
    for said in ("analytics/report", "Cluster west: 7 nodes", "queue batch may hold 36", "cart-data", "6 replicas"):
        assert said in page.text
    assert "west-od-1: 19%, then 100%" in page.labels


def test_simulation_plots_every_resource_that_is_used() -> None:
    """The GPU example plots GPUs, with a line a policy and a legend."""
    folder = EXAMPLES / "gpu-queue"
    page = shown(fairlead.simulate(folder / "scenario.yaml", policies=["communism", folder / "fifo.yaml"], until="2h"))
    assert "use of nvidia.com/gpu" in page.labels
    assert "replicas that wait" in page.labels
    assert page.seen.count("polyline") == 2 * page.seen.count("svg")
    assert "evenness of nodes" in page.text


def test_split_and_moves_show_themselves() -> None:
    """The patch as a table; moves with their way."""
    review = json.loads((EXAMPLES / "tiers/review.json").read_text())
    page = shown(fairlead.split(review, state=EXAMPLES / "tiers/cluster.yaml"))
    assert "/spec/affinity/nodeAffinity" in page.text
    problem = {
        "nodes": [
            {"name": "a", "disks": [{"name": "d", "available": "100Gi", "scheduled": "90Gi", "maximum": "100Gi"}]},
            {"name": "b", "disks": [{"name": "d", "available": "100Gi", "maximum": "100Gi"}]},
        ],
        "volumes": [{"name": "mail", "size": "30Gi", "existing": [{"node": "a", "disk": "d"}]}],
        "rebalance": {"target": 0.5},
    }
    moved = fairlead.balance(problem)
    assert [(each["volume"], each["from"], each["to"]) for each in moved.moves] == [
        ("mail", {"node": "a", "disk": "d"}, {"node": "b", "disk": "d"})
    ]
    assert "a/d" in shown(moved).text


def test_parts_escape_what_is_not_html() -> None:
    """In a cell, a caption, a label and a legend."""
    assert html(EVIL) == "&lt;script&gt;alert(1)&lt;/script&gt;&lt;b&gt;&#x27;&quot;&amp;[bold]x[/bold][/"
    assert html(Html("<b>")) == "<b>"
    for piece in (
        table(EVIL, [EVIL], [[EVIL]]),
        bar([(0.5, "red")], EVIL),
        chart(EVIL, {EVIL: [0, 1]}, {EVIL: [1, 0]}),
    ):
        page = Page(piece)
        assert "script" not in page.seen
        assert EVIL in page.text


def test_bars_stay_within_their_width() -> None:
    """Parts lie side by side; what is beyond the whole is cut, what is below nothing is not drawn."""
    drawn = bar([(0.5, "red"), (-1, "green"), (0.75, "blue")], "x")
    assert '<rect x="0.0" width="120.0" height="12" fill="red"/>' in drawn
    assert '<rect x="120.0" width="120.0" height="12" fill="blue"/>' in drawn
    assert "green" not in drawn


def test_chart_goes_in_steps() -> None:
    """A value holds until the next one: two points for every change."""
    drawn = chart("use", {"a": [0, 5, 10]}, {"a": [2, 4, 0]})
    assert 'points="34.0,90.0 337.0,90.0 337.0,4.0 640.0,4.0 640.0,176.0"' in drawn
