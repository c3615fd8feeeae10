"""Columns that are kept between placements give the answer of columns that are made anew for each."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engine import shape_columns, working_nodes
from fairlead.engine.shape_columns import RowCounts, needs_like
from fairlead.engine.working_nodes import WorkingNodes
from fairlead.levels.node.group import NodeGroup, place_group
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population
from fairlead.model.selectors import Operator, Preference, Requirement, Taint, Term, Toleration
from fairlead.model.shape import Shape, Spread

SPOT = Requirement("tier", Operator.IN, ("spot",))
SHAPES = (
    Shape(request=(("cpu", 1), ("pods", 1))),
    Shape(request=(("cpu", 3), ("pods", 1)), labels=(("app", "a"),)),
    Shape(request=(("cpu", 1),), node_selector=(("tier", "spot"),)),
    Shape(request=(("cpu", 2),), preferred=(Preference(5, Term((SPOT,))),)),
    Shape(request=(("cpu", 1),), tolerations=(Toleration(key="t", operator=Operator.EXISTS),)),
    Shape(request=(("gpu", 1),)),
    Shape(request=()),
    Shape(request=(("pods", 1),), spread=(Spread(key="tier", most_skew=1, hard=True, selector=None),)),
)
NODES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 4), st.sampled_from(["", "spot"]), st.booleans(), st.booleans()),
    min_size=1,
    max_size=7,
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["place", "there", "level", "uneven", "undo", "drop", "close", "open"]),
        st.integers(0, len(SHAPES) - 1),
        st.integers(0, 9),
        st.integers(0, 6),
    ),
    max_size=12,
)


def working(nodes: list[tuple[int, int, str, bool, bool]]) -> WorkingNodes:
    """Nodes with some cpu and pods, some spot, tainted or closed."""
    taint = Taint("t", "", "NoSchedule")
    records = [
        NodeRecord(
            name=f"n{row}",
            allocatable={"cpu": cpu, "pods": pods},
            labels={"tier": tier} if tier else {},
            taints=(taint,) if tainted else (),
            unschedulable=closed,
        )
        for row, (cpu, pods, tier, tainted, closed) in enumerate(nodes)
    ]
    return WorkingNodes(node_state(records), Population())


@pytest.mark.parametrize(("few", "kept"), [(0, 99), (8, 99), (8, 3)])
@given(nodes=NODES, steps=STEPS)
def test_placing_on_kept_columns_equals_placing_anew(
    few: int, kept: int, nodes: list[tuple[int, int, str, bool, bool]], steps: list[tuple[str, int, int, int]]
) -> None:
    """Whatever was placed, undone, taken away, closed or opened before; row by row or as columns; and where more has
    changed than is kept."""
    with (
        patch.object(shape_columns, "FEW_ROWS", few),
        patch.object(working_nodes, "FEW_ROWS", few),
        patch.object(working_nodes, "_JOURNAL", kept),
    ):
        follow(nodes, steps)


def follow(nodes: list[tuple[int, int, str, bool, bool]], steps: list[tuple[str, int, int, int]]) -> None:
    """Take the steps on kept columns, and compare every placing with one on the nodes as they are."""
    made = working(nodes)
    size = len(nodes)
    placed: list[tuple[Shape, RowCounts]] = []
    for what, number, need, row in steps:
        shape, mark = SHAPES[number], made.mark()
        if what in ("place", "there", "level", "uneven"):
            base = np.zeros(size, dtype=np.int64) if what == "place" else np.arange(size) % 3
            step = (np.arange(size) + row) % 3 if what == "uneven" else np.ones(size, dtype=np.int64)
            group = NodeGroup(shape=shape, need=need, base=base, step=step)
            want = place_group(made.state, made.population, group)
            assert made.takes(shape) or not want.counts.any()
            runs = {place: count for place, count in enumerate(base.tolist()) if count}
            got = made.place(shape, need, runs if what in ("place", "there") else (base, step))
            assert got.counts.tolist() == want.counts.tolist()
            assert not got.unplaced or got.codes.tolist() == want.codes.tolist()
            rows = np.flatnonzero(got.counts)
            placed.append((shape, (rows, got.counts[rows])))
            made.settle()
        elif what == "undo":
            before = made.state.used.tolist()
            made.take(shape, need, {})
            made.undo(mark)
            assert made.state.used.tolist() == before
        elif what == "drop" and placed:
            made.shift(*placed.pop(), -1)
        else:
            made.close(np.array([row % size]), what == "close")


def test_room_beyond_all_bounds_keeps_the_order() -> None:
    """A shape that asks for next to nothing: more room comes first, then the name, however much it is."""
    records = [NodeRecord(name=f"n{row}", allocatable={"memory": 2**40 + row % 2}) for row in range(3)]
    made = WorkingNodes(node_state(records), Population())
    rows, counts = made.take(Shape(request=(("memory", 1),)), 2, {})
    assert (rows.tolist(), counts.tolist()) == ([0, 1], [1, 1])
    assert made.take(Shape(request=(("memory", 1),)), 1, {})[0].tolist() == [1]


def test_columns_follow_more_changes_than_are_kept() -> None:
    """A shape that was not asked for a long time finds the nodes as they are."""
    made = WorkingNodes(node_state([NodeRecord(name="n", allocatable={"cpu": 4000})]), Population())
    large = Shape(request=(("cpu", 1500),))
    assert made.takes(large)
    for _ in range(3000):
        made.take(Shape(request=(("cpu", 1),)), 1, {})
    assert not made.takes(large)
    made.undo(1000)
    assert made.takes(large)


def test_needs_are_alike_for_shapes_that_differ_in_name_only() -> None:
    """Labels and namespace decide nothing, unless the shape looks at neighbours."""
    shape = SHAPES[0]
    assert needs_like(shape) == needs_like(replace(shape, namespace="b", labels=(("app", "x"),)))
    assert needs_like(SHAPES[-1]) is SHAPES[-1]
