"""The level kernel against handing out unit after unit."""

import numpy as np
import pytest

from fairlead.kernel.level import level
from tests.kernel import references

rng = np.random.default_rng


@pytest.mark.parametrize("seed", range(300))
def test_level_random_instance_equals_turn_by_turn(seed: int) -> None:
    """Any mix of steps (still, unit, alike, mixed), caps, ranks and magnitudes gives the greedy counts."""
    draw = rng(seed)
    n = int(draw.integers(1, 9))
    high = int(draw.choice([2, 6, 40, 10**6, 2**61]))
    base = draw.integers(-high // 2, high, n)
    steps = (np.ones(n), np.full(n, draw.integers(0, high)), draw.integers(0, high, n), draw.integers(0, 2, n))
    step = steps[int(draw.integers(0, 4))].astype(np.int64)
    cap = draw.integers(0, 14, n)
    tie_rank = draw.integers(0, 4, n)
    units = int(draw.integers(0, 60))
    want = references.level(units, base.tolist(), step.tolist(), cap.tolist(), tie_rank.tolist())
    assert want == level(units, base, step, cap, tie_rank=tie_rank).tolist()


@pytest.mark.parametrize("seed", range(40))
def test_level_without_ranks_ties_to_the_lower_row(seed: int) -> None:
    """No tie rank means row order."""
    draw = rng(1000 + seed)
    n = int(draw.integers(1, 40))
    base, step, cap = draw.integers(0, 5, n), draw.integers(1, 3, n), draw.integers(0, 9, n)
    units = int(draw.integers(0, 5 * n))
    want = references.level(units, base.tolist(), step.tolist(), cap.tolist(), list(range(n)))
    assert want == level(units, base, step, cap).tolist()


@pytest.mark.parametrize("size", [200, 3000])
@pytest.mark.parametrize("alike", [True, False])
def test_level_many_targets_equals_turn_by_turn(size: int, alike: bool) -> None:
    """Larger instances, with many ties on the last lap, agree too."""
    draw = rng(size + alike)
    base = draw.integers(0, 50, size)
    step = np.full(size, 7) if alike else draw.integers(0, 12, size)
    cap, tie_rank = draw.integers(0, 20, size), draw.permutation(size)
    units = 4 * size
    want = references.level(units, base.tolist(), step.tolist(), cap.tolist(), tie_rank.tolist())
    assert want == level(units, base, step, cap, tie_rank=tie_rank).tolist()


def test_level_results_beyond_64_bits_are_exact() -> None:
    """Heights that pass 2**63 on the way are compared as Python integers."""
    base, step = np.array([-(2**62), 2**62 - 1, 0]), np.array([2**61, 1, 2**62 - 3])
    cap = np.array([40, 3, 9])
    want = references.level(11, base.tolist(), step.tolist(), cap.tolist(), [0, 1, 2])
    assert want == level(11, base, step, cap).tolist()


@pytest.mark.parametrize("seed", range(30))
def test_level_heights_given_as_python_integers_equal_turn_by_turn(seed: int) -> None:
    """Object columns, beyond 63 bits or not, are levelled exactly."""
    draw = rng(2000 + seed)
    n, unit = int(draw.integers(1, 9)), int(draw.choice([1, 10**12])) ** 2
    base = np.array([int(each) * unit + int(draw.integers(0, 9)) for each in draw.integers(0, 20, n)], dtype=object)
    step = np.array([int(each) * unit for each in draw.integers(0, 4, n)], dtype=object)
    cap, tie_rank, units = draw.integers(0, 9, n), draw.permutation(n), int(draw.integers(0, 40))
    want = references.level(units, base.tolist(), step.tolist(), cap.tolist(), tie_rank.tolist())
    assert want == level(units, base, step, cap, tie_rank=tie_rank).tolist()


def test_level_huge_number_of_units_costs_no_turns() -> None:
    """2**60 units on two targets: evened out, the odd one by the tie rank."""
    counts = level(2**60 + 1, np.array([0, 4]), np.array([1, 1]), np.full(2, 2**62), tie_rank=np.array([1, 0]))
    assert counts.tolist() == [2**59 + 2, 2**59 - 1]


def test_level_still_targets_with_huge_caps_do_not_overflow() -> None:
    """Targets that never rise share the units in tie order, each to its cap."""
    cap = np.array([2**61, 2**61, 2**61, 2**61, 2**61])
    counts = level(2**62 + 5, np.zeros(5), np.zeros(5), cap, tie_rank=np.array([4, 3, 2, 1, 0]))
    assert counts.tolist() == [0, 0, 5, 2**61, 2**61]


def test_level_lexicographic_minimum_from_the_top() -> None:
    """Every other way to hand out the units has a sorted result that is not lower, read from the top."""
    base, step, cap = [3, 0, 5], [2, 3, 1], [3, 3, 3]
    counts = level(5, np.array(base), np.array(step), np.array(cap)).tolist()
    ways = [(a, b, 5 - a - b) for a in range(4) for b in range(4) if 0 <= 5 - a - b <= 3]

    def results(way: tuple[int, ...]) -> list[int]:
        return sorted((base[i] + step[i] * way[i] for i in range(3) if way[i]), reverse=True)

    tops = [results(way)[0] for way in ways]
    assert results(tuple(counts))[0] == min(tops)


def test_level_nothing_to_hand_out_or_nobody_to_take_it() -> None:
    """No units, no targets, no room: nothing, and no error."""
    nobody = np.zeros(0, dtype=np.int64)
    assert level(5, nobody, nobody, nobody).tolist() == []
    assert level(0, np.array([1, 2]), np.array([1, 1]), np.array([3, 3])).tolist() == [0, 0]
    assert level(5, np.array([1, 2]), np.array([1, 1]), np.array([0, 0])).tolist() == [0, 0]


@pytest.mark.parametrize("large", [0, 2**80])
@pytest.mark.parametrize("steps", [[7, 7, 7], [3, 0, 5], [2**70, 2**69, 1]])
def test_level_columns_of_python_integers(large: int, steps: list[int]) -> None:
    """Heights and steps that no int64 holds, also where their differences are small."""
    base, cap = [large + 4, large, large + 9], [4, 2, 6]
    columns = np.array(base, dtype=object), np.array(steps, dtype=object)
    for units in range(13):
        want = references.level(units, base, steps, cap, [2, 1, 0])
        assert want == level(units, *columns, np.array(cap), tie_rank=np.array([2, 1, 0])).tolist()
