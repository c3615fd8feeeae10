"""The grants in bulk against the text's loop, turn by turn: trees of queues, roles, gangs, bounds, priorities."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.queue.grants import grant
from fairlead.levels.queue.grants.grant import Loop
from fairlead.levels.queue.nodes import NodeRoom
from fairlead.levels.queue.share import SharePolicy, share
from fairlead.model.columns import ints
from fairlead.model.jobs import UNSET
from tests.queue.build import J, Q, Tables, tables
from tests.queue.reference import Reference

AMOUNTS = st.tuples(st.integers(0, 6), st.integers(0, 6))
SHAPES = ([""], ["", ""], ["", "", ""], ["", "q0", "q0"], ["", "", "q0", "q0", "q1"], ["", "q0", "q1", "q1", "q0", ""])
"""Parents of the queues."""


@st.composite
def worlds(draw: st.DrawFn, most_replicas: int = 40, room: int = 400) -> Tables:
    """A few queues, below one another or not, namespaces and jobs; two resources, room for some of what is asked."""
    bound = st.one_of(st.just(UNSET), st.just(UNSET), st.integers(0, room // 3))
    parents = draw(st.sampled_from(SHAPES))
    queues = [
        Q(
            weight=draw(st.integers(1, 5)),
            capability=(draw(bound), draw(bound)),
            guarantee=(draw(st.sampled_from([0, 0, 5])), draw(st.sampled_from([0, 0, 3]))),
            priority=draw(st.sampled_from([0, 0, 0, 1])),
            parent=parent,
        )
        for parent in parents
    ]
    leaves = [row for row in range(len(parents)) if f"q{row}" not in parents]
    weights = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    jobs = draw(
        st.lists(
            st.builds(
                _job,
                st.sampled_from(leaves),
                st.integers(0, len(weights) - 1),
                st.integers(1, most_replicas),
                AMOUNTS,
                st.integers(0, 8),
                st.sampled_from([0, 0, 0, 5]),
                st.integers(0, 6),
                st.sampled_from([(0, 0), (0, 0), (0, 0), (30, 0), (9, 40)]),
            ),
            min_size=1,
            max_size=10,
        )
    )
    world = tables((draw(st.integers(20, room)), draw(st.integers(20, room))), queues, weights, jobs)
    past = draw(st.lists(AMOUNTS, min_size=len(weights), max_size=len(weights)))
    world = world._replace(namespaces=replace(world.namespaces, past=ints(past)))
    return _in_roles(world, draw(st.integers(0, 6)), draw(AMOUNTS)) if draw(st.booleans()) else world


def _job(
    queue: int,
    namespace: int,
    replicas: int,
    request: tuple[int, int],
    minimum: int,
    priority: int,
    running: int,
    floor: tuple[int, int],
) -> J:
    return J(
        queue=queue,
        namespace=namespace,
        replicas=replicas,
        request=request,
        minimum=min(minimum, replicas),
        priority=priority,
        running=min(running, replicas) if running < 3 else 0,
        min_resources=floor,
    )


def _in_roles(world: Tables, few: int, request: tuple[int, int]) -> Tables:
    """Every job cut in two roles: the first has a few replicas that ask for something else."""
    jobs = world.jobs
    first = np.minimum(few, jobs.role_replicas)
    running = np.minimum(jobs.role_running, first)
    asked = np.stack((np.tile(request, (len(jobs), 1)), jobs.role_request), axis=1)
    cut = replace(
        jobs,
        role_start=ints(np.arange(len(jobs) + 1) * 2),
        role_names=("",) * 2 * len(jobs),
        role_replicas=ints(np.stack((first, jobs.role_replicas - first), axis=1).ravel()),
        role_minimum=ints(np.zeros(2 * len(jobs))),
        role_running=ints(np.stack((running, jobs.role_running - running), axis=1).ravel()),
        role_request=ints(asked.reshape(-1, 2)),
    )
    return world._replace(jobs=cut)


OFTEN, NEVER = 8, 10**9
"""Turns that a leap has to save."""


@contextmanager
def leaping(cost: int) -> Iterator[None]:
    """A leap is tried where it may save so many turns."""
    with patch.object(grant, "LEAP_COST", cost), patch.object(grant, "LEAP_COST_EACH", 0):
        yield


def admitted(
    world: Tables, cost: int = OFTEN, free: np.ndarray | None = None, eligible: np.ndarray | None = None
) -> list[int]:
    """Replicas by job; with `free`, on nodes."""
    fits = None
    if free is not None:
        asked = world.jobs.role_request
        where = np.ones((len(asked), len(free)), dtype=bool) if eligible is None else eligible
        fits = NodeRoom(world.jobs.resources, free, asked, where)
    with leaping(cost):
        return [row.admitted for row in share(*world, fits).jobs]


@given(worlds())
def test_share_equals_the_loop_turn_by_turn(world: Tables) -> None:
    """Every job is admitted exactly as often as by the literal loop, with leaps wherever they are possible."""
    decision = share(*world)
    reference = Reference(*world[:3], world.whole.tolist(), list(decision.exact_deserved)).run()
    assert admitted(world) == reference
    assert admitted(world, NEVER) == reference


@given(worlds(most_replicas=500, room=4000))
def test_leaps_change_nothing(world: Tables) -> None:
    """With so many replicas that most are granted in leaps the answer is that of single turns."""
    assert admitted(world) == admitted(world, NEVER)


@given(worlds(most_replicas=100), st.lists(AMOUNTS, min_size=1, max_size=8), st.integers(1, 30))
def test_leaps_change_nothing_on_nodes(world: Tables, nodes: list[tuple[int, int]], size: int) -> None:
    """With nodes the answer is that of single turns as well, unless turns may be granted in bulk (0380)."""
    free = np.array(nodes) * size
    assert admitted(world, OFTEN, free) == admitted(world, NEVER, free)


@given(worlds(most_replicas=100), st.lists(AMOUNTS, min_size=1, max_size=8), st.integers(1, 30))
def test_turns_in_bulk_leave_no_room_that_a_step_would_fit(
    world: Tables, nodes: list[tuple[int, int]], size: int
) -> None:
    """Granted in bulk, gangs are whole or nothing starts, and what waits then finds no room by single turns either."""
    jobs, free = world.jobs, np.array(nodes) * size
    fits = NodeRoom(jobs.resources, free, jobs.role_request, np.ones((len(jobs.role_request), len(free)), dtype=bool))
    with leaping(OFTEN):
        found = share(*world, fits, policy=SharePolicy(bulk=True))
    started = {row.name: row.admitted - row.running for row in found.jobs if row.admitted > row.running}
    least = dict(zip(jobs.names, jobs.min_member.tolist(), strict=True))
    assert all(row.admitted >= least[row.name] for row in found.jobs if row.name in started)
    spots: dict[int, int] = {}
    for role, there in found.spots.items():
        spots[role] = sum(there.values())
    assert sum(spots.values()) == sum(started.values())
    held = replace(
        jobs, role_running=jobs.role_running + np.array([spots.get(r, 0) for r in range(len(jobs.role_running))])
    )
    again = share(held, world.queues, world.namespaces, world.whole, fits)
    assert [row.admitted for row in again.jobs] == [row.admitted for row in found.jobs]


@given(worlds(most_replicas=100), st.lists(AMOUNTS, min_size=1, max_size=8), st.integers(1, 30), st.data())
def test_leaps_change_nothing_on_nodes_for_replicas_that_are_alike(
    world: Tables, nodes: list[tuple[int, int]], size: int, data: st.DataObject
) -> None:
    """Replicas that all ask for the same, on the same nodes: counted by places."""
    jobs = world.jobs
    world = world._replace(
        jobs=replace(jobs, role_request=ints(np.tile(data.draw(AMOUNTS), (len(jobs.role_request), 1))))
    )
    free = np.array(nodes) * size
    where = np.tile(
        np.array(data.draw(st.lists(st.booleans(), min_size=len(nodes), max_size=len(nodes)))),
        (len(world.jobs.role_request), 1),
    )
    assert admitted(world, OFTEN, free, where) == admitted(world, NEVER, free, where)


def _large(shape: str) -> Tables:
    """20 jobs of 1,000 replicas: in queues side by side, in a tree, with two roles each, or with minimum resources."""
    parents = ["", "", "q0", "q0", "q1", "q1"] if shape == "tree" else ["", ""]
    leaves = [2, 3, 4, 5] if shape == "tree" else [0, 1]
    floor = (40, 50) if shape == "minimum resources" else (0, 0)
    jobs = [
        J(
            queue=leaves[n % len(leaves)],
            namespace=n % 3,
            replicas=1000,
            request=(1 + n % 3, 2),
            priority=n % 2,
            min_resources=floor,
        )
        for n in range(20)
    ]
    queues = [Q(weight=1 + row % 2, parent=parent) for row, parent in enumerate(parents)]
    world = tables((20_000, 30_000), queues, [1, 2, 3], jobs)
    return _in_roles(world, 300, (2, 1)) if shape == "roles" else world


SINGLY = {
    "flat": 100,
    "tree": 200,
    "roles": 100,
    "minimum resources": 130,
    "nodes": 110,
    "nodes for replicas alike": 100,
}
"""The most single turns, a little more than are needed."""


@pytest.mark.parametrize("shape", SINGLY)
def test_leaps_grant_nearly_everything_where_jobs_are_large(shape: str) -> None:
    """Of some ten thousand replicas only a hundred or two are granted singly."""
    world, fits = _large(shape), None
    if shape.startswith("nodes"):
        jobs, free = world.jobs, np.full((30, 2), 4_000)
        if shape.endswith("alike"):
            jobs, free = replace(jobs, role_request=ints(np.full((20, 2), 2))), np.full((30, 2), 601)
        world = world._replace(jobs=jobs)
        fits = NodeRoom(jobs.resources, free, jobs.role_request, np.ones((20, 30), dtype=bool))
    admitted, turns = _single_turns(world, fits)
    assert admitted > 8_000
    assert turns < SINGLY[shape]


def _single_turns(world: Tables, fits: NodeRoom | None = None, *, bulk: bool = False) -> tuple[int, int]:
    """Replicas that are admitted, and how many turns were taken one by one for it."""
    turns = 0
    turn = Loop.turn

    def counted(loop: Loop) -> None:
        nonlocal turns
        turns += 1
        turn(loop)

    with patch.object(Loop, "turn", counted):
        decision = share(*world, fits, policy=SharePolicy(bulk=bulk))
    return sum(row.admitted for row in decision.jobs), turns


def test_leaps_are_tried_again_soon_after_nodes_refused_a_gang() -> None:
    """In sum the gang fits, on no node does it: after a leap that granted others much, the next follows soon."""
    jobs = [J(replicas=40, request=(5, 0), minimum=40, priority=5), J(replicas=240)]
    world = tables((240, 1), [Q()], [1], jobs)
    fits = NodeRoom(
        world.jobs.resources, np.array([(4, 0)] * 60), world.jobs.role_request, np.ones((2, 60), dtype=bool)
    )
    with leaping(OFTEN):
        admitted, turns = _single_turns(world, fits, bulk=True)
    assert (admitted, turns < 18) == (240, True)


def test_no_leap_is_tried_that_costs_more_than_it_may_save() -> None:
    """Every job that waits makes a leap dearer: 4,000 replicas of 2,000 jobs, for one of which no room is left."""
    world = tables((3999, 1), [Q()], [1], [J(replicas=2)] * 2000)
    with patch.object(grant, "Leap", side_effect=AssertionError):
        assert _single_turns(world) == (3999, 4000)


def test_no_turn_is_taken_where_everything_fits() -> None:
    """The order of turns cannot matter then; one replica more than fit, and it does."""
    jobs = [J(replicas=2)] * 20
    assert _single_turns(tables((40, 1), [Q()], [1], jobs)) == (40, 0)
    assert _single_turns(tables((39, 1), [Q()], [1], jobs)) == (39, 40)


def test_leaps_go_on_beside_a_queue_that_comes_to_its_bound() -> None:
    """A queue that holds most of what its bound allows soon gains nothing more; others leap past it all the same."""
    running = {6: 600, 18: 600, 7: 100, 9: 100, 15: 100}
    jobs = [
        J(
            queue=n % 2,
            namespace=n % 3,
            replicas=1000,
            request=(1 + n % 3, 2),
            priority=n % 2,
            running=running.get(n, 0),
        )
        for n in range(20)
    ]
    queues = [Q(capability=(1500, UNSET)), Q(weight=2, guarantee=(500, 0))]
    admitted, turns = _single_turns(tables((20_000, 30_000), queues, [1, 2, 3], jobs))
    assert admitted > 8_000
    assert turns < 80


def test_leaps_come_near_the_bound_of_a_queue_in_a_large_whole() -> None:
    """The whole would take everything: what is open is what the queue's own bound lets in."""
    jobs = [J(namespace=1, replicas=400, request=(2, 0), minimum=0), J(replicas=3000, request=(2, 1), minimum=0)]
    admitted, turns = _single_turns(tables((20_000, 20_000), [Q(capability=(3000, UNSET))], [1, 2], jobs))
    assert (admitted, turns < 20) == (1500, True)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=3),
    st.booleans(),
    st.data(),
)
def test_places_hold_in_whatever_order_replicas_come(
    nodes: list[tuple[int, int]], roles: list[tuple[int, int, int]], alike: bool, data: st.DataObject
) -> None:
    """So many replicas as places are promised fit in any order; where these are not all, no more do."""
    request = np.array([roles[0][:2] if alike else role[:2] for role in roles])
    eligible = np.ones((len(roles), len(nodes)), dtype=bool)
    counts = {row: role[2] for row, role in enumerate(roles)}
    room = NodeRoom(("cpu", "memory"), np.array(nodes), request, eligible)
    places = room.places(counts)
    order = data.draw(st.permutations([row for row, count in counts.items() for _ in range(count)]))
    placed = [sum(room.take(row, 1).values()) for row in order]
    if places is not None:
        assert all(placed[:places])
        assert not any(placed[places:])


def test_a_queue_that_deserves_nothing_has_its_turns_in_leaps_too() -> None:
    """It begins where the others have what they deserve: 1 + 739/1000 of it stands beside 174/100 and 87/50."""
    queues = [Q(deserved=(0, 0)), Q(deserved=(100, 100)), Q(deserved=(200, 50), weight=2)]
    jobs = [J(queue=queue, replicas=900, request=(1, 1), minimum=0) for queue in range(3)]
    world = tables((1000, 1000), queues, [1], jobs)
    assert admitted(world) == admitted(world, NEVER) == [739, 174, 87]
