"""The strategies by example: what the source text shows, and the edges it leaves open."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.place import NodePlacement, place
from fairlead.levels.node.strategies import BY_NAME
from fairlead.levels.node.usage import MOST_SCALE, shares
from fairlead.model.errors import InputError
from fairlead.model.nodes import UNLIMITED, NodeTable, node_table
from fairlead.problems.rooms import share_of


@dataclass(frozen=True, kw_only=True)
class Case:
    """Nodes node1, node2 … by their columns; `want` is the new replicas of each."""

    strategy: str
    count: int
    limit: int = 0
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    capacity: list[int] | None = None
    usage: list[int] | None = None
    rate: list[int] | None = None
    want: list[int]


def table(case: Case) -> NodeTable:
    """The nodes of a case; capacity is 10 where nothing else is said."""
    names = [f"node{row + 1}" for row in range(len(case.counts))]
    capacity = case.capacity or [10] * len(names)
    return node_table(names, capacity, count=case.counts, usage=case.usage, rate=case.rate, scale=1000)


def placed(case: Case, *, partial: bool = False) -> NodePlacement:
    """The decision on a case."""
    ask = NodeAsk(need=case.count, each=case.count, limit=case.limit)
    return place(table(case), ask, case.strategy, partial=partial)


WORKED = {
    "communism: three on three empty nodes": Case(strategy="communism", count=3, want=[1, 1, 1]),
    "communism: all to the node that has none": Case(strategy="communism", count=3, counts=[5, 4, 0], want=[0, 0, 3]),
    "fill: one on each of three": Case(strategy="fill", count=1, limit=3, want=[1, 1, 1]),
    "fill: the two that lack one": Case(strategy="fill", count=1, limit=3, counts=[1, 0, 0], want=[0, 1, 1]),
    "fill: two nodes have more than enough": Case(strategy="fill", count=1, limit=3, counts=[2, 2, 0], want=[0, 0, 1]),
    "fill: two of three nodes up to two": Case(strategy="fill", count=2, limit=2, counts=[1, 1, 1], want=[1, 1, 0]),
    "average: one more on each, whatever is there": Case(
        strategy="average", count=1, limit=3, counts=[1, 0, 0], want=[1, 1, 1]
    ),
    "global: percentages 1, 2, 3 with rates 0.4, 0.6, 1": Case(
        strategy="global", count=3, usage=[10, 20, 30], rate=[4, 6, 10], want=[2, 1, 0]
    ),
}


@pytest.mark.parametrize("case", WORKED.values(), ids=WORKED.keys())
def test_worked_example_of_the_scheduling_page_holds(case: Case) -> None:
    """Every strategy example of eru's scheduling page, with default settings."""
    assert case.want == placed(case).added.tolist()


def test_fill_already_so_is_a_reason_and_not_a_placement() -> None:
    """One on each of three, and each has one: nothing is wrong, nothing is done."""
    decision = placed(Case(strategy="fill", count=1, limit=3, counts=[1, 1, 1], want=[]))
    assert decision.finding is not None
    assert (decision.finding.code, decision.finding.reason.cure) == ("AlreadyFilled", "nothing")
    assert (decision.placements, decision.unplaced) == ({}, 0)


