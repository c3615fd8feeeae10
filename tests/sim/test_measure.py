"""What a run is judged by: numbers that can be worked out by hand on four nodes of four cores."""

import pytest

from fairlead.sim.policy import SimPolicy
from tests.sim.stories import done, workload

PACKED = SimPolicy(name="bin-pack", strategy="bin-pack")


def test_evenness_is_one_where_nodes_are_level_and_a_quarter_where_one_has_all() -> None:
    """Four replicas, one on each node; or all on one of four."""
    assert done(workloads=[workload("a", 4)]).record["evenness"] == 1.0
    assert done(PACKED, workloads=[workload("a", 4)]).record["evenness"] == 0.25


def test_evenness_goes_by_the_fuller_of_cpu_and_memory() -> None:
    """A core is a quarter of a node, 8Gi are half of it: one node with 8Gi and one with two cores are level."""
    nodes = [{"name": "n", "count": 2, "cpu": 4, "memory": "16Gi"}]
    works = [workload("cpu", 1, cpu=2, memory="1Gi"), workload("memory", 1, cpu=1, memory="8Gi", at="0s")]
    assert done(nodes=nodes, workloads=works).record["evenness"] == 1.0


def test_nodes_that_are_down_do_not_count() -> None:
    """Three of four are down after a minute: what is left is even with itself, and the fullest."""
    events = [{"at": "1m", "fail": {"nodes": ["n-2", "n-3", "n-4"]}}]
    found = done(PACKED, workloads=[workload("a", 4)], events=events)
    assert found.series.nodes[0] == 4
    assert found.series.nodes[-1] == 1
    assert found.series.evenness[-1] == 1.0
    assert found.series.use[-1] == 1.0


def test_use_and_waiting_are_sampled_in_step() -> None:
    """Twenty replicas on sixteen cores: all are used, four wait, at 240 instants of the hour."""
    series = done(workloads=[workload("a", 20)]).series
    assert len(series.time_s) == 240
    assert series.time_s[:3] == [0.0, 15.0, 30.0]
    assert set(series.use[1:]) == {1.0}
    assert set(series.waiting[1:]) == {4}


def test_waits_are_told_by_mean_95th_percentile_and_longest() -> None:
    """Of twenty single replicas on one core each waits for those before it: 0, 1, 2 … minutes."""
    nodes = [{"name": "n", "count": 1, "cpu": 1, "memory": "16Gi"}]
    works = [workload(f"w{number:02}", 1, duration="1m") for number in range(20)]
    waits = done(nodes=nodes, workloads=works, cycle="1s").record["waiting"]
    assert waits == {"mean": 570.0, "p95": 18 * 60.0, "max": 19 * 60.0}


def test_waits_are_told_for_each_namespace() -> None:
    """The one that finds room waits for nothing, the other until the end of the hour."""
    works = [workload("a", 16, namespace="first"), workload("b", 1, namespace="second", at="30m")]
    by_namespace = done(workloads=works).record["waitingByNamespace"]
    assert {name: waits["max"] for name, waits in by_namespace.items()} == {"first": 0.0, "second": 1800.0}


@pytest.mark.parametrize(("replicas", "running", "used"), [(8, 1.0, 0.5), (16, 1.0, 1.0), (32, 0.5, 1.0)])
def test_running_is_the_part_of_what_is_asked_for_and_utilisation_that_of_the_nodes(
    replicas: int, running: float, used: float
) -> None:
    """Over the whole hour on sixteen cores."""
    record = done(workloads=[workload("a", replicas)]).record
    assert (record["running"], record["utilisation"]) == (running, used)


def test_an_hour_in_which_nothing_comes_is_even_fair_and_unused() -> None:
    """The only workload would come a minute after the end."""
    record = done(workloads=[workload("late", 1, at="61m")]).record
    assert (record["evenness"], record["fairness"], record["utilisation"], record["running"]) == (1.0, 1.0, 0.0, 0.0)
    assert record["waiting"] == {"mean": 0.0, "p95": 0.0, "max": 0.0}


def test_a_namespace_that_waits_beside_one_that_has_all_is_unfair() -> None:
    """Both weigh the same; one holds everything for the hour."""
    works = [workload("a", 16, namespace="first"), workload("b", 16, namespace="second", at="1m")]
    record = done(workloads=works).record
    assert record["fairness"] == pytest.approx(0.5, abs=0.01)
