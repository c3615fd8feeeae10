"""The strategies against one turn a replica, and against every possible placement on small clusters."""

from collections.abc import Iterator

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.levels.node.ask import NodeAsk
from fairlead.levels.node.strategies import BY_NAME
from fairlead.model.nodes import NodeTable, node_table

Row = tuple[int, int, int, int]
"""capacity, count, usage, rate"""

rows = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 12), st.integers(0, 5))
clusters = st.lists(rows, min_size=1, max_size=4)
larger = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=12
)


def table(nodes: list[Row]) -> NodeTable:
    """Nodes named so that natural order and row order differ."""
    names = [f"n{(7 * row) % 61 + 3}" for row in range(len(nodes))]
    capacity, count, usage, rate = zip(*nodes, strict=True)
    return node_table(names, capacity, count=count, usage=usage, rate=rate, scale=100)


def run(name: str, nodes: list[Row], need: int, limit: int = 0) -> list[int]:
    """What the strategy adds."""
    added: list[int] = BY_NAME[name].strategy(table(nodes), NodeAsk(need=need, each=need, limit=limit)).tolist()
    return added


def placements(room: list[int], need: int) -> Iterator[tuple[int, ...]]:
    """Every way to place `need` replicas within the room."""
    if not room:
        if not need:
            yield ()
        return
    for first in range(min(room[0], need) + 1):
        for rest in placements(room[1:], need - first):
            yield (first, *rest)


@given(clusters, st.integers(1, 9), st.integers(0, 6))
def test_communism_totals_are_lexicographically_minimal(nodes: list[Row], need: int, limit: int) -> None:
    """No other placement has a lower highest total, nor then a lower second highest, and so on."""
    room = [min(row[0], max(limit - row[1], 0)) if limit else row[0] for row in nodes]
    added = run("communism", nodes, need, limit)
    need = min(need, sum(room))

    def totals(more: tuple[int, ...]) -> list[int]:
        return sorted((row[1] + new for row, new in zip(nodes, more, strict=True)), reverse=True)

    assert min(map(totals, placements(room, need))) == totals(tuple(added))


def highest(nodes: list[Row], added: list[int]) -> int:
    """The highest utilisation among the nodes that were given something."""
    return max((row[2] + row[3] * new for row, new in zip(nodes, added, strict=True) if new), default=0)


@given(clusters, st.integers(1, 8))
def test_greedy_highest_use_is_minimal(nodes: list[Row], need: int) -> None:
    """No other placement has a lower highest utilisation among the nodes that were given something."""
    added = run("global-greedy", nodes, need)
    need = min(need, sum(row[0] for row in nodes))

    ways = placements([row[0] for row in nodes], need)
    assert min(highest(nodes, list(way)) for way in ways) == highest(nodes, added)


def turn_by_turn(nodes: list[Row], need: int, *, equals: bool) -> list[int]:
    """The rule in words: one replica after another; with `equals` the last lap looks at the workload."""
    ranks, capacities = table(nodes).rank.tolist(), [row[0] for row in nodes]
    added = [0] * len(nodes)
    need = min(need, sum(capacities))
    asked = need
    while need:
        open_ = [row for row in range(len(nodes)) if added[row] < capacities[row]]
        used = [nodes[row][2] + added[row] * nodes[row][3] for row in range(len(nodes))]
        after = [used[row] + nodes[row][3] for row in range(len(nodes))]
        if equals and sum(added) >= asked - len(nodes):
            least = min(open_, key=lambda row: (used[row], after[row], ranks[row]))
            same = used[least], after[least]
            peers = [row for row in open_ if used[row] < after[least] or (used[row], after[row]) == same]
            chosen = min(peers, key=lambda row: (nodes[row][1] + added[row], after[row], ranks[row]))
        else:
            chosen = min(open_, key=lambda row: (after[row], -capacities[row], ranks[row]))
        added[chosen] += 1
        need -= 1
    return added


@given(larger, st.integers(1, 70))
def test_greedy_equals_turn_by_turn(nodes: list[Row], need: int) -> None:
    """Levels found in bulk are what one turn a replica gives."""
    assert turn_by_turn(nodes, need, equals=False) == run("global-greedy", nodes, need)


