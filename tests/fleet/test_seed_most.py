"""The stories of the proposal under `sticky: most`: 1, 3.1 to 3.4 and 5 hold; 2 and 4 draw among the fewest moves."""

from fairlead.model.division import Mode, Sticky
from tests.fleet.build import MEMBERS, ones, outcomes, prior_of
from tests.fleet.test_seed import FOUR, STORY, raised

MOST = Sticky.MOST


def test_example_1_nothing_changed_keeps_the_assignment() -> None:
    """No new draw, for no object."""
    assert set(outcomes(6, FOUR, prior=STORY, sticky=MOST)) == {(2, 1, 2, 1)}


def test_example_2_prior_of_another_mode_is_a_prior() -> None:
    """The difference: what runs stays where it fits. After Duplicated everything fits, so any two may win."""
    dynamic = prior_of(STORY.counts, mode=Mode.DYNAMIC)
    assert set(outcomes(6, FOUR, prior=dynamic, sticky=MOST)) == {(2, 1, 2, 1)}
    whole = prior_of(dict.fromkeys(MEMBERS, 6), replicas=6, mode=Mode.DUPLICATED)
    assert set(outcomes(6, FOUR, prior=whole, sticky=MOST)) == raised((1, 1, 1, 1), 2)


def test_example_3_1_six_to_two_draws_anew() -> None:
    """Any two clusters may get the 2: all of them have one."""
    assert set(outcomes(2, FOUR, prior=STORY, sticky=MOST)) == raised((0, 0, 0, 0), 2)


def test_example_3_2_six_to_five_keeps_one_of_the_holders() -> None:
    """member1 or member3."""
    assert set(outcomes(5, FOUR, prior=STORY, sticky=MOST)) == {(2, 1, 1, 1), (1, 1, 2, 1)}


def test_example_3_3_six_to_seven_keeps_both_holders_and_adds_one() -> None:
    """member2 or member4 gets the third."""
    assert set(outcomes(7, FOUR, prior=STORY, sticky=MOST)) == {(2, 2, 2, 1), (2, 1, 2, 2)}


def test_example_3_4_six_to_nine_draws_anew() -> None:
    """Any cluster may get the one that is left: none has more than its floor of 2."""
    assert set(outcomes(9, FOUR, prior=STORY, sticky=MOST)) == raised((2, 2, 2, 2), 1)


def test_example_4_new_weights_draw_among_the_fewest_moves() -> None:
    """The difference: with 2:1:1:1 and a prior of 1,2,1,2 a holder keeps its residual; anybody may win by the seed."""
    weights = dict(zip(MEMBERS, (2, 1, 1, 1), strict=True))
    prior = prior_of(dict(zip(MEMBERS, (1, 2, 1, 2), strict=True)))
    assert set(outcomes(6, weights, prior=prior, sticky=MOST)) == {(2, 2, 1, 1), (2, 1, 1, 2)}
    assert set(outcomes(6, weights, prior=STORY, sticky=MOST)) == {(2, 1, 2, 1)}


def test_example_5_cluster_gone_divides_the_rest() -> None:
    """Over three clusters every quota is 2; with one replica fewer the survivors keep theirs."""
    assert set(outcomes(6, ones(MEMBERS[:3]), prior=STORY, sticky=MOST)) == {(2, 2, 2)}
    assert set(outcomes(5, ones(MEMBERS[:3]), prior=STORY, sticky=MOST)) == {(2, 1, 2)}
