"""The report: one file, well formed, with nothing from outside."""

from xml.etree import ElementTree

from fairlead.sim.chart import COLOURS, Line, chart
from fairlead.sim.events import Story
from fairlead.sim.page import page, rows_of
from fairlead.sim.policy import SimPolicy
from fairlead.sim.report import record
from fairlead.sim.run import run
from tests.sim.stories import told, workload

SVG = "{http://www.w3.org/2000/svg}"


def story() -> Story:
    """Two namespaces, one of which waits."""
    return told(name="a <day> & more", workloads=[workload("a", 12, namespace="x"), workload("b", 12, namespace="y")])


def test_page_is_well_formed_and_closed_in_itself() -> None:
    """It parses, names every policy, has a chart for each measure, and neither scripts nor links."""
    policies = [SimPolicy(name="one"), SimPolicy(name="<two>", strategy="bin-pack")]
    text = page(record(story(), [run(story(), policy) for policy in policies]))
    tree = ElementTree.fromstring(text.partition("\n")[2])
    assert len(list(tree.iter(f"{SVG}svg"))) == 5
    assert len(list(tree.iter(f"{SVG}path"))) == 10
    assert "&lt;two&gt;" in text
    assert "a &lt;day&gt; &amp; more" in text
    assert not any(word in text for word in ("<script", "<link", "src=", "@import", "url("))


def test_rows_tell_the_mean_wait_of_each_namespace() -> None:
    """Where there are several."""
    titles = [row[0] for row in rows_of([run(story(), SimPolicy(name="one")).record])]
    assert "waiting, mean of x" in titles
    assert "waiting, mean of y" in titles


def test_chart_draws_steps_within_its_frame() -> None:
    """A value above the scale stays inside; a seventh line is dashed."""
    lines = [Line(name=str(n), values=[0, 2, 1]) for n in range(COLOURS + 1)]
    text = chart("use", [0, 1, 2], lines, end=2, most=1.0)
    paths = [path.get("d", "") for path in ElementTree.fromstring(text).iter(f"{SVG}path")]
    assert paths[0] == "M56.0 192.0H382.0V12.0H708.0V12.0"
    assert "dashed" in text


def test_chart_of_nothing_is_still_a_chart() -> None:
    """An interrupted run may have no samples."""
    assert ElementTree.fromstring(chart("nothing", [], [Line(name="a", values=[])], end=1)).tag == f"{SVG}svg"


def test_record_has_as_many_samples_as_moments() -> None:
    """Series are in step."""
    result = record(story(), [run(story(), SimPolicy(name="one"))])
    series = result["policies"][0]["series"]
    assert {len(column) for column in series.values()} == {240}
    assert (result["nodes"], result["arrivals"], result["interrupted"]) == (4, 2, False)
