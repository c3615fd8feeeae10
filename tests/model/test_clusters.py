"""The table of clusters: columns of one length, names once, ranks by name."""

import numpy as np
import pytest

from fairlead.model.clusters import NO_TRAITS, Traits, cluster_table
from fairlead.model.errors import InputError


def test_columns_left_out_have_their_defaults() -> None:
    """Weight 1, room not reported, no bounds."""
    table = cluster_table(["b", "a"])
    assert table.weights.tolist() == [1, 1]
    assert (table.reports_room, table.bounded) == (False, False)
    assert table.traits_of(0) is NO_TRAITS


def test_columns_are_read_only() -> None:
    """Tables are shared."""
    with pytest.raises(ValueError, match="read-only"):
        cluster_table(["a"]).weights[0] = 5


def test_columns_of_another_length_are_refused() -> None:
    """Two names, one weight."""
    with pytest.raises(InputError, match="a column has 1 rows; expected 2"):
        cluster_table(["a", "b"], weights=[1])
    with pytest.raises(InputError, match="traits of 1 clusters; expected 2"):
        cluster_table(["a", "b"], traits=[Traits()])


def test_ranks_are_natural_and_by_text() -> None:
    """c2 before c10 by nature, after it by text."""
    table = cluster_table(["c10", "c2", "c1"])
    assert table.rank.tolist() == [2, 1, 0]
    assert table.text_rank.tolist() == [1, 2, 0]


def test_taking_rows_takes_every_column() -> None:
    """In the order asked for."""
    table = cluster_table(
        ["a", "b", "c"], weights=[1, 2, 3], maximum=[7, 8, 9], traits=[Traits(region=r) for r in "xyz"]
    )
    part = table.take(np.array([2, 0]))
    assert part.names == ("c", "a")
    assert (part.weights.tolist(), part.maximum.tolist()) == ([3, 1], [9, 7])
    assert [each.region for each in part.traits] == ["z", "x"]
    assert part.bounded
