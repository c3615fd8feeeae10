"""The examples and rules of Karmada's proposal on dividing replicas by static weight, by name.

Residuals are drawn, so an example is checked over many objects: for the set of results it allows, and for how
often each of them comes.
"""

from itertools import combinations

import pytest

from fairlead.model.division import Mode
from tests.fleet.build import MEMBERS, chi_square, ones, outcomes, prior_of, static

STORY = prior_of(dict(zip(MEMBERS, (2, 1, 2, 1), strict=True)))
FOUR = ones(MEMBERS)

CHI_SQUARE_999 = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52}
"""The 99.9 % points, by degrees of freedom."""


def raised(base: tuple[int, ...], extra: int) -> set[tuple[int, ...]]:
    """Every result in which `extra` different clusters have one more than the base."""
    places = range(len(base))
    return {tuple(base[place] + (place in more) for place in places) for more in combinations(places, extra)}


def test_user_story_first_division_two_residuals_to_any_two_clusters() -> None:
    """6 over 1:1:1:1 gives each 1 and the other 2 to any two, all six pairs equally often."""
    seen = outcomes(6, FOUR, objects=1200)
    assert set(seen) == raised((1, 1, 1, 1), 2)
    assert chi_square(seen.values(), [200] * 6) < CHI_SQUARE_999[5]


def test_motivation_seven_over_two_equal_clusters_either_wins() -> None:
    """7 over 1:1 is 4:3 or 3:4, equally often: goal 1."""
    seen = outcomes(7, ones(MEMBERS[:2]), objects=1000)
    assert set(seen) == {(4, 3), (3, 4)}
    assert chi_square(seen.values(), [500, 500]) < CHI_SQUARE_999[1]


def test_example_1_nothing_changed_keeps_the_assignment() -> None:
    """A label on the policy changes nothing: no new draw, for no object."""
    assert set(outcomes(6, FOUR, prior=STORY)) == {(2, 1, 2, 1)}
    assert static(6, FOUR, prior=STORY).kept


def test_goal_2_weights_doubled_keeps_the_assignment() -> None:
    """1:1 to 2:2 needs no rescheduling."""
    assert set(outcomes(6, dict.fromkeys(MEMBERS, 2), prior=STORY)) == {(2, 1, 2, 1)}


@pytest.mark.parametrize("mode", [Mode.DUPLICATED, Mode.DYNAMIC, Mode.AGGREGATED, Mode.WEBSTER])
def test_example_2_last_mode_not_static_draws_anew(mode: Mode) -> None:
    """Whatever the last result was, it is not looked at."""
    prior = prior_of(STORY.counts, mode=mode)
    assert set(outcomes(6, FOUR, prior=prior)) == raised((1, 1, 1, 1), 2)


def test_example_2_duplicated_prior_counts_more_than_it_divides() -> None:
    """After Duplicated every cluster has all 6; the sum 24 says nothing about 6."""
    prior = prior_of(dict.fromkeys(MEMBERS, 6), replicas=6, mode=Mode.DUPLICATED)
    assert set(outcomes(6, FOUR, prior=prior)) == raised((1, 1, 1, 1), 2)


def test_example_3_1_six_to_two_draws_anew() -> None:
    """The floors fall from 1 to 0, so any two clusters may get the 2."""
    seen = outcomes(2, FOUR, prior=STORY, objects=1200)
    assert set(seen) == raised((0, 0, 0, 0), 2)
    assert chi_square(seen.values(), [200] * 6) < CHI_SQUARE_999[5]


def test_example_3_2_six_to_five_keeps_one_of_the_holders() -> None:
    """The floors stay, so the one residual goes to member1 or member3, equally often."""
    seen = outcomes(5, FOUR, prior=STORY, objects=1000)
    assert set(seen) == {(2, 1, 1, 1), (1, 1, 2, 1)}
    assert chi_square(seen.values(), [500, 500]) < CHI_SQUARE_999[1]
    assert not static(5, FOUR, prior=STORY).kept


def test_example_3_3_six_to_seven_keeps_both_holders_and_adds_one() -> None:
    """member1 and member3 keep theirs; the third residual goes to member2 or member4, equally often."""
    seen = outcomes(7, FOUR, prior=STORY, objects=1000)
    assert set(seen) == {(2, 2, 2, 1), (2, 1, 2, 2)}
    assert chi_square(seen.values(), [500, 500]) < CHI_SQUARE_999[1]


def test_example_3_4_six_to_nine_draws_anew() -> None:
    """The floors rise from 1 to 2, so anybody may get the one that is left."""
    seen = outcomes(9, FOUR, prior=STORY, objects=1000)
    assert set(seen) == raised((2, 2, 2, 2), 1)
    assert chi_square(seen.values(), [250] * 4) < CHI_SQUARE_999[3]


