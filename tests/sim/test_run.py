"""The loop: arrivals, ends, scaling, outages, gangs and turns, and the numbers that come of them."""

import pytest

from fairlead.sim.events import Timeline
from fairlead.sim.policy import STRATEGIES, SimPolicy
from fairlead.sim.run import _Loop, run
from tests.sim.stories import done, told, workload

FIFO = SimPolicy(name="fifo", fair=False)


def loop_of(policy: SimPolicy | None = None, **fields: object) -> _Loop:
    """A loop that has run to the end, to look inside."""
    loop = _Loop(told(**fields), policy or SimPolicy(name="communism"))
    loop.until_the_end(lambda now: None)
    return loop


def held(loop: _Loop) -> list[int]:
    """Cores used on each node."""
    column = loop.cluster.state.column("cpu")
    assert column is not None
    cores: list[int] = (loop.cluster.state.used[:, column] // 1000).tolist()
    return cores


def cores(loop: _Loop) -> int:
    """Cores of the nodes that are there."""
    return int(loop.cluster.whole[loop.cluster.state.resources.index("cpu")]) // 1000


@pytest.mark.parametrize("policy", [SimPolicy(name="fair"), SimPolicy(name="preempt", preempt=True), FIFO])
def test_gang_that_finds_nodes_for_a_part_of_it_takes_no_room(policy: SimPolicy) -> None:
    """Three replicas of two cores on two nodes of three; both nodes are free for what comes later."""
    nodes = [{"name": "n", "count": 2, "cpu": 3, "memory": "8Gi"}]
    gang, later = workload("gang", 3, gang=3), workload("later", 2, at="10m")
    loop = loop_of(policy, nodes=nodes, workloads=[{**each, "cpu": 2} for each in (gang, later)])
    assert {job.workload.name: job.running for job in loop.jobs.values()} == {"gang": 0, "later": 2}
    assert held(loop) == [2, 2]


def test_replicas_that_fit_start_at_once_and_run_to_their_end() -> None:
    """Eight cores of sixteen for half the hour: a quarter of the whole."""
    record = done(workloads=[workload("a", 8, duration="30m")]).record
    assert (record["completed"], record["unplaced"], record["waiting"]["max"]) == (8, 0, 0.0)
    assert record["utilisation"] == 0.25


def test_what_does_not_fit_waits_until_something_ends() -> None:
    """Sixteen cores are full for ten minutes; the second workload waits exactly those."""
    record = done(workloads=[workload("a", 16, duration="10m"), workload("b", 4, at="4m", duration="5m")]).record
    assert record["completed"] == 20
    assert record["waiting"]["max"] == 6 * 60


def test_replicas_still_waiting_at_the_end_are_counted_with_their_wait() -> None:
    """Four of twenty never start."""
    record = done(workloads=[workload("a", 20)]).record
    assert (record["unplaced"], record["waiting"]["max"]) == (4, 3600.0)
    assert record["running"] == 0.8


def test_scaling_up_starts_more_and_scaling_down_ends_the_youngest() -> None:
    """4 → 8 → 2: two are left, on two nodes."""
    events = [{"at": "10m", "scale": "default/a", "replicas": 8}, {"at": "20m", "scale": "default/a", "replicas": 2}]
    loop = loop_of(workloads=[workload("a", 4)], events=events)
    assert sum(held(loop)) == 2
    assert loop.jobs["default/a"].running == 2
    assert loop.jobs["default/a"].asked == 2


def test_scaling_down_gives_up_those_that_wait_first() -> None:
    """Twenty asked for, sixteen run; scaled to sixteen nothing that runs is touched."""
    loop = loop_of(workloads=[workload("a", 20)], events=[{"at": "5m", "scale": "default/a", "replicas": 16}])
    assert held(loop) == [4, 4, 4, 4]
    assert loop.finish()["unplaced"] == 0


def test_finished_workload_leaves_nothing() -> None:
    """`finish` is a scale to nothing."""
    loop = loop_of(workloads=[workload("a", 5)], events=[{"at": "5m", "finish": "default/a"}])
    assert held(loop) == [0, 0, 0, 0]


def test_lost_node_moves_its_replicas_and_comes_back_empty() -> None:
    """Two of eight stood on the node; they move, and stay away when it is back."""
    events = [{"at": "10m", "fail": {"nodes": ["n-2"]}, "back": "10m"}]
    loop = loop_of(workloads=[workload("a", 8)], events=events)
    record = loop.finish()
    assert (record["evictions"], record["moves"], record["unplaced"]) == (2, 2, 0)
    assert sorted(held(loop)) == [0, 2, 3, 3]
    assert held(loop)[1] == 0


def test_node_that_fails_twice_at_once_loses_its_replicas_once() -> None:
    """Outages overlap: the node is back when the longer one ends, and only then."""
    down = {"at": "10m", "fail": {"nodes": ["n-1"]}, "back": "20m"}
    fields = {"workloads": [workload("a", 4)], "events": [down, {**down, "back": "10m"}]}
    loop = loop_of(**fields)
    assert loop.finish()["evictions"] == 1
    assert cores(loop) == 16
    assert cores(loop_of(until="25m", **fields)) == 12
    assert [label for _, label in loop.story.labels()] == ["1 node goes", "1 node is back"]
    assert [at for at, _ in loop.story.labels()] == [600_000, 1_800_000]
    assert loop.story.lost == 1


def test_node_that_comes_back_and_fails_again_counts_twice() -> None:
    """Beside it one that was away all the time."""
    first = {"at": "10m", "fail": {"nodes": ["n-1", "n-2"]}, "back": "10m"}
    again = {"at": "25m", "fail": {"nodes": ["n-1", "n-2"]}, "back": "5m"}
    longer = {"at": "5m", "fail": {"nodes": ["n-2"]}}
    told = loop_of(workloads=[workload("a", 4)], events=[first, again, longer]).story
    assert [label for _, label in told.labels()] == ["1 node goes", *["1 node goes", "1 node is back"] * 2]
    assert told.lost == 3


def test_node_that_is_lost_for_good_does_not_come_back_with_an_earlier_outage() -> None:
    """It fails for a while, and in that while for ever."""
    fails = {"fail": {"nodes": ["n-1"]}}
    loop = loop_of(workloads=[workload("a", 4)], events=[{"at": "10m", "back": "10m", **fails}, {"at": "15m", **fails}])
    assert cores(loop) == 12
    assert [label for _, label in loop.story.labels()] == ["1 node goes"]


def test_replica_lost_with_its_node_begins_again() -> None:
    """Twenty minutes of work, lost after ten: it ends at thirty."""
    fields = {"nodes": [{"name": "n", "count": 2, "cpu": 1, "memory": "4Gi"}], "until": "29m"}
    events = [{"at": "10m", "fail": {"nodes": ["n-1"]}}]
    work = [workload("a", 1, duration="20m")]
    assert done(workloads=work, events=events, **fields).record["completed"] == 0
    assert done(workloads=work, events=events, **{**fields, "until": "31m"}).record["completed"] == 1


def test_gang_starts_whole_or_not_at_all() -> None:
    """Fourteen cores are taken: a gang of four waits, single replicas do not."""
    busy = workload("busy", 14, duration="20m")
    gang = done(workloads=[busy, workload("gang", 4, gang=4, at="1m")]).record
    single = done(workloads=[busy, workload("single", 4, at="1m")]).record
    assert gang["waiting"]["max"] == 19 * 60
    assert gang["running"] < single["running"]


def test_gang_of_which_some_have_finished_is_not_held_up_by_its_size() -> None:
    """Two of four are lost and two end: the lost ones run again although they are fewer than the gang."""
    loop = loop_of(
        nodes=[{"name": "n", "count": 2, "cpu": 2, "memory": "4Gi"}],
        workloads=[workload("gang", 4, gang=4, duration="20m")],
        events=[{"at": "10m", "fail": {"nodes": ["n-1"]}}],
    )
    assert loop.finish()["completed"] == 4


@pytest.mark.parametrize("policy", [SimPolicy(name="fair"), FIFO], ids=["fair", "fifo"])
def test_gang_of_fewer_replicas_than_it_starts_with_waits_until_it_has_more(policy: SimPolicy) -> None:
    """Three of four, until it is scaled."""
    more = {"at": "10m", "scale": "default/gang", "replicas": 4}
    fields = {"workloads": [workload("gang", 3, gang=4)], "events": [more]}
    assert done(policy, until="9m", **fields).record["placed"] == 0
    assert done(policy, **fields).record["placed"] == 4


def test_fair_queue_lets_the_namespace_with_less_go_first() -> None:
    """A flood of one namespace; the other comes later and waits less under fair share than first come, first served."""
    work = [
        workload("flood", 4, namespace="many", times=40, every="10s", duration="5m"),
        workload("late", 4, namespace="few", at="8m", duration="5m"),
    ]
    fair, fifo = done(workloads=work).record, done(FIFO, workloads=work).record
    assert fair["waitingByNamespace"]["few"]["max"] < fifo["waitingByNamespace"]["few"]["max"]
    assert fair["fairness"] > fifo["fairness"]


def test_queue_takes_no_more_than_its_capability() -> None:
    """Four cores for the queue although sixteen are free."""
    loop = loop_of(queues=[{"name": "q", "capability": {"cpu": 4}}], workloads=[workload("a", 8, queue="q")])
    assert sum(held(loop)) == 4


def test_unknown_queue_starts_nothing() -> None:
    """A queue that nobody declared grants nothing."""
    assert done(workloads=[workload("a", 2, queue="nowhere")]).record["placed"] == 0


def test_tiers_keep_the_minimum_on_demand_and_policy_may_ignore_them() -> None:
    """Half of eight on demand; without tiers most-free spreads them by room alone."""
    nodes = [
        {"name": "od", "count": 1, "cpu": 8, "memory": "32Gi", "tier": "on-demand"},
        {"name": "spot", "count": 3, "cpu": 8, "memory": "32Gi", "tier": "spot"},
    ]
    work = [workload("web", 8, tier="50%")]
    assert done(nodes=nodes, workloads=work).record["onDemandShare"] == 0.5
    bare = SimPolicy(name="bare", strategy="most-free", tiers=False)
    assert done(bare, nodes=nodes, workloads=work).record["onDemandShare"] == 0.25
    assert done(nodes=nodes, workloads=[workload("a", 3, tier="on-demand")]).record["onDemandShare"] == 1.0
    assert done(nodes=nodes, workloads=[workload("a", 3, tier="spot")]).record["onDemandShare"] == 0.0


STRATEGY_CASES = {
    "auto": [2, 2, 2, 2],
    "global-greedy": [2, 2, 2, 2],
    "most-free": [2, 2, 2, 2],
    "spread": [2, 2, 2, 2],
    "bin-pack": [4, 4, 0, 0],
    "first-fit": [4, 4, 0, 0],
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_places_eight_on_four_empty_nodes(name: str) -> None:
    """What each built-in policy does with an empty cluster."""
    loop = loop_of(SimPolicy(name=name, strategy=name), workloads=[workload("a", 8)])
    assert held(loop) == STRATEGY_CASES[name]


def test_bin_pack_prefers_the_fuller_node_and_spread_the_one_with_fewer_replicas() -> None:
    """One large replica on n-1, then a small one."""
    work = [workload("big", 1, cpu=3), workload("small", 1, at="1m")]
    packed = loop_of(SimPolicy(name="p", strategy="bin-pack"), workloads=work)
    spread = loop_of(SimPolicy(name="s", strategy="spread"), workloads=work)
    assert held(packed) == [4, 0, 0, 0]
    assert held(spread) == [3, 1, 0, 0]


def test_soft_spread_follows_replicas_that_come_and_go() -> None:
    """Zones stay even through a scale-up and an outage; the population ends with exactly those that run."""
    nodes = [{"name": "n", "count": 4, "cpu": 8, "memory": "16Gi", "zones": ["a", "b"]}]
    events = [
        {"at": "10m", "fail": {"labels": {"zone": "a"}}, "back": "5m"},
        {"at": "30m", "scale": "default/a", "replicas": 8},
        {"at": "40m", "scale": "default/a", "replicas": 3},
    ]
    loop = loop_of(nodes=nodes, workloads=[workload("a", 4, spread="zone")], events=events)
    view = loop.cluster.nodes.population
    assert len(view.rows) == 3
    assert sorted(view.rows.tolist()) == sorted(row for row, cores in enumerate(held(loop)) for _ in range(cores))


def test_same_seed_same_result_other_seed_another() -> None:
    """Everything that is drawn comes from the seed."""
    fields = {
        "generate": [{"name": "g", "arrivals": 60, "replicas": [1, 3], "duration": "5m"}],
        "lives": [{"meanLife": "40m", "back": "1m"}],
    }
    first, again = done(**fields), done(**fields)
    assert first.record == again.record
    assert first.series == again.series
    assert done(seed=2, **fields).record != first.record


def test_progress_is_told_now_and_then_and_at_the_end() -> None:
    """Two hundred instants at which something happens are told in steps of 64, and the end always."""
    told_at: list[int] = []
    arrivals = workload("a", 1, every="10s", times=200)
    run(told(workloads=[arrivals], cycle="1ms"), SimPolicy(name="communism", fair=False), told_at.append)
    assert told_at[-1] == 3_600_000
    assert 3 <= len(told_at) <= 8
    assert told_at == sorted(told_at)


def test_ctrl_c_ends_the_run_with_what_there_is() -> None:
    """The record of the time so far."""

    def stop(now: int) -> None:
        raise KeyboardInterrupt

    story: Timeline = told(generate=[{"name": "g", "arrivals": 500, "duration": "1m"}])
    result = run(story, SimPolicy(name="communism"), stop)
    assert result.interrupted
    assert 0 < result.record["placed"] < 500


def test_books_balance_after_a_turbulent_day() -> None:
    """Used amounts, replicas and holdings equal the sums over what runs."""
    loop = loop_of(
        generate=[
            {"name": "g", "arrivals": 300, "replicas": [1, 6], "duration": "10m", "namespaces": {"a": 1, "b": 2}}
        ],
        lives=[{"meanLife": "20m", "back": "3m"}],
        events=[{"at": "30m", "fail": {"share": "50%"}, "back": "5m"}],
    )
    running = sum(batch.size for batch in loop.cluster.batches.values())
    assert loop.cluster.replicas == running == sum(job.running for job in loop.jobs.values())
    assert sum(held(loop)) == running
    assert sum(loop.waiting.by_namespace.values()) == sum(job.lacking for job in loop.jobs.values())
    cpu = loop.cluster.state.resources.index("cpu")
    assert sum(int(amounts[cpu]) for amounts in loop.turns.held.values()) == 1000 * running
    assert (loop.cluster.state.used <= loop.cluster.state.allocatable).all()
