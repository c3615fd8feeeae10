"""Gangs of several roles that need not start with all their replicas: those that fit do (docs/decisions/0470)."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.queue.fits import Spots
from fairlead.levels.queue.result import Sharing
from fairlead.levels.queue.share import share
from fairlead.model.queuestate import QueuedJob, QueueEntry, Role, RunningReplicas, queue_state


class Part(NamedTuple):
    """A role: replicas, those that run, the minimum of its task, and how many its own nodes take."""

    replicas: int
    room: int
    running: int = 0
    minimum: int = 0


class NodesOfRoles:
    """Each role has nodes of its own, which take so many."""

    def __init__(self, room: list[int]) -> None:
        self.left = room

    def room(self, roles: Mapping[int, int]) -> Mapping[int, int]:
        """As far as each role's nodes go."""
        return {role: min(count, self.left[role]) for role, count in roles.items()}

    def take(self, role: int, count: int) -> Spots:
        """On the node of the role."""
        assert count <= self.left[role]
        self.left[role] -= count
        return {role: count}

    def give(self, role: int, spots: Spots) -> None:
        """The places are free again."""
        self.left[role] += sum(spots.values())

    def put(self, role: int, spots: Spots) -> None:
        """Back again."""
        self.left[role] -= sum(spots.values())

    def why(self, role: int) -> str:
        """One reason is enough."""
        return "full"


def shared(parts: list[Part], least: int, *, whole: int = 100, floor: int = 0) -> Sharing:
    """One gang of these roles, whose replicas use 1 each; `whole` is there in all, `floor` has to be free before."""
    roles = tuple(
        Role(
            name=f"r{row}",
            replicas=part.replicas,
            request={"cpu": 1},
            minimum=part.minimum,
            held=(RunningReplicas(count=part.running),),
        )
        for row, part in enumerate(parts)
    )
    job = QueuedJob(
        name="g", queue="q", namespace="n", roles=roles, min_member=least, min_resources={"cpu": floor}, created=0.0
    )
    state = queue_state(jobs=[job], queues=[QueueEntry(name="q")], weights={}, past={}, whole={"cpu": whole})
    return share(state.jobs, state.queues, state.namespaces, state.whole, NodesOfRoles([part.room for part in parts]))


def by_role(result: Sharing, count: int) -> list[int]:
    """New replicas of each role."""
    return [sum(result.spots.get(role, {}).values()) for role in range(count)]


@pytest.mark.parametrize(
    ("parts", "least", "expected"),
    [
        ([Part(2, 1), Part(2, 1)], 2, [1, 1]),
        ([Part(2, 0), Part(2, 2)], 2, [0, 2]),
        ([Part(2, 0), Part(2, 2)], 3, [0, 0]),
        ([Part(2, 1, minimum=1), Part(4, 4)], 3, [1, 4]),
        ([Part(2, 0, minimum=1), Part(4, 4)], 3, [0, 0]),
        ([Part(3, 1, running=1), Part(2, 2)], 4, [1, 2]),
        ([Part(2, 1), Part(2, 1)], 4, [0, 0]),
    ],
    ids=["one of each", "second role alone", "too few", "with a minimum", "minimum not met", "some run", "all needed"],
)
def test_a_gang_starts_with_the_replicas_that_fit(parts: list[Part], least: int, expected: list[int]) -> None:
    """If enough of them do; what fits beyond the gang follows one by one."""
    assert by_role(shared(parts, least), len(parts)) == expected


def test_the_other_replicas_have_to_find_room_in_sum_too() -> None:
    """Two of four fit nodes; with one in all, or five that have to be free first, nothing starts."""
    parts = [Part(2, 1), Part(2, 1)]
    assert by_role(shared(parts, 2, whole=2), 2) == [1, 1]
    assert by_role(shared(parts, 2, whole=1), 2) == [0, 0]
    assert by_role(shared(parts, 2, whole=4, floor=5), 2) == [0, 0]
    assert by_role(shared(parts, 2, whole=5, floor=5), 2) == [1, 1]


PARTS = st.lists(
    st.builds(Part, replicas=st.integers(1, 4), room=st.integers(0, 4), minimum=st.integers(0, 2), running=st.just(0)),
    min_size=2,
    max_size=3,
)


@given(PARTS, st.integers(1, 9))
def test_a_gang_starts_if_any_choice_of_its_replicas_fits(parts: list[Part], least: int) -> None:
    """Nothing is chosen that breaks a minimum; what fits beyond the gang is there as well."""
    parts = [part._replace(minimum=min(part.minimum, part.replicas)) for part in parts]
    least = min(least, sum(part.replicas for part in parts))
    counted = sum(part.minimum for part in parts) <= least
    fitting = [min(part.replicas, part.room) for part in parts]
    enough = not counted or all(count >= part.minimum for count, part in zip(fitting, parts, strict=True))
    starts = enough and sum(fitting) >= least
    assert by_role(shared(parts, least), len(parts)) == (fitting if starts else [0] * len(parts))
