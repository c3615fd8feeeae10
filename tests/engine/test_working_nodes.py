"""Replicas that come and go on working nodes without being placed: evictions on trial, room kept."""

import numpy as np
import pytest

from fairlead.engine.shape_columns import RowCounts
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population, resident
from fairlead.model.selectors import LabelSelector, Operator, Requirement
from fairlead.model.shape import Neighbour, Shape

HOST = "kubernetes.io/hostname"
APART = Neighbour(key=HOST, selector=LabelSelector((Requirement("app", Operator.IN, ("a",)),)))
ALONE = Shape(namespace="ns", labels=(("app", "a"),), request=(("cpu", 1000),), far=(APART,))
PLAIN = Shape(namespace="ns", labels=(("app", "b"),), request=(("cpu", 2000),))


def working(*shapes: tuple[Shape, int]) -> WorkingNodes:
    """Two nodes of four cpu with these shapes running, each on a row."""
    nodes = node_state(
        [NodeRecord(name=f"n{row}", allocatable={"cpu": 4000}, labels={HOST: f"n{row}"}) for row in range(2)]
    )
    made = WorkingNodes(nodes, Population())
    for shape, row in shapes:
        made.shift(shape, counts(row), 1)
    return made


def counts(row: int, number: int = 1) -> RowCounts:
    """So many on one node."""
    return np.array([row]), np.array([number])


def placed(made: WorkingNodes, shape: Shape, need: int) -> list[int]:
    """Where replicas would go now; nothing is left behind."""
    mark = made.mark()
    found: list[int] = made.place(shape, need, {}).counts.tolist()
    made.undo(mark)
    return found


def test_what_is_shifted_away_leaves_room_and_company() -> None:
    """Amounts come back, and so does the peace of those who want to be alone."""
    made = working((ALONE, 0), (PLAIN, 1), (PLAIN, 1))
    assert placed(made, ALONE, 2) == [0, 0]
    assert placed(made, PLAIN, 2) == [1, 0]
    made.shift(PLAIN, counts(1, 2), -1)
    assert placed(made, PLAIN, 4) == [1, 2]
    assert placed(made, ALONE, 2) == [0, 1]
    made.shift(ALONE, counts(0), -1)
    assert placed(made, ALONE, 3) == [1, 1]


@pytest.mark.parametrize("row", [0, 1])
def test_only_as_many_go_as_are_taken_away_and_from_that_node(row: int) -> None:
    """Three of a kind on each node, two taken from one."""
    made = working(*((ALONE, each) for each in (0, 1) for _ in range(3)), (PLAIN, 0))
    made.shift(ALONE, counts(row, 2), -1)
    people = made.population
    mine = people.codes == list(people.residents).index(resident(ALONE))
    assert np.bincount(people.rows[mine], minlength=2).tolist() == [3 - 2 * (row == 0), 3 - 2 * (row == 1)]
    assert made.state.used[:, 0].tolist() == [5000 - 2000 * (row == 0), 3000 - 2000 * (row == 1)]


def test_taking_away_what_was_never_there_changes_nobody() -> None:
    """A kind that nobody knows."""
    made = working((PLAIN, 0))
    made.shift(ALONE, counts(0), -1)
    assert len(made.population.rows) == 1


def test_losses_leave_the_population_they_began_with_as_it_was() -> None:
    """Who is gone from the working copy is still in the snapshot, wherever in the column it stood."""
    people = Population(
        residents=(resident(ALONE), resident(PLAIN)),
        codes=np.array([0, 1, 0, 1]),
        rows=np.array([0, 0, 1, 1]),
        leaving=np.array([False, True, False, False]),
    )
    nodes = node_state([NodeRecord(name=f"n{row}", allocatable={"cpu": 4000}) for row in range(2)])
    made = WorkingNodes(nodes, people)
    made.shift(ALONE, counts(0), -1)
    now = made.population
    assert sorted(zip(now.codes, now.rows, now.leaving, strict=True)) == [(0, 1, False), (1, 0, True), (1, 1, False)]
    assert people.codes.tolist() == [0, 1, 0, 1]
    assert people.rows.tolist() == [0, 0, 1, 1]
    assert people.leaving.tolist() == [False, True, False, False]
