"""The lottery for residuals: rule 5's odds, their limits, and what does not change a draw."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from fairlead.levels.fleet import draw
from fairlead.model.division import Sticky
from tests.fleet.build import chi_square, outcomes, static

LIMIT = {1: 15.1, 2: 18.4, 3: 21.1}
"""Chi-square with these degrees of freedom is above this once in 10,000 fair draws."""
OBJECTS = 2000


def wins(seen: Counter[tuple[int, ...]], floors: tuple[int, ...]) -> list[int]:
    """How often each cluster got a residual."""
    return [sum(times for result, times in seen.items() if result[place] > floor) for place, floor in enumerate(floors)]


ODDS = {
    "by weight where room is not reported": ({"a": 1, "b": 2, "c": 3}, None, None, (1, 2, 3)),
    "half weight and half room by default": ({"a": 1, "b": 1}, {"a": 30, "b": 10}, None, (5, 3)),
    "by weight at coefficient 0": ({"a": 1, "b": 3}, {"a": 30, "b": 10}, Fraction(0), (1, 3)),
    "by room at coefficient 1": ({"a": 1, "b": 3}, {"a": 30, "b": 10}, Fraction(1), (3, 1)),
    "mixed by a third": ({"a": 1, "b": 1}, {"a": 1, "b": 0}, Fraction(1, 3), (2, 1)),
    "by weight where there is no room at all": ({"a": 1, "b": 3}, {"a": 0, "b": 0}, None, (1, 3)),
}


@pytest.mark.parametrize(("weights", "room", "coefficient", "odds"), ODDS.values(), ids=ODDS)
def test_one_residual_is_won_with_the_odds_of_rule_5(
    weights: dict[str, int], room: dict[str, int] | None, coefficient: Fraction | None, odds: tuple[int, ...]
) -> None:
    """Over many objects the winners of one residual follow (1−c)·weight share + c·room share."""
    seen = outcomes(1, weights, capacity=room, coefficient=coefficient, objects=OBJECTS)
    expected = [OBJECTS * share / sum(odds) for share in odds]
    assert chi_square(wins(seen, (0,) * len(odds)), expected) < LIMIT[len(odds) - 1]


def test_two_residuals_are_won_equally_often_by_equals() -> None:
    """Two residuals among four equal clusters: everybody wins in half of the draws."""
    seen = outcomes(6, dict.fromkeys("abcd", 1), objects=OBJECTS)
    assert chi_square(wins(seen, (1,) * 4), [OBJECTS / 2] * 4) < LIMIT[3]


def test_cluster_of_weight_0_never_wins() -> None:
    """However much room it has."""
    seen = outcomes(5, {"a": 1, "b": 1, "c": 0}, capacity={"a": 1, "b": 1, "c": 1000}, objects=300)
    assert {result[2] for result in seen} == {0}
    assert len(seen) == 2


def test_cluster_without_room_wins_by_weight_where_only_room_counts_and_nobody_else_is_left() -> None:
    """Two residuals, three clusters, one with room: it always wins, the other is drawn by weight."""
    seen = outcomes(2, dict.fromkeys("abc", 1), capacity={"a": 5, "b": 0, "c": 0}, coefficient=Fraction(1))
    assert set(seen) == {(1, 1, 0), (1, 0, 1)}


def test_one_cluster_without_reported_room_leaves_weights_alone() -> None:
    """The coefficient counts only where every cluster reports room."""
    division = static(1, {"a": 1, "b": 1}, capacity={"a": 30, "b": -1})
    assert division.trace.draws[0].weights == (1, 1)


def test_draw_is_recorded_with_names_odds_and_winners() -> None:
    """The trace has all that replays the draw; p = ½·w/W + ½·room/Room, in whole numbers."""
    division = static(1, {"a": 1, "b": 1}, capacity={"a": 30, "b": 10})
    (drawn,) = division.trace.draws
    assert drawn.equals == ("a", "b")
    assert Fraction(drawn.weights[0], sum(drawn.weights)) == Fraction(5, 8)
    assert drawn.winners == tuple(name for name, count in division.placements.items() if count)
    assert drawn.key.startswith("u#")


def test_draw_without_any_room_is_recorded_with_the_odds_of_the_weights() -> None:
    """Nobody has odds by room, so weights alone count, and the record says so."""
    (drawn,) = static(1, {"a": 1, "b": 3}, capacity={"a": 0, "b": 0}).trace.draws
    assert Fraction(drawn.weights[0], sum(drawn.weights)) == Fraction(1, 4)


def test_whole_quotas_take_no_part_in_the_draw() -> None:
    """Of 2:1:1 with 2 replicas the first is owed exactly 1; the other two draw for one."""
    division = static(2, {"a": 2, "b": 1, "c": 1})
    assert division.trace.draws[0].equals == ("b", "c")
    assert division.placements["a"] == 1


def test_same_floors_same_draw_for_more_residuals() -> None:
    """Who wins one of 5 also wins one of 6 and 7: the keys belong to the floors, not to the number of residuals."""
    weights = dict.fromkeys("abcd", 1)
    for number in range(40):
        counts = [static(replicas, weights, uid=f"u{number}").placements for replicas in (5, 6, 7)]
        for fewer, more in pairwise(counts):
            assert all(fewer[name] <= more[name] for name in weights)


def test_other_floors_other_draw() -> None:
    """The winner of 5 over four clusters is not always the winner of 9."""
    weights = dict.fromkeys("abcd", 1)

    def winner(replicas: int, uid: str) -> str:
        placements = static(replicas, weights, uid=uid).placements
        return max(placements, key=lambda name: placements[name])

    same = sum(winner(5, f"u{number}") == winner(9, f"u{number}") for number in range(200))
    assert 25 <= same <= 75


def test_cluster_that_can_get_nothing_does_not_change_the_draw_of_the_others() -> None:
    """A cluster of weight 0 comes or goes: the winners stay."""
    for number in range(40):
        uid = f"u{number}"
        alone = static(5, dict.fromkeys("abcd", 1), uid=uid).placements
        beside = static(5, dict.fromkeys("abcd", 1) | {"e": 0}, uid=uid).placements
        assert {**alone, "e": 0} == dict(beside)


def test_sticky_none_forgets_the_prior() -> None:
    """The same draw as without a prior."""
    from tests.fleet.test_seed import FOUR, STORY

    seen = outcomes(6, FOUR, prior=STORY, sticky=Sticky.NONE)
    assert seen == outcomes(6, FOUR)


def test_odds_too_large_for_the_lottery_keep_their_proportions_row_by_row() -> None:
    """Scaled by a power of two, nobody to 0, and a row does not depend on the rows beside it."""
    large = np.array([[2**70, 2**69, 1], [3, 2, 1]], dtype=object)
    weights = np.ones((2, 3), dtype=np.int64)
    keys = np.arange(6, dtype=np.uint64).reshape(2, 3) * np.uint64(2**61)
    take, rank = np.array([1, 1]), np.arange(3)
    together = draw.winners(large, weights, weights > 0, keys, take, rank)
    for row in range(2):
        own = draw.winners(large[row : row + 1], weights[:1], weights[:1] > 0, keys[row : row + 1], take[:1], rank)
        assert own[0].tolist() == together[row].tolist()
    fitted = draw._fitting(large).tolist()
    assert fitted[0][0] == 2 * fitted[0][1] < 2**62
    assert fitted[0][2] == 1
    assert fitted[1] == [3, 2, 1]
