"""What holds for every cluster: room, gangs, order of input, evictions that end."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.columns import ints
from fairlead.model.jobs import UNSET
from tests.queue.build import J, Q, Tables, tables

EVICTING = SharePolicy(preempt=True)


@st.composite
def clusters(draw: st.DrawFn) -> Tables:
    """Up to three queues and three namespaces, jobs of three priorities, some of them running."""
    queues = draw(
        st.lists(
            st.builds(
                lambda weight, most, kept, reclaimable: Q(
                    weight=weight, capability=(most, UNSET), guarantee=(kept, 0), reclaimable=reclaimable
                ),
                st.integers(1, 3),
                st.sampled_from([UNSET, UNSET, 8, 15]),
                st.sampled_from([0, 0, 2]),
                st.sampled_from([True, True, False]),
            ),
            min_size=1,
            max_size=3,
        )
    )
    weights = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    jobs = draw(
        st.lists(
            st.builds(
                _job,
                st.integers(0, len(queues) - 1),
                st.integers(0, len(weights) - 1),
                st.integers(1, 6),
                st.tuples(st.integers(0, 4), st.integers(0, 2)),
                st.integers(0, 4),
                st.sampled_from([0, 0, 1, 5]),
                st.integers(0, 6),
            ),
            min_size=1,
            max_size=7,
        )
    )
    return tables((draw(st.integers(5, 30)), draw(st.integers(5, 30))), queues, weights, _within(jobs))


def _job(
    queue: int, namespace: int, replicas: int, request: tuple[int, int], minimum: int, priority: int, running: int
) -> J:
    least = min(minimum, replicas)
    count = min(running, replicas)
    return J(queue, namespace, replicas, request, least, priority, count if count >= least else 0)


def _within(jobs: list[J]) -> list[J]:
    """No more running than a small cluster could hold."""
    left = 12
    result = []
    for job in jobs:
        running = job.running if job.running * job.request[0] <= left else 0
        left -= running * job.request[0]
        result.append(job._replace(running=running))
    return result


def after(world: Tables, decision: Sharing) -> Tables:
    """The cluster when the decision is carried out; what was evicted is created anew and waits."""
    running = ints([row.admitted for row in decision.jobs])
    return world._replace(jobs=replace(world.jobs, role_running=running))


@given(clusters())
def test_grants_stay_within_the_whole_and_every_bound(world: Tables) -> None:
    """Nothing is granted beyond the whole, a queue's capability or what others are guaranteed."""
    decision = share(*world)
    before, admitted = world.jobs.running, np.array([row.admitted for row in decision.jobs])
    granted = (admitted - before)[:, None] * world.jobs.role_request
    used = admitted[:, None] * world.jobs.role_request
    for resource in np.flatnonzero(granted.sum(axis=0)):
        assert used[:, resource].sum() <= world.whole[resource]
    for queue in range(len(world.queues)):
        mine = world.jobs.queue == queue
        for resource in np.flatnonzero(granted[mine].sum(axis=0)):
            most = world.queues.capability[queue, resource]
            assert most == UNSET or used[mine, resource].sum() <= most
    assert (admitted >= before).all()


@given(clusters())
def test_without_reasons_as_many_are_admitted(world: Tables) -> None:
    """What a simulation asks for is the answer of `share`, job by job, and victim by victim."""
    for policy in (SharePolicy(), EVICTING):
        told, bare = share(*world, policy=policy), share(*world, policy=replace(policy, reasons=False))
        assert [row.admitted for row in bare.jobs] == [row.admitted for row in told.jobs]
        assert (bare.placements, bare.victims) == (told.placements, told.victims)
        assert (bare.queues, bare.namespaces) == ((), ())


@given(clusters())
def test_gangs_start_whole_or_not_at_all_and_nobody_is_lost(world: Tables) -> None:
    """A job that got anything has its minimum; admitted and pending make up its replicas; who waits knows why."""
    for policy in (SharePolicy(), EVICTING):
        decision = share(*world, policy=policy)
        for row, job in enumerate(decision.jobs):
            assert job.admitted + job.pending == world.jobs.replicas[row]
            assert job.admitted == 0 or job.admitted >= world.jobs.min_member[row]
            assert (job.finding is not None) or not job.pending
        assert decision.unplaced == sum(job.pending for job in decision.jobs)


@given(clusters())
def test_no_room_is_left_idle_that_a_waiting_job_could_use(world: Tables) -> None:
    """After the grants no step of any waiting job fits any more: running again changes nothing."""
    first = share(*world)
    again = share(*after(world, first))
    assert [row.admitted for row in again.jobs] == [row.admitted for row in first.jobs]


@given(clusters(), st.randoms(use_true_random=False))
def test_order_of_queues_and_namespaces_in_the_input_does_not_matter(world: Tables, random: object) -> None:
    """Rows of the tables in another order, the same names: the same answer by name."""
    queues = list(range(len(world.queues)))
    random.shuffle(queues)  # type: ignore[attr-defined]
    place = np.empty(len(queues), dtype=np.int64)
    place[queues] = np.arange(len(queues))
    table = world.queues
    moved = replace(
        table,
        names=tuple(table.names[row] for row in queues),
        parents=tuple(table.parents[row] for row in queues),
        **{
            name: getattr(table, name)[queues]
            for name in ("weight", "priority", "open", "reclaimable", "capability", "guarantee", "deserved")
        },
    )
    other = share(replace(world.jobs, queue=ints(place[world.jobs.queue])), moved, world.namespaces, world.whole)
    assert {row.name: row.admitted for row in other.jobs} == {row.name: row.admitted for row in share(*world).jobs}


@settings(max_examples=100)
@given(clusters())
def test_evictions_come_to_rest_when_evicted_replicas_are_created_anew(world: Tables) -> None:
    """Decide, carry out, decide again: no allocation comes twice, and soon nothing changes any more."""
    seen: set[tuple[int, ...]] = set()
    for _ in range(200):
        allocation = tuple(world.jobs.role_running.tolist())
        assert allocation not in seen
        seen.add(allocation)
        decision = share(*world, policy=EVICTING)
        following = after(world, decision)
        if tuple(following.jobs.role_running.tolist()) == allocation:
            assert not decision.victims
            return
        world = following
    raise AssertionError("evictions do not end")


@given(clusters())
def test_every_eviction_is_needed_and_never_of_higher_priority(world: Tables) -> None:
    """A beneficiary starts, its victims are of no higher priority, and nobody is both."""
    decision = share(*world, policy=EVICTING)
    rows = {name: row for row, name in enumerate(world.jobs.names)}
    admitted = {row.name: row for row in decision.jobs}
    for victim in decision.victims:
        assert world.jobs.priority[rows[victim.job]] <= world.jobs.priority[rows[victim.beneficiary]]
        assert admitted[victim.beneficiary].admitted > admitted[victim.beneficiary].running
        assert victim.job not in {each.beneficiary for each in decision.victims}
