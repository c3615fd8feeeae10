"""The first rows under an order."""

import numpy as np
import pytest

from fairlead.kernel.select import first, lowest


@pytest.mark.parametrize("seed", range(80))
def test_lowest_equals_sorting(seed: int) -> None:
    """The chosen set is that of a full sort by all columns, then by row."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, int(draw.choice([30, 5000]))))
    columns = [draw.integers(0, int(draw.choice([1, 2, 6, 10**6])), n) for _ in range(int(draw.integers(1, 4)))]
    k = int(draw.integers(0, n + 1))
    want = sorted(sorted(range(n), key=lambda i: [*(int(c[i]) for c in columns), i])[:k])
    assert want == sorted(lowest(k, *columns).tolist())


@pytest.mark.parametrize("seed", range(80))
def test_first_equals_taking_turns(seed: int) -> None:
    """Rows take what they may in rank order until the units are gone."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(1, 12))
    room = draw.integers(0, int(draw.choice([2, 9])), n)
    ranks = None if seed % 3 == 0 else draw.integers(0, 4, n)
    units = left = int(draw.integers(1, 30))
    want = [0] * n
    for i in sorted(range(n), key=lambda i: (0 if ranks is None else int(ranks[i]), i)):
        want[i] = min(left, int(room[i]))
        left -= want[i]
    assert want == first(room, units, ranks).tolist()


def test_first_sums_beyond_64_bits() -> None:
    """Running sums that pass 2**63 do not turn negative."""
    room = np.full(6, 2**62)
    assert first(room, 2**62 + 1, None).tolist() == [2**62, 1, 0, 0, 0, 0]
