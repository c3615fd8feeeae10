"""The record of a simulation, and its rows as text."""

from fairlead.pictures.simulation import rows_of
from fairlead.sim.events import Outage, Scale, Timeline
from fairlead.sim.film import Film
from fairlead.sim.policy import SimPolicy
from fairlead.sim.report import record
from fairlead.sim.run import run
from tests.sim.stories import told, workload


def story() -> Timeline:
    """Two namespaces, one of which waits."""
    return told(name="a day", workloads=[workload("a", 12, namespace="x"), workload("b", 12, namespace="y")])


def test_rows_tell_the_mean_wait_of_each_namespace() -> None:
    """Where there are several."""
    titles = [row[0] for row in rows_of([run(story(), SimPolicy(name="one")).record])]
    assert "waiting, mean of x" in titles
    assert "waiting, mean of y" in titles


def test_record_has_as_many_samples_as_moments() -> None:
    """Series are in step, those of single resources too."""
    result = record(story(), [run(story(), SimPolicy(name="one"))])
    series = result["policies"][0]["series"]
    resources = series.pop("resources")
    assert {len(column) for column in (*series.values(), *resources.values())} == {240}
    assert "pods" not in resources
    assert (result["nodes"], result["arrivals"], result["interrupted"]) == (4, 2, False)


def test_shares_are_sampled_with_a_film_only() -> None:
    """Each queue and namespace has as many samples as there are moments; shares of the whole are at most 1."""
    film = Film(story())
    series = record(story(), [run(story(), SimPolicy(name="one"), film=film)])["policies"][0]["series"]
    assert [(each["kind"], each["name"]) for each in series["shares"]] == [
        ("queue", "default"),
        ("namespace", "x"),
        ("namespace", "y"),
    ]
    columns = [column for each in series["shares"] for kind in ("used", "deserved") for column in each[kind].values()]
    assert {len(column) for column in columns} == {240}
    assert all(0 <= value <= 1 for column in columns for value in column)


def test_events_are_told_in_order_of_time() -> None:
    """Outages, returns and scalings before the end."""
    end = story().until_ms
    changed = Timeline(
        name="",
        seed=1,
        until_ms=end,
        cycle_ms=1000,
        nodes=story().nodes,
        scales=(Scale(at_ms=2000, title="x/a", replicas=3),),
        outages=(Outage(at_ms=1000, rows=(0, 1), back_ms=3000), Outage(at_ms=end, rows=(2,))),
    )
    assert changed.labels() == [
        (1000, "2 nodes go"),
        (2000, "x/a has 3 replicas"),
        (3000, "2 nodes are back"),
    ]
