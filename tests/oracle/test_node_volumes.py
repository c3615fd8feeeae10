"""Packing volumes against brute force on small nodes."""

from collections import Counter
from functools import cache
from operator import mul

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.node.packing import Packing, deal, pack
from fairlead.levels.node.patterns import tabulated
from fairlead.levels.node.volumes import capacity, volume_pins
from fairlead.model.mounts import Mount, mount
from fairlead.model.nodes import UNLIMITED, NodeVolume


@cache
def fits(bins: tuple[int, ...], pieces: tuple[int, ...]) -> bool:
    """Whether the pieces go into the bins, trying every bin for the first piece."""
    if not pieces:
        return True
    return any(
        fits(tuple(sorted((*bins[:row], space - pieces[0], *bins[row + 1 :]))), pieces[1:])
        for row, space in enumerate(bins)
        if space >= pieces[0] and space not in bins[:row]
    )


def most(bins: list[int], sizes: list[int]) -> int:
    """The largest number of replicas whose volumes fit."""
    replicas = 0
    while fits(tuple(sorted(bins)), tuple(sorted(sizes * (replicas + 1), reverse=True))):
        replicas += 1
    return replicas


@given(st.lists(st.integers(0, 24), max_size=4), st.lists(st.integers(2, 9), min_size=1, max_size=3))
def test_packing_equals_brute_force(bins: list[int], sizes: list[int]) -> None:
    """Small problems are solved exactly, and the result is proved to be so."""
    found = pack(bins, sizes)
    assert (most(bins, sizes), most(bins, sizes)) == (found.replicas, found.most)


@given(st.lists(st.integers(0, 40), max_size=5), st.lists(st.integers(1, 9), min_size=1, max_size=3))
def test_every_replica_gets_its_volumes(bins: list[int], sizes: list[int]) -> None:
    """Dealing as many replicas as fit never charges a bin with more than it has."""
    replicas = pack(bins, sizes).replicas
    charged: Counter[int] = Counter()
    rows = deal(bins, sizes, replicas)
    assert len(rows) == replicas
    for row in rows:
        for place, size in zip(row, sizes, strict=True):
            charged[place] += size
    assert all(charged[place] <= bins[place] for place in charged)


def held(bins: list[int], sizes: list[int], patterns: list[tuple[int, ...]] | None) -> list[int]:
    """How many pieces of each size the patterns hold, largest first; each must fit its bin."""
    assert patterns is not None
    assert all(sum(map(mul, sizes, pattern)) <= space for space, pattern in zip(bins, patterns, strict=True))
    return [sum(column) for column in zip(*patterns, strict=True)]


@given(st.lists(st.integers(0, 24), min_size=1, max_size=5), st.lists(st.integers(2, 9), min_size=2, max_size=3))
def test_prices_never_rule_out_what_fits_and_least_waste_keeps_its_word(bins: list[int], asked: list[int]) -> None:
    """What fits by trying everything is not ruled out; what is arranged holds as many pieces as asked for."""
    number = Counter(asked)
    sizes = sorted(number, reverse=True)
    patterns = tabulated(bins, sizes, [number[size] for size in sizes])
    assert patterns is not None
    best = most(bins, asked)
    assert not any(patterns.ruled_out(replicas) for replicas in range(1, best + 1))
    for replicas in range(1, best + 2):
        found = patterns.arrange(replicas)
        if found is not None:
            assert replicas <= best
            assert held(bins, sizes, found) == [number[size] * replicas for size in sizes]


def test_many_volumes_of_many_sizes_are_mostly_proved() -> None:
    """32 volumes and 4 sizes: 18 of 20 results are proved best, and each is dealt."""
    draw = np.random.default_rng(5)
    for bins, sizes in ((4, 2), (8, 3), (16, 3), (32, 4)):
        problems = [(draw.integers(100, 1000, bins).tolist(), draw.integers(20, 200, sizes).tolist()) for _ in "x" * 20]
    found = [pack(*problem) for problem in problems]
    assert sum(each.replicas == each.most for each in found) == 18
    for (space, asked), each in zip(problems, found, strict=True):
        charged: Counter[int] = Counter()
        for row in deal(space, asked, each.replicas):
            for place, size in zip(row, asked, strict=True):
                charged[place] += size
        assert all(charged[place] <= space[place] for place in charged)


def test_least_fill_is_proved_by_prices() -> None:
    """Bins of 10 hold pieces of 6 and 7 once each: prices of the space alone would allow two replicas in three bins."""
    patterns = tabulated([10, 10, 10], [7, 6], [1, 1])
    assert patterns is not None
    assert patterns.ruled_out(2)
    assert not patterns.ruled_out(1)