REWEIGHTED = {"member1": 2, "member2": 1, "member3": 1, "member4": 1}


def test_example_4_new_weights_prior_still_in_quota_is_kept() -> None:
    """2:1:1:1 with the story's 2,1,2,1: rule 2 answers the question about member3, it keeps its residual."""
    assert set(outcomes(6, REWEIGHTED, prior=STORY)) == {(2, 1, 2, 1)}
    assert static(6, REWEIGHTED, prior=STORY).kept


def test_example_4_new_weights_prior_out_of_quota_anybody_may_win() -> None:
    """2:1:1:1 with a prior of 1,2,1,2, which no longer fits: any cluster may get the residual."""
    prior = prior_of(dict(zip(MEMBERS, (1, 2, 1, 2), strict=True)))
    assert set(outcomes(6, REWEIGHTED, prior=prior)) == raised((2, 1, 1, 1), 1)


def test_example_5_cluster_gone_and_replicas_the_same_divides_anew() -> None:
    """Over three clusters every quota is 2."""
    division = static(6, ones(MEMBERS[:3]), prior=STORY)
    assert dict(division.placements) == {"member1": 2, "member2": 2, "member3": 2}
    assert not division.kept


def test_rule_2_clusters_added_and_replicas_up_keeps_the_survivors() -> None:
    """2,1,2,1 plus two new clusters and 3 more replicas: nobody moves, the new ones get the 3."""
    weights = FOUR | {"member5": 1, "member6": 1}
    seen = outcomes(9, weights, prior=STORY)
    assert set(seen) == {(2, 1, 2, 1, 2, 1), (2, 1, 2, 1, 1, 2)}
    division = static(9, weights, prior=STORY)
    assert division.kept


def test_rule_2_clusters_added_and_survivor_out_of_range_keeps_nobody() -> None:
    """With 7 over six clusters the quota is 7/6; the survivors' 6 leave 1 for two clusters that must have 1 each."""
    weights = FOUR | {"member5": 1, "member6": 1}
    seen = outcomes(7, weights, prior=STORY, objects=600)
    assert set(seen) == raised((1,) * 6, 1)
    assert not static(7, weights, prior=STORY).kept


def test_rule_2_clusters_removed_and_replicas_down_keeps_the_survivors() -> None:
    """member4 leaves with its 1: the other three keep 2,1,2."""
    division = static(5, ones(MEMBERS[:3]), prior=STORY)
    assert dict(division.placements) == {"member1": 2, "member2": 1, "member3": 2}
    assert division.kept


def test_rule_2_clusters_removed_and_survivors_do_not_sum_keeps_nobody() -> None:
    """member4 leaves and 4 are wanted: the survivors have 5, so all three may hold the residual."""
    assert set(outcomes(4, ones(MEMBERS[:3]), prior=STORY)) == raised((1, 1, 1), 1)


def test_rule_2_clusters_added_and_replicas_down_draws() -> None:
    """Only "added and up" and "removed and down" reuse; added while the replicas fall does not."""
    prior = prior_of({"a": 1, "b": 1}, replicas=5)
    assert set(outcomes(3, ones("abcd"), prior=prior)) == raised((0, 0, 0, 0), 3)


def test_rule_2_cluster_swapped_draws() -> None:
    """One gone and one new at once is in neither form of the rule."""
    prior = prior_of({"a": 1, "b": 0})
    assert set(outcomes(1, ones("bc"), prior=prior)) == {(1, 0), (0, 1)}


def test_rule_4_same_floors_after_weights_changed_keeps_holders() -> None:
    """3 over 5:4 has floors 1,1 as 3 over 1:1 had; the holder stays."""
    for counts in ({"a": 2, "b": 1}, {"a": 1, "b": 2}):
        assert dict(static(3, {"a": 5, "b": 4}, prior=prior_of(counts)).placements) == counts


def test_rule_4_prior_floors_use_prior_replicas_not_the_sum() -> None:
    """A prior of 6 replicas of which one cluster lost one still has floors 1,1,1,1: its holder stays first."""
    prior = prior_of(dict(zip(MEMBERS, (2, 1, 1, 1), strict=True)), replicas=6)
    seen = outcomes(6, FOUR, prior=prior)
    assert set(seen) == {(2, 2, 1, 1), (2, 1, 2, 1), (2, 1, 1, 2)}


def test_cluster_that_joins_gets_its_floor_and_nothing_that_is_not_left() -> None:
    """1 and 2 stay as they are and one replica is new: the third cluster has its floor of 1, and there is no draw."""
    prior = prior_of(dict(zip(MEMBERS[:2], (1, 2), strict=True)))
    assert set(outcomes(4, ones(MEMBERS[:3]), prior=prior)) == {(1, 2, 1)}