EDGES = {
    "communism: the limit is the highest total": Case(
        strategy="communism", count=4, limit=5, counts=[4, 5, 2], want=[1, 0, 3]
    ),
    "communism: a tie goes to more capacity": Case(strategy="communism", count=1, capacity=[3, 7, 7], want=[0, 1, 0]),
    "communism: unlimited is the most capacity": Case(
        strategy="communism", count=1, capacity=[3, 7, UNLIMITED], want=[0, 0, 1]
    ),
    "communism: a full node takes no more": Case(
        strategy="communism", count=5, capacity=[1, 0, 9], counts=[0, 0, 3], want=[1, 0, 4]
    ),
    "auto is communism": Case(strategy="auto", count=2, counts=[1, 0, 0], want=[0, 1, 1]),
    "fill: a full node that satisfies it counts": Case(
        strategy="fill", count=2, limit=2, counts=[3, 0, 0], capacity=[0, 5, 5], want=[0, 2, 0]
    ),
    "fill: highest count, then capacity, then name": Case(
        strategy="fill", count=4, limit=2, counts=[1, 2, 1], capacity=[5, 5, 9], want=[0, 2, 3]
    ),
    "fill: a node that cannot be filled is passed over": Case(
        strategy="fill", count=4, limit=1, counts=[3, 1, 0], capacity=[0, 3, 9], want=[0, 3, 0]
    ),
    "fill: limit 0 is all nodes": Case(strategy="fill", count=2, counts=[2, 1, 0], want=[0, 1, 2]),
    "average: most capacity first": Case(strategy="average", count=2, limit=2, capacity=[2, 9, 5], want=[0, 2, 2]),
    "each is average": Case(strategy="each", count=2, limit=1, capacity=[2, 9, 5], want=[0, 2, 0]),
    "global-greedy: always the lowest result": Case(
        strategy="global-greedy", count=3, usage=[10, 20, 30], rate=[4, 6, 10], want=[3, 0, 0]
    ),
    "global-greedy: rate 0 never leaves the least used node": Case(
        strategy="global-greedy", count=9, usage=[10, 20, 30], want=[9, 0, 0]
    ),
    "global: the last lap of nodes that do not rise": Case(
        strategy="global", count=3, counts=[2, 0, 1], usage=[7, 7, 7], want=[0, 2, 1]
    ),
    "global: nodes that do not rise, until they are full": Case(
        strategy="global", count=3, capacity=[1, 1, 9], usage=[7, 7, 8], rate=[0, 0, 1], want=[1, 1, 1]
    ),
    "global: rate 0 neither": Case(strategy="global", count=9, usage=[10, 20, 30], want=[9, 0, 0]),
    "global: old replicas count among equals": Case(
        strategy="global", count=1, counts=[4, 0, 0], usage=[10, 12, 90], rate=[5, 5, 5], want=[0, 1, 0]
    ),
    "global: what is fuller than the least used with one more is no equal": Case(
        strategy="global", count=1, counts=[4, 0, 0], usage=[10, 15, 90], rate=[5, 5, 5], want=[1, 0, 0]
    ),
    "global: a node without room is no equal": Case(
        strategy="global", count=3, usage=[0, 0, 50], rate=[1, 1, 1], capacity=[1, 0, 5], want=[1, 0, 2]
    ),
    "drained: least capacity first": Case(strategy="drained", count=5, capacity=[9, 3, 4], want=[0, 3, 2]),
    "drained: then the more used": Case(
        strategy="drained", count=4, capacity=[4, 4, 4], usage=[5, 9, 9], want=[0, 4, 0]
    ),
    "drained: unlimited comes last": Case(
        strategy="drained", count=9, capacity=[UNLIMITED, 4, UNLIMITED], want=[5, 4, 0]
    ),
    "global, greedy and drained ignore the limit": Case(strategy="drained", count=5, limit=1, want=[5, 0, 0]),
}


@pytest.mark.parametrize("case", EDGES.values(), ids=EDGES.keys())
def test_edge_of_a_strategy(case: Case) -> None:
    """Limits, ties, full nodes and aliases."""
    decision = placed(case)
    assert case.want == decision.added.tolist()
    assert decision.finding is None


