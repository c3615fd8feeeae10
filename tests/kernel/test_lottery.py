"""Draws: reproducible bits, right odds, no weight 0."""

from decimal import Decimal, localcontext
from itertools import permutations

import numpy as np
import pytest

from fairlead.kernel.logarithm import LN_2_64, POINT, _tables, ln
from fairlead.kernel.lottery import digest, keys, order, winners

OBJECTS = 20_000
U64 = np.uint64


def _keys(targets: int, draw: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    return keys(np.arange(OBJECTS, dtype=U64), np.array([digest(f"t{i}") for i in range(targets)], dtype=U64), draw)


def _chi_square(counts: list[int], odds: list[float]) -> float:
    wanted = [OBJECTS * share for share in odds]
    return sum((got - want) ** 2 / want for got, want in zip(counts, wanted, strict=True))


LIMITS = {1: 15.1, 2: 18.4, 3: 21.1, 4: 23.5, 5: 25.7, 9: 33.7, 11: 37.4}
"""Chi-square with these degrees of freedom is above this once in 10,000 fair draws."""


def test_digest_and_keys_are_the_same_bits_everywhere() -> None:
    """Recorded values: a change of these moves every draw ever recorded."""
    assert digest("") == 0xE4A6A0577479B2B4
    assert digest("member1") == 0x78336B907880B362
    assert keys(np.array([7], dtype=U64), np.array([1, 2], dtype=U64), 3).tolist() == [
        [16446243184672881075, 15490682537374943436]
    ]
    assert keys(np.array([7], dtype=U64), np.array([1, 2], dtype=U64), np.array([4])).tolist() == [
        [7052724517292670500, 1249000851853895543]
    ]


def test_keys_are_three_rounds_of_splitmix64() -> None:
    """The published mixing function in Python integers, so that anybody can check a recorded draw."""
    golden, word = 0x9E3779B97F4A7C15, 2**64 - 1

    def mixed(x: int) -> int:
        x = (x + golden) & word
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & word
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & word
        return x ^ (x >> 31)

    objects, targets = [0, 5, digest("shop/cart")], [digest("member1"), 2**64 - 1]
    want = [[mixed(mixed(mixed(o) ^ 11) ^ mixed((t + golden) & word)) for t in targets] for o in objects]
    assert want == keys(np.array(objects, dtype=U64), np.array(targets, dtype=U64), 11).tolist()


def test_keys_depend_on_object_target_and_draw_alone() -> None:
    """A key stays when other objects, targets or columns come and go, and changes with any of its three parts."""
    objects, targets = np.arange(5, dtype=U64), np.arange(100, 107, dtype=U64)
    whole = keys(objects, targets, 9)
    assert keys(objects[3:4], targets[2:5], 9).tolist() == [whole[3, 2:5].tolist()]
    assert keys(objects, targets, np.array([9, 9, 8, 9, 9]))[[0, 1, 3, 4]].tolist() == whole[[0, 1, 3, 4]].tolist()
    apart = np.concatenate([whole.ravel(), keys(objects, targets, 8).ravel(), keys(targets, objects, 9).ravel()])
    assert len(set(apart.tolist())) == apart.size


def test_keys_use_every_bit() -> None:
    """Each of the 64 bits is set in half of the keys, and flips half of the time when one input bit flips."""
    table = _keys(1)[:, 0]
    flipped = keys(np.arange(OBJECTS, dtype=U64) ^ U64(1 << 40), np.array([digest("t0")], dtype=U64), 0)[:, 0]
    for bit in range(64):
        for column in (table, table ^ flipped):
            share = float(((column >> U64(bit)) & U64(1)).mean())
            assert abs(share - 0.5) < 0.02


@pytest.mark.parametrize("targets", [2, 3, 5, 10])
def test_order_equal_weights_win_equally_often(targets: int) -> None:
    """Over many objects, every target is first equally often, and every target is last equally often."""
    rows = order(np.full(targets, 7), _keys(targets))
    for place in (0, -1):
        counts = np.bincount(rows[:, place], minlength=targets).tolist()
        assert _chi_square(counts, [1 / targets] * targets) < LIMITS[targets - 1]


@pytest.mark.parametrize("weights", [[1, 2, 3, 4], [1, 1, 8], [2**61, 2**60, 2**60], [10**12, 3 * 10**12]])
def test_order_first_winner_has_the_odds_of_its_weight(weights: list[int]) -> None:
    """weight : sum of weights."""
    first = order(np.array(weights), _keys(len(weights), draw=5))[:, 0]
    counts = np.bincount(first, minlength=len(weights)).tolist()
    assert _chi_square(counts, [w / sum(weights) for w in weights]) < LIMITS[len(weights) - 1]


def test_order_pairs_have_the_odds_of_drawing_without_replacement() -> None:
    """The second winner is drawn by weight among those that are left: p(i, j) = w_i/W · w_j/(W − w_i)."""
    weights = [1, 2, 3, 6]
    rows = order(np.array(weights), _keys(4, draw=1))
    pairs = list(permutations(range(4), 2))
    counts = [int(((rows[:, 0] == i) & (rows[:, 1] == j)).sum()) for i, j in pairs]
    odds = [weights[i] / 12 * weights[j] / (12 - weights[i]) for i, j in pairs]
    assert _chi_square(counts, odds) < LIMITS[11]


def test_order_is_that_of_exponential_races() -> None:
    """The order equals that of −ln(u)/weight worked out to forty digits."""
    draw = np.random.default_rng(3)
    table = keys(np.arange(60, dtype=U64), np.arange(8, dtype=U64), 2)
    weights = draw.integers(1, 2**62, (60, 8))
    weights[:30] = draw.integers(1, 9, (30, 8))
    with localcontext() as context:
        context.prec = 40
        for row, (ws, ks) in enumerate(zip(weights.tolist(), table.tolist(), strict=True)):
            race = [(Decimal(2**64).ln() - Decimal(k | 1).ln()) / w for w, k in zip(ws, ks, strict=True)]
            want = sorted(range(8), key=race.__getitem__)
            assert want == order(weights[row], table[row]).tolist() == order(weights, table)[row].tolist()


def test_order_weight_zero_comes_last_by_tie_rank() -> None:
    """Weights 0 are behind every other weight, in tie order."""
    weights = np.array([0, 5, 0, 1, 0])
    rows = order(weights, _keys(5), tie_rank=np.array([3, 0, 1, 4, 2]))
    assert rows[:, 2:].tolist() == [[2, 4, 0]] * OBJECTS
    assert order(weights, _keys(5))[:, 2:].tolist() == [[0, 2, 4]] * OBJECTS


def test_order_equal_keys_fall_to_tie_rank_then_row() -> None:
    """Ties are decided, not left to the sort."""
    same, weights = np.full(4, 77, dtype=U64), np.array([2, 2, 2, 2])
    assert order(weights, same, tie_rank=np.array([1, 0, 1, 0])).tolist() == [1, 3, 0, 2]
    assert order(weights, same).tolist() == [0, 1, 2, 3]


def test_order_many_equal_keys_keep_rank_and_row_order() -> None:
    """Long ties, too long for a sort to be stable by accident."""
    same, weights = np.full(500, 77, dtype=U64), np.full(500, 2)
    ranks = np.arange(500) % 3
    want = sorted(range(500), key=lambda i: (i % 3, i))
    assert want == order(weights, same, tie_rank=ranks).tolist()
    assert list(range(500)) == order(weights, same).tolist()


def test_winners_of_a_tie_beside_a_row_of_little_weight() -> None:
    """One object's tie at the edge does not make weight 0 win for another object."""
    same = np.full((2, 3), 77, dtype=U64)
    won = winners(np.array([[1, 1, 1], [1, 0, 0]]), same, 2)
    assert won.tolist() == [[True, True, False], [True, False, False]]


def test_winners_among_nobody_or_for_nobody() -> None:
    """No targets, no objects, no prizes."""
    assert winners(np.zeros((3, 0)), np.zeros((3, 0)), 2).shape == (3, 0)
    assert winners(np.ones(4), np.zeros((0, 4)), 2).shape == (0, 4)
    assert not winners(np.full(4, 2**62), _keys(4)[:9], 0).any()


def test_order_extreme_keys_and_weights_stay_in_range() -> None:
    """The shortest and the longest race there is, with the smallest and the largest weight."""
    ends = np.array([0, 2**64 - 1, 0, 2**64 - 1], dtype=U64)
    assert order(np.array([2**40, 2**40, 1, 1]), ends).tolist() == [1, 3, 0, 2]
    assert order(np.array([2**62, 2**62, 1, 1]), ends).tolist() == [1, 0, 3, 2]


def test_winners_are_the_first_of_the_order_and_have_weight() -> None:
    """k for all or k for each object; where fewer have weight, all of those win."""
    weights, table = np.array([3, 0, 1, 2]), _keys(4)[:50]
    rows = order(weights, table)
    for k in range(6):
        won = winners(weights, table, k)
        want = [sorted(set(row[:k]) - {1}) for row in rows.tolist()]
        assert want == [np.flatnonzero(row).tolist() for row in won]
    each = np.arange(50) % 5
    assert winners(weights, table, each).sum(axis=1).tolist() == np.minimum(each, 3).tolist()
    ranked = winners(np.ones(3), np.full(3, 5, dtype=U64), 1, tie_rank=np.array([2, 0, 1]))
    assert ranked.tolist() == [False, True, False]
    assert winners(weights[None, :].repeat(50, axis=0), table, 2).tolist() == winners(weights, table, 2).tolist()


def test_ln_is_right_to_two_units_in_the_last_place() -> None:
    """Against forty digits, for words of every length and their neighbours."""
    draw = np.random.default_rng(1)
    words = [1, 2, 3, 2**64 - 1, 2**53 + 1]
    words += [2**e + d for e in range(2, 64) for d in (-1, 0, 1)]
    words += [int(draw.integers(0, 2**63)) >> int(draw.integers(0, 63)) | 1 for _ in range(2000)]
    words += [(k << 53) - 1 for k in range(1025, 2048)]
    got = ln(np.array(words, dtype=U64)).tolist()
    with localcontext() as context:
        context.prec = 40
        errors = [abs(Decimal(g) - Decimal(w).ln() * 2**POINT) for g, w in zip(got, words, strict=True)]
        assert max(errors) < 3
        assert sum(errors) / len(errors) < 1
        assert round(Decimal(2**64).ln() * 2**POINT) == LN_2_64
    assert got[0] == 0


def test_tables_of_logarithms_cannot_be_changed() -> None:
    """They are shared by every draw."""
    for column in _tables():
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1


def test_winners_of_no_targets_are_none() -> None:
    """No column, nobody wins."""
    nobody = np.zeros((3, 0), dtype=np.int64)
    assert winners(nobody, nobody.astype(U64), 2).shape == (3, 0)


@pytest.mark.parametrize("spread", [2**64 - 1, 2**40, 8])
@pytest.mark.parametrize("heaviest", [1, 7, 2**40, 2**62 - 1])
def test_winners_of_one_object_are_those_of_the_exact_order(spread: int, heaviest: int) -> None:
    """Keys far apart, and so near that floating point cannot tell them apart: the exact order decides."""
    random = np.random.default_rng(spread % 1000 + heaviest % 1000)
    for _ in range(200):
        size = int(random.integers(1, 30))
        start = int(random.integers(0, 2**64 - spread, dtype=U64)) if spread < 2**63 else 0
        near = random.integers(0, spread, size, dtype=U64, endpoint=True) + U64(start)
        weights = random.integers(0, heaviest, size, endpoint=True)
        k = int(random.integers(0, size, endpoint=True))
        want = np.zeros(size, dtype=bool)
        want[order(weights, near, tie_rank=np.arange(size))[:k]] = True
        assert winners(weights, near, k, tie_rank=np.arange(size)).tolist() == (want & (weights > 0)).tolist()
