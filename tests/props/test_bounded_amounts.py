"""Sums of amounts never wrap, whatever objects ask for and offer: at the edges of int64 and beyond."""

from collections import Counter
from fractions import Fraction

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead.kube.codec.nodes import node_record, node_records
from fairlead.kube.codec.requests import request
from fairlead.kube.objects.node import Node
from fairlead.kube.objects.pod import Pod, PodSpec
from fairlead.levels.node.constraints.room import room
from fairlead.levels.node.heights import use
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.live.cluster.columns import NodeColumns
from fairlead.model.amounts import BEYOND, LARGEST, WHOLE, bounded, exact, too_large
from fairlead.model.columns import ints, totals
from fairlead.model.nodestate import node_state
from fairlead.model.queuestate import QueuedJob, QueueEntry, Role, RunningReplicas, queue_state
from fairlead.model.shape import Shape

EDGES = [2**bits + off for bits in (40, 42, 52, 53, 60, 61, 62, 63, 64, 100) for off in (-1, 0, 1)]
SIZES = st.one_of(st.sampled_from(EDGES), st.integers(0, 2**70), st.integers(0, 100))


def spec_of(*containers: dict[str, int], overhead: int = 0) -> PodSpec:
    """A pod's spec whose containers ask for so many bytes."""
    made = [
        {"name": f"c{n}", "resources": {"requests": {k: str(v) for k, v in each.items()}}}
        for n, each in enumerate(containers)
    ]
    return msgspec.convert({"containers": made, "overhead": {"memory": str(overhead)}}, PodSpec)


def node_of(name: str, memory: int) -> Node:
    """A node with so many bytes."""
    status = {"allocatable": {"memory": str(memory), "pods": "110"}}
    return msgspec.convert({"metadata": {"name": name}, "status": status}, Node)


@given(st.lists(SIZES, min_size=1, max_size=6), SIZES)
def test_request_of_a_pod_is_its_sum_or_beyond_the_bound(sizes: list[int], overhead: int) -> None:
    """Containers and overhead are added up exactly as far as the bound, and stay at it from there on."""
    asked = dict(request(spec_of(*({"memory": size} for size in sizes), overhead=overhead)))
    assert asked.get("memory", 0) == min(sum(sizes) + overhead, BEYOND)


@given(st.lists(st.tuples(SIZES, st.booleans()), max_size=40))
def test_live_columns_stay_exact_while_pods_come_and_go(steps: list[tuple[int, bool]]) -> None:
    """Each amount that was added can be taken off again, in any order: the sum is exact after every step."""
    columns = NodeColumns()
    columns.put(node_record(node_of("n", 2**34), {}))
    held: list[int] = []
    for size, comes in steps:
        if comes or not held:
            held.append(min(size, BEYOND))
            columns.use(0, (("memory", held[-1]),), 1)
        else:
            columns.use(0, (("memory", held.pop(size % len(held))),), -1)
        state = columns.snapshot()
        assert int(state.used[0, state.column("memory") or 0]) == min(sum(held), WHOLE)
        assert columns.used(0).get("memory", 0) == sum(held)
        assert (state.free >= 0).all()


REQUESTS = st.dictionaries(
    st.sampled_from([f"r{number}" for number in range(12)]),
    st.sampled_from((1, 2**42 - 1, 2**42, 2**60)),
    min_size=1,
    max_size=6,
).map(lambda asked: tuple(sorted(asked.items())))


@given(st.lists(st.tuples(st.integers(0, 1), REQUESTS, st.integers(0, 100), st.booleans()), max_size=60))
def test_live_columns_stay_exact_while_resources_come_and_go(
    steps: list[tuple[int, tuple[tuple[str, int], ...], int, bool]],
) -> None:
    """Requests are kept as rows; columns of resources that nothing asks for any more are given to others."""
    columns = NodeColumns()
    for name in ("a", "b"):
        columns.put(node_record(node_of(name, 2**34), {}))
    held: list[tuple[int, tuple[tuple[str, int], ...]]] = []
    for row, asked, which, comes in steps:
        if comes or not held:
            held.append((row, asked))
            columns.use(row, asked, 1)
        else:
            columns.use(*held.pop(which % len(held)), -1)
        for each in (0, 1):
            sums = Counter[str]()
            for at, amounts in held:
                sums.update(dict(amounts) if at == each else {})
            assert columns.used(each) == dict(sums)


