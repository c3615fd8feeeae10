"""Which whole cores to share, against every choice there is."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.node.oversold import Conversions, most_replicas
from fairlead.model.columns import ints

BASE = 100

CORES = st.lists(st.integers(1, 4), min_size=1, max_size=6)


def choices(slots: list[int], most: int, n: int, fragment: int) -> list[tuple[int, int]]:
    """(whole-core slots given up, fragments gained) of every choice of at most `most` cores."""
    found = []
    for taken in product((False, True), repeat=len(slots)):
        chosen = [value for value, take in zip(slots, taken, strict=True) if take]
        if len(chosen) <= most:
            found.append((sum(min(value, n) for value in chosen), sum(value * BASE // fragment for value in chosen)))
    return found


@given(CORES, st.integers(0, 6), st.integers(1, 5), st.sampled_from([10, 30, 50, 70]), st.integers(-1, 40))
def test_conversions_give_up_the_fewest_slots(
    slots: list[int], most: int, n: int, fragment: int, fragments: int
) -> None:
    """The cost is the least of all choices that gain enough, and the cores that are named have that cost and gain."""
    table = Conversions(ints(sorted(slots)), most, n, BASE, fragment)
    enough = [cost for cost, gain in choices(slots, most, n, fragment) if gain >= fragments]
    assert table.cost(fragments) == (min(enough) if enough else None)
    if enough:
        named = table.cores(fragments)
        assert all(count <= slots.count(value) for value, count in named.items())
        assert sum(named.values()) <= most
        assert sum(count * min(value, n) for value, count in named.items()) == min(enough)
        assert sum(count * (value * BASE // fragment) for value, count in named.items()) >= fragments


def by_hand(slots: list[int], loose: int, most: int, pieces: int) -> int:
    """The largest n for which some choice leaves n whole-core parts and n fragments."""
    whole, fragment = divmod(pieces, BASE)
    best = 0
    for n in range(1, sum(slots) + 1):
        usable = sum(min(value, n) for value in slots)
        if any(loose + gain >= n and usable - cost >= n * whole for cost, gain in choices(slots, most, n, fragment)):
            best = n
    return best


@given(
    st.lists(CORES, min_size=1, max_size=3), st.integers(0, 4), st.integers(0, 6), st.sampled_from([110, 130, 150, 230])
)
def test_most_replicas_are_those_of_the_best_choice(rows: list[list[int]], loose: int, most: int, pieces: int) -> None:
    """Rows are computed together or alone; each gets what its best choice of cores allows."""
    width = max(map(len, rows))
    table = ints([row + [0] * (width - len(row)) for row in rows])
    got = most_replicas(table, ints([loose] * len(rows)), ints([most] * len(rows)), pieces, BASE)
    assert got.tolist() == [by_hand(row, loose, most, pieces) for row in rows]


def test_every_number_of_fragments_names_cores_of_its_cost() -> None:
    """Whatever the cost: the cores that are named give up as many slots as it says, and gain enough."""
    table = Conversions(ints([1, 1, 1, 3, 3, 3, 4, 4, 4]), 9, 5, BASE, 30)
    most = 3 * (100 // 30 + 300 // 30 + 400 // 30)
    for fragments in range(most + 1):
        named = table.cores(fragments)
        assert sum(count * value for value, count in named.items()) == table.cost(fragments)
        assert sum(count * (value * BASE // 30) for value, count in named.items()) >= fragments
    assert table.cost(most + 1) is None
