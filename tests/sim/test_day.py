"""The day of the bench at a small size: it runs, and its books are plausible."""

from bench.simulate import day

from fairlead.sim.policy import SimPolicy
from fairlead.sim.run import run


def test_small_day_places_everything_where_there_is_room() -> None:
    """Ten nodes, two hundred arrivals."""
    record = run(day(10, 200, "30m"), SimPolicy(name="communism")).record
    assert record["unplaced"] == 0
    assert record["completed"] > 700
    assert 0.05 < record["utilisation"] < 0.5


def test_small_day_with_too_little_room_keeps_the_nodes_busy() -> None:
    """Two nodes for 120 arrivals: somebody always waits."""
    record = run(day(2, 120, "3h"), SimPolicy(name="communism")).record
    assert record["unplaced"] > 0
    assert record["utilisation"] > 0.8