def test_too_many_patterns_or_too_much_space_are_left_to_the_search() -> None:
    """No table, and an answer all the same."""
    assert tabulated([10**6] * 4, [7, 3, 2], [1, 1, 1]) is None
    assert tabulated([2**61, 2**61], [7, 3], [1, 1]) is None
    assert tabulated([], [7, 3], [1, 1]) is None
    assert pack([10**6] * 4, [7, 3, 2]).replicas == 4 * 10**6 // 12
    assert pack([2**61, 2**61], [2**60, 2**59]) == Packing(replicas=2, most=2)


def test_where_best_fit_falls_short_the_other_ways_are_taken() -> None:
    """Whole replicas in one bin each, or the arrangement that the search finds."""
    for bins, sizes in (
        ([150, 500], [100, 150, 400]),
        ([13, 13, 13], [4, 9]),
        ([10, 10, 9], [6, 3, 1]),
        ([7, 5, 6], [4, 2, 1]),
    ):
        replicas = pack(bins, sizes).replicas
        charged = Counter(dict.fromkeys(range(len(bins)), 0))
        for row in deal(bins, sizes, replicas):
            for place, size in zip(row, sizes, strict=True):
                charged[place] += size
        assert replicas == most(bins, sizes)
        assert all(charged[place] <= bins[place] for place in charged)


volumes = st.lists(st.tuples(st.integers(1, 20), st.booleans()), max_size=5)
requests = st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=3)


def mounts_of(asked: list[tuple[int, bool]]) -> list[Mount]:
    """Automatic mounts of these sizes, whole or not."""
    return [mount(f"AUTO:/d{row}:{'rwm' if whole else 'rw'}:{size}") for row, (size, whole) in enumerate(asked)]


@given(volumes, requests)
def test_whole_volumes_equal_trying_every_choice(sizes: list[tuple[int, bool]], asked: list[tuple[int, bool]]) -> None:
    """Taking the smallest volumes that do, whole, is never worse than taking others."""
    mounts = mounts_of(asked)
    held = {f"/v{row}": NodeVolume(free_bytes=size, total_bytes=size + used) for row, (size, used) in enumerate(sizes)}
    wholes = sum(each.size_bytes for each in mounts if each.whole)
    normal = [each.size_bytes for each in mounts if not each.whole]

    @cache
    def best(left: frozenset[str], replicas: int) -> bool:
        if any(each.whole for each in mounts) and replicas:
            able = [name for name in left if held[name].free_bytes == held[name].total_bytes >= max(wholes, 1)]
            return any(best_rest(left - {name}, replicas - 1, 1) for name in able)
        return best_rest(left, 0, replicas)

    @cache
    def best_rest(left: frozenset[str], more: int, done: int) -> bool:
        if more:
            able = [name for name in left if held[name].free_bytes == held[name].total_bytes >= max(wholes, 1)]
            return any(best_rest(left - {name}, more - 1, done + 1) for name in able)
        bins = tuple(sorted(held[name].free_bytes for name in left))
        return not (normal and not bins) and fits(bins, tuple(sorted((s for s in normal * done if s), reverse=True)))

    room = capacity(held, mounts)
    if room.replicas == UNLIMITED:
        assert not any(each.whole for each in mounts)
        assert not any(normal)
        return
    assert best(frozenset(held), room.replicas) or room.replicas == 0
    assert not best(frozenset(held), room.replicas + 1)


@given(volumes, requests)
def test_pins_of_volumes_are_disjoint_and_within_what_is_free(
    sizes: list[tuple[int, bool]], asked: list[tuple[int, bool]]
) -> None:
    """Charges stay within each volume; a volume taken whole serves one replica and nothing else."""
    mounts = mounts_of(asked)
    held = {f"/v{row}": NodeVolume(free_bytes=size, total_bytes=size + used) for row, (size, used) in enumerate(sizes)}
    pins = volume_pins(held, mounts, min(capacity(held, mounts).replicas, 20))
    users: dict[str, set[int]] = {}
    charged: Counter[str] = Counter()
    for number, pin in enumerate(pins):
        for each in mounts:
            ((name, size),) = pin[each.text].items()
            charged[name] += size
            assert each.whole or size == each.size_bytes
            if each.whole:
                users.setdefault(name, set()).add(number)
    assert all(charged[name] <= held[name].free_bytes for name in charged)
    assert all(len(each) == 1 for each in users.values())
    normal = {name for pin in pins for each in mounts if not each.whole for name in pin[each.text]}
    assert not normal & users.keys()
