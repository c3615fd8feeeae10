"""Room that is taken from others, and room that is kept for a gang: policies with `preempt` and `reserveAfter`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.errors import InputError
from fairlead.model.tiers import CAPACITY
from fairlead.sim.policy import SimPolicy, policy_of
from fairlead.sim.run import Run, _Loop
from fairlead.sim.scenario import scenario_of
from fairlead.sim.timeline import story
from tests.sim.stories import done, workload
from tests.sim.test_as_planned import node, site_of
from tests.sim.test_as_planned import workload as deployment
from tests.sim.test_run import held, loop_of

PREEMPT = SimPolicy(name="preempt", preempt=True)
RESERVE = SimPolicy(name="reserve", reserve_after_ms=5 * 60_000)


def waited(run: Run, namespace: str) -> float:
    """The longest wait of a namespace, in seconds."""
    longest: float = run.record["waitingByNamespace"][namespace]["max"]
    return longest


def test_a_gang_of_higher_priority_takes_the_room_of_lower_ones() -> None:
    """Sixteen cores are taken for the hour; four are given up at once, no more, and wait in turn."""
    workloads = [
        workload("low", 16, namespace="a"),
        workload("high", 4, namespace="b", gang=4, priority=10, at="10m", duration="20m"),
    ]
    plain, run = done(workloads=workloads), done(PREEMPT, workloads=workloads)
    assert plain.record["preemptions"] == 0
    assert waited(plain, "b") == 50 * 60
    assert (run.record["preemptions"], run.record["evictions"], run.record["moves"]) == (4, 4, 4)
    assert waited(run, "b") <= 10
    assert run.record["completed"] == 4


def test_nobody_is_evicted_for_a_gang_that_would_not_fit() -> None:
    """Seventeen of sixteen cores: evicting all would not help."""
    run = done(PREEMPT, workloads=[workload("low", 16), workload("high", 17, gang=17, priority=10, at="1m")])
    assert run.record["preemptions"] == 0
    assert run.record["unplaced"] == 17


def test_nobody_is_evicted_for_a_resource_that_no_node_has() -> None:
    """There are cores enough, but no node has a GPU."""
    high = workload("high", 2, gang=2, priority=10, at="1m", resources={"nvidia.com/gpu": 1})
    run = done(PREEMPT, workloads=[workload("low", 16), high])
    assert (run.record["preemptions"], run.record["unplaced"]) == (0, 2)


def test_a_namespace_below_its_weight_takes_back_its_share() -> None:
    """Research holds everything; production weighs three times as much and gets its gangs in, up to its share."""
    workloads = [
        *(workload(f"sweep-{row}", 4, namespace="research", gang=4) for row in range(4)),
        *(workload(f"train-{row}", 4, namespace="production", gang=4, at="10m") for row in range(4)),
    ]
    loop = loop_of(PREEMPT, workloads=workloads, namespaces={"production": 3, "research": 1})
    running = {
        space: sum(job.running for job in loop.jobs.values() if job.workload.namespace == space)
        for space in ("production", "research")
    }
    assert running == {"production": 12, "research": 4}
    assert loop.measures.preemptions == 12


STREAM = [
    workload("small", 1, namespace="small", every="1m", times=60, duration="12m"),
    workload("filler", 5, namespace="small", duration="4m"),
    workload("large", 14, namespace="large", gang=14, at="4m", duration="10m"),
]


def test_a_stream_of_small_jobs_starves_a_gang_unless_room_is_kept() -> None:
    """Twelve small replicas run at any time and the gang needs fourteen of sixteen cores at once."""
    assert done(workloads=STREAM).record["unplaced"] > 0
    run = done(RESERVE, workloads=STREAM)
    assert waited(run, "large") < 20 * 60
    assert run.record["preemptions"] == 0


def test_evicted_replicas_are_those_of_the_tier_that_stands_there() -> None:
    """Half of a tiered workload must be on demand; a gang that needs an on-demand node takes from there."""
    nodes = [
        {"name": "od", "count": 1, "cpu": 4, "memory": "16Gi", "tier": "on-demand"},
        {"name": "spot", "count": 1, "cpu": 4, "memory": "16Gi", "tier": "spot"},
    ]
    workloads = [
        workload("web", 8, tier="50%"),
        workload("core", 2, gang=2, tier="on-demand", priority=5, at="5m"),
    ]
    loop = loop_of(PREEMPT, nodes=nodes, workloads=workloads)
    assert held(loop) == [4, 4]
    assert loop.jobs["default/core"].running == 2
    assert (loop.jobs["default/web"].running, loop.jobs["default/web"].required) == (6, 2)


def test_replicas_are_evicted_where_tiers_have_no_say_in_their_workload_any_more() -> None:
    """One replica is on demand; of three without a minimum none need be, and a gang of eight takes all the room."""
    nodes = [node("od", cpu=4), node("spot", cpu=4)]
    for each in nodes:
        name = each["metadata"]["name"]
        each["metadata"]["labels"] = {CAPACITY: "on-demand" if name == "od" else "spot"}
    scenario = {
        "events": [{"at": "5m", "scale": "a/web", "replicas": 3}],
        "workloads": [workload("big", 8, gang=8, priority=5, at="10m")],
    }
    site = site_of(*nodes, deployment("Deployment", "web", 1))
    loop = _Loop(story(scenario_of(scenario), site=site, until_ms=3_600_000), PREEMPT)
    loop.until_the_end(lambda now: None)
    assert {job.workload.name: job.running for job in loop.jobs.values()} == {"web": 0, "big": 8}
    assert (held(loop), loop.measures.preemptions) == ([4, 4], 3)


@given(
    sizes=st.lists(
        st.tuples(st.integers(1, 6), st.integers(0, 2), st.integers(0, 40), st.booleans()), min_size=1, max_size=8
    ),
    preempt=st.booleans(),
    reserve=st.booleans(),
)
def test_whatever_is_taken_or_kept_no_node_holds_more_than_it_has(
    sizes: list[tuple[int, int, int, bool]], preempt: bool, reserve: bool
) -> None:
    """What runs fits the nodes, a gang runs as a whole or not at all, and every replica asked for runs or waits."""
    workloads = [
        workload(f"w{row}", count, namespace=f"ns{row % 2}", gang=count if gang else 1, priority=priority, at=f"{at}m")
        for row, (count, priority, at, gang) in enumerate(sizes)
    ]
    policy = SimPolicy(name="any", preempt=preempt, reserve_after_ms=60_000 if reserve else None)
    loop = loop_of(policy, workloads=workloads)
    assert all(0 <= cores <= 4 for cores in held(loop))
    assert sum(held(loop)) == sum(job.running for job in loop.jobs.values())
    for job in loop.jobs.values():
        assert job.running == sum(batch.size for batch in job.batches.values())
        assert job.running == 0 or job.running >= job.least
        assert 0 <= job.running <= job.asked
    assert sum(loop.waiting.by_namespace.values()) == sum(job.lacking for job in loop.jobs.values())


def test_policy_file_has_both_settings_and_refuses_them_with_fifo() -> None:
    """First come, first served takes and keeps nothing."""
    policy = policy_of({"preempt": True, "reserveAfter": "10m"}, "mine")
    assert (policy.preempt, policy.reserve_after_ms, policy.contested) == (True, 600_000, True)
    with pytest.raises(InputError, match="takes and keeps no room"):
        policy_of({"queue": "fifo", "preempt": True}, "mine")


def test_amounts_beyond_all_sums_leave_the_others_their_room() -> None:
    """Millions of replicas of nearly eight exbibytes wait for ever; of twenty that nodes can take, sixteen start."""
    absurd = [workload(f"absurd-{number}", 10**6, memory="8000Pi") for number in range(2)]
    made = done(workloads=[*absurd, workload("a", 9), workload("b", 11)])
    assert (made.record["placed"], made.record["unplaced"]) == (16, 2 * 10**6 + 4)
