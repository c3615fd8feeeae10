"""Where everything fits in sum it is granted at once; a bound that one job would meet late is seen all the same."""

import pytest

from fairlead.levels.queue.share import share
from fairlead.model.jobs import UNSET
from tests.queue.build import J, Q, tables


def admitted(whole: int, queues: list[Q], jobs: list[J]) -> list[int]:
    """Replicas of each job that may run."""
    world = tables((whole, 0), queues, [1], jobs)
    return [row.admitted for row in share(*world).jobs]


@pytest.mark.parametrize(("whole", "started"), [(11, [4, 2]), (10, [4, 0])])
def test_minimum_resources_of_a_gang_have_to_be_free_after_those_before_it(whole: int, started: list[int]) -> None:
    """The replicas of both need 6, but the second gang starts only where 7 are free."""
    gangs = [J(replicas=4, minimum=4), J(replicas=2, minimum=2, min_resources=(7, 0))]
    assert admitted(whole, [Q()], gangs) == started


@pytest.mark.parametrize(("asked", "started"), [(6, 6), (7, 6)])
def test_a_guarantee_that_nobody_uses_is_no_room_for_others(asked: int, started: int) -> None:
    """Of 10 the second queue keeps 4."""
    assert admitted(10, [Q(), Q(guarantee=(4, 0))], [J(replicas=asked)]) == [started]


@pytest.mark.parametrize(("asked", "started"), [(3, [3, 1]), (4, [3, 1])])
def test_a_capability_holds_where_the_whole_has_room_for_all(asked: int, started: list[int]) -> None:
    """The first queue may hold 3."""
    assert admitted(10, [Q(capability=(3, UNSET)), Q()], [J(replicas=asked), J(queue=1)]) == started