@given(larger, st.integers(1, 70))
def test_global_equals_turn_by_turn(nodes: list[Row], need: int) -> None:
    """The last lap in bulk is what one turn a replica gives."""
    need = min(need, sum(row[0] for row in nodes))
    if need:
        assert turn_by_turn(nodes, need, equals=True) == run("global", nodes, need)


RATES = {"alike": (5, 6), "few": (1, 4), "any": (1, 40), "some still": (0, 3), "far apart": (1, 4000)}


@settings(max_examples=40)
@given(
    st.integers(0, 2**32),
    st.sampled_from(sorted(RATES)),
    st.sampled_from([2, 9, 400]),
    st.sampled_from([1, 15]),
    st.sampled_from([10, 200]),
    st.integers(1, 400),
)
def test_global_equals_turn_by_turn_on_many_nodes(
    seed: int, rates: str, room: int, held: int, used: int, need: int
) -> None:
    """Many phases, nodes that are taken again and again in one, ties, and nodes that do not rise."""
    draw = np.random.default_rng(seed)
    columns = [draw.integers(low, high, 60).tolist() for low, high in ((0, room), (0, held), (0, used), RATES[rates])]
    nodes = list(zip(*columns, strict=True))
    need = min(need, sum(row[0] for row in nodes))
    assert turn_by_turn(nodes, need, equals=True) == run("global", nodes, need)


@given(larger, st.integers(1, 70))
def test_global_stays_within_two_replicas_of_the_most_even(nodes: list[Row], need: int) -> None:
    """The least used node is never above the greedy rule's highest, and an equal is less than one replica above it."""
    most = max(row[3] for row in nodes)
    assert highest(nodes, run("global", nodes, need)) <= highest(nodes, run("global-greedy", nodes, need)) + 2 * most


@given(larger, st.integers(1, 70), st.integers(0, 20))
def test_global_with_equal_rates_stays_within_one_replica_of_the_most_even(
    nodes: list[Row], need: int, rate: int
) -> None:
    """With one rate the edge of the equals is the greedy rule's own result."""
    alike = [(*row[:3], rate) for row in nodes]
    assert highest(alike, run("global", alike, need)) <= highest(alike, run("global-greedy", alike, need)) + rate


@given(larger, st.integers(1, 6), st.integers(0, 12))
def test_fill_adds_the_fewest_replicas_that_do(nodes: list[Row], each: int, limit: int) -> None:
    """Choosing the highest counts first needs no more new replicas than any other choice of nodes."""
    able = sorted(max(each - row[1], 0) for row in nodes if row[0] >= each - row[1])
    wanted = limit or len(nodes)
    if len(able) >= wanted:
        added = run("fill", nodes, each, limit)
        assert sum(able[:wanted]) == sum(added)
        assert sum(1 for row, new in zip(nodes, added, strict=True) if row[1] + new >= each) >= wanted


@given(larger, st.integers(1, 60))
def test_drained_equals_the_sorted_list(nodes: list[Row], need: int) -> None:
    """Least capacity first, then the more used, then name, each used up."""
    ranks = table(nodes).rank.tolist()
    want = [0] * len(nodes)
    for row in sorted(range(len(nodes)), key=lambda row: (nodes[row][0], -nodes[row][2], ranks[row])):
        want[row] = min(nodes[row][0], need - sum(want))
    assert want == run("drained", nodes, need)


def test_drained_huge_numbers_do_not_overflow() -> None:
    """Capacities whose sum passes 2**63 are taken one by one."""
    nodes = node_table(["a", "b", "c"], [2**62, 2**62 - 1, 2**62 + 5])
    added = BY_NAME["drained"].strategy(nodes, NodeAsk(need=2**62 + 3, each=1))
    assert added.tolist() == [4, 2**62 - 1, 0]
    assert np.array_equal(added, BY_NAME["drained"].strategy(nodes, NodeAsk(need=2**62 + 3, each=1)))