SHORT = {
    "communism": (Case(strategy="communism", count=40, want=[10, 10, 10]), 40, 10),
    "communism under a limit": (Case(strategy="communism", count=9, limit=2, want=[2, 2, 2]), 9, 3),
    "global": (Case(strategy="global", count=31, rate=[1, 1, 1], want=[10, 10, 10]), 31, 1),
    "drained": (Case(strategy="drained", count=35, want=[10, 10, 10]), 35, 5),
    "average on too few nodes": (Case(strategy="average", count=4, limit=4, want=[4, 4, 4]), 16, 4),
    "average on nodes with too little": (
        Case(strategy="average", count=4, limit=2, capacity=[5, 3, 1], want=[4, 3, 0]), 8, 1,
    ),
    "fill on too few nodes": (Case(strategy="fill", count=4, limit=5, counts=[4, 3, 0], want=[0, 1, 4]), 13, 8),
    "fill on nodes with too little": (
        Case(strategy="fill", count=4, limit=2, counts=[4, 1, 2], capacity=[0, 2, 0], want=[0, 2, 0]), 3, 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("case", "wanted", "missing"), SHORT.values(), ids=SHORT.keys())
def test_too_little_room_places_nothing_or_in_part(case: Case, wanted: int, missing: int) -> None:
    """All or nothing by default; `partial` places what fits; both say how much is missing."""
    whole, part = placed(case), placed(case, partial=True)
    assert whole.finding is not None
    assert whole.finding.code == "InsufficientCapacity"
    assert f"{missing} of {wanted} replicas do not fit" in whole.finding.sentence
    assert (whole.placements, whole.unplaced, whole.missing) == ({}, wanted, missing)
    assert case.want == part.added.tolist()
    assert (part.unplaced, part.missing) == (missing, missing)


def test_no_nodes_is_too_little_room() -> None:
    """Nothing to place on is never success."""
    for strategy in BY_NAME:
        decision = place(node_table([], []), NodeAsk(need=2, each=2), strategy)
        assert decision.finding is not None
        assert (decision.finding.code, decision.unplaced) == ("InsufficientCapacity", 2)


def test_names_break_ties_in_natural_order() -> None:
    """node2 comes before node10, whatever the rows."""
    nodes = node_table(["node10", "node9", "node2"], [5, 5, 5])
    for strategy in ("communism", "global", "global-greedy", "drained"):
        assert place(nodes, NodeAsk(need=1, each=1), strategy).placements == {"node2": 1}
    for strategy in ("fill", "average"):
        assert place(nodes, NodeAsk(need=1, each=1, limit=1), strategy).placements == {"node2": 1}


def test_columns_are_never_changed() -> None:
    """Tables are read-only, and strategies return columns of their own."""
    nodes = node_table(["a", "b"], [5, 6], count=[1, 0], usage=[1, 2], rate=[1, 1])
    for strategy in BY_NAME:
        place(nodes, NodeAsk(need=2, each=2), strategy)
    assert (nodes.capacity.tolist(), nodes.count.tolist(), nodes.usage.tolist()) == ([5, 6], [1, 0], [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        nodes.capacity[0] = 1


BAD = {
    "an unknown strategy": ("spread", 0, "$.strategy"),
    "a negative limit": ("communism", -1, "$.nodesLimit"),
}


@pytest.mark.parametrize(("strategy", "limit", "path"), BAD.values(), ids=BAD.keys())
def test_what_cannot_be_meant_is_refused(strategy: str, limit: int, path: str) -> None:
    """The message names the place."""
    with pytest.raises(InputError) as refused:
        place(node_table(["a"], [1]), NodeAsk(need=1, each=1, limit=limit), strategy)
    assert path == refused.value.path


def test_table_refuses_what_is_no_table() -> None:
    """Names twice, negative amounts, columns of another length."""
    with pytest.raises(InputError, match="there twice"):
        node_table(["a", "a"], [1, 1])
    with pytest.raises(InputError, match="negative"):
        node_table(["a", "b"], [1, 1], count=[0, -1])
    with pytest.raises(InputError, match="2 values of count for 1 nodes"):
        node_table(["a"], [1], count=[0, 0])


def test_usage_of_many_digits_stays_exact() -> None:
    """Decimals whose common denominator passes 63 bits are compared as Python integers."""
    scale = 10**30
    usage = np.array([scale // 10 + 1, scale // 10, scale // 10 + 2], dtype=object)
    nodes = node_table(["a", "b", "c"], [9, 9, 9], usage=usage, rate=[1, 1, 1], scale=scale)
    for strategy in ("global", "global-greedy", "drained"):
        decision = place(nodes, NodeAsk(need=4, each=4), strategy)
        assert sum(decision.added.tolist()) == 4
    assert place(nodes, NodeAsk(need=3, each=3), "global-greedy").added.tolist() == [1, 2, 0]


def test_capacities_beyond_all_measure_break_ties_all_the_same() -> None:
    """Where the ties cannot be numbered in 63 bits the rows are sorted."""
    nodes = node_table(["c", "b", "a"], [2**62, 2**62 + 1, 2**62 + 1])
    assert place(nodes, NodeAsk(need=1, each=1), "communism").placements == {"a": 1}
    assert place(nodes, NodeAsk(need=2, each=1), "communism").placements == {"a": 1, "b": 1}


def test_shares_without_a_small_common_denominator_are_rounded_finely() -> None:
    """Derived shares of many different totals keep their order; decimals as written stay exact."""
    fractions = [((10**8, prime), (1, 7)) for prime in (10**9 + 7, 10**9 + 9, 998244353)]
    found = shares(fractions)
    assert found.scale == MOST_SCALE
    assert sorted(range(3), key=lambda row: found.usage[row]) == [1, 0, 2]
    written = shares([(share_of(0.07999999999999996, "$"), share_of(3.725290298461914e-08, "$"))])
    assert Fraction(written.usage[0], written.scale) == Fraction("0.07999999999999996")
    assert written.scale > MOST_SCALE


def test_trace_names_the_best_and_counts_the_rejected() -> None:
    """Five nodes with what ranked them, and the nodes that take nothing by reason."""
    nodes = node_table([f"n{row}" for row in range(9)], [0, 0, *[3] * 7], count=[0, 0, 5, 0, 0, 0, 0, 0, 0])
    trace = place(nodes, NodeAsk(need=3, each=3, limit=5), "communism").trace
    assert [(each.reason.code, each.count, each.names) for each in trace.rejected] == [
        ("NoCapacity", 2, ("n0", "n1")),
        ("NodeLimitReached", 1, ("n2",)),
    ]
    assert (trace.considered, len(trace.scores)) == (9, 5)
    assert dict(trace.scores[0].terms) == {"added": 1, "count": 0, "capacity": 3}


@pytest.mark.parametrize(("partial", "term"), [(False, "placeable"), (True, "added")])
def test_trace_of_what_does_not_fit_says_added_only_of_what_is_placed(partial: bool, term: str) -> None:
    """All or nothing: a node that gets nothing is not told as one that got three."""
    placed = place(node_table(["n"], [3]), NodeAsk(need=4, each=4), "auto", partial=partial)
    assert placed.placements == ({"n": 3} if partial else {})
    assert dict(placed.trace.scores[0].terms) == {term: 3, "count": 0, "capacity": 3}