@given(SIZES, st.lists(SIZES, max_size=5), SIZES)
def test_replicas_fit_a_node_only_if_they_truly_fit(offered: int, running: list[int], asked: int) -> None:
    """Nothing beyond the bound fits anywhere; below it, exactly as many as there is room for."""
    pods = [
        msgspec.structs.replace(Pod(), spec=msgspec.structs.replace(spec_of({"memory": size}), node_name="n"))
        for size in running
    ]
    state = node_state(node_records([node_of("n", offered)], pods))
    shape = Shape(namespace="d", request=tuple(sorted(bounded({"memory": asked}, BEYOND).items())))
    fits = int(room(state, shape)[0][0])
    left = max(min(offered, LARGEST) - sum(running), 0)
    if asked > LARGEST:
        assert fits == 0
        assert "memory" in too_large(shape.request)
    elif asked:
        assert fits == left // asked
    base, step = use(state, shape)
    assert (base >= 0).all()
    assert (step >= 0).all()


@given(st.lists(st.lists(st.integers(-(2**62), 2**62), min_size=2, max_size=2), max_size=40))
def test_totals_are_the_exact_sums_of_columns(rows: list[list[int]]) -> None:
    """As Python adds them up, far beyond int64."""
    matrix = ints(np.array(rows, dtype=np.int64).reshape(len(rows), 2))
    assert totals(matrix) == [sum(row[column] for row in rows) for column in range(2)]


ROLE = st.tuples(SIZES, st.integers(1, 100_000), st.integers(0, 3))


@given(
    st.lists(ROLE, min_size=1, max_size=6),
    st.lists(st.tuples(SIZES, SIZES), min_size=1, max_size=3),
    st.lists(SIZES, min_size=1, max_size=3),
    st.booleans(),
)
def test_turn_with_extreme_amounts_gives_nobody_more_than_there_is(
    roles: list[tuple[int, int, int]], bounds: list[tuple[int, int]], nodes: list[int], preempt: bool
) -> None:
    """Tables of the queue level hold no wrapped sum, and what is granted fits the whole."""
    whole = sum(min(size, LARGEST) for size in nodes)
    jobs = [
        QueuedJob(
            name=f"j{row}",
            queue=f"q{row % len(bounds)}",
            namespace="d",
            roles=(
                Role(
                    replicas=count + held,
                    request={"memory": min(size, BEYOND)},
                    held=(RunningReplicas(count=held),) if held else (),
                ),
            ),
            min_resources={"memory": min(size, WHOLE)},
        )
        for row, (size, count, held) in enumerate(roles)
    ]
    queues = [
        QueueEntry(
            name=f"q{row}",
            guarantee={"memory": min(least, WHOLE)},
            capability={"memory": min(most, WHOLE)},
        )
        for row, (least, most) in enumerate(bounds)
    ]
    state = queue_state(jobs=jobs, queues=queues, weights={}, past={}, whole={"memory": whole})
    per_job = state.jobs.per_job(state.jobs.role_request * state.jobs.role_replicas[:, None])
    assert (per_job >= 0).all()
    assert 0 <= int(per_job.sum()) <= 2**62
    running = state.running if preempt else None
    shared = share(
        state.jobs, state.queues, state.namespaces, state.whole, running=running, policy=SharePolicy(preempt=preempt)
    )
    assert all(Fraction(queue.deserved["memory"]) >= 0 for queue in shared.queues)
    gained = {row.name: shared.placements.get(row.name, 0) for row in jobs}
    for job in jobs:
        if job.roles[0].request["memory"] > whole and not job.roles[0].held:
            asked = int(state.jobs.role_request[state.jobs.names.index(job.name), 0])
            assert gained[job.name] * asked <= whole


@given(SIZES)
def test_exact_amounts_have_no_bound(size: int) -> None:
    """What is only compared is read as it is."""
    assert exact("storage", str(size)) == size
