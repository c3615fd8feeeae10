"""A division told in sentences."""

from fairlead.engine.explain_fleet import lines
from fairlead.levels.fleet.divide import divide
from fairlead.model.clusters import Traits, cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, FleetAffinity, Mode, PriorDivision, Sticky
from tests.fleet.build import prior_of, static


def test_fresh_division_tells_floor_residual_and_odds() -> None:
    """Winners and losers of the draw, each with its odds."""
    told = lines(static(7, {"a": 1, "b": 1}, uid="u1"))
    assert told[0] == "7 replicas over 2 of 2 clusters, by static weight; 0 unplaced."
    assert told[1] == "The floors take 6, 1 is residual."
    assert told[2] == "The residual is drawn."
    assert sorted(line.partition(": ")[2] for line in told[3:]) == [
        "3, its floor; it drew with odds 1 in 2 and did not win.",
        "4, its floor 3 and a residual, drawn with odds 1 in 2.",
    ]


def test_whole_quotas_leave_nothing_to_draw() -> None:
    """No odds where nobody draws."""
    told = lines(static(6, {"a": 1, "b": 1}))
    assert told[1:] == (
        "The floors take 6, 0 are residual.",
        "Every quota is whole: nothing is left to draw.",
        "a: 3, its floor.",
        "b: 3, its floor.",
    )


def test_kept_division_says_that_it_is_kept() -> None:
    """Rule 2: as it was."""
    told = lines(static(7, {"a": 1, "b": 1}, prior=prior_of({"a": 4, "b": 3})))
    assert "a: 4, kept as it was (its floor is 3)." in told
    assert "The prior result still fits and is kept." in told


def test_previous_holders_are_told_apart_from_winners() -> None:
    """6 → 7 of the story: two keep theirs, one is drawn."""
    prior = prior_of({"a": 2, "b": 1, "c": 2, "d": 1})
    told = lines(static(7, dict.fromkeys("abcd", 1), prior=prior))
    assert "a: 2, its floor 1 and the residual it had." in told
    assert sum("drawn with odds 1 in 2" in line for line in told) == 1


def test_new_cluster_that_must_get_one_gets_one() -> None:
    """Rule 2 with new clusters that need no draw."""
    division = static(6, dict.fromkeys("abc", 1) | {"d": 1}, prior=prior_of({"a": 2, "b": 1, "c": 1}))
    assert "d: 2, its floor 1 and one." in lines(division)


def test_fewest_moves_are_named() -> None:
    """`sticky: most`."""
    told = lines(static(7, {"a": 1, "b": 1}, prior=prior_of({"a": 5, "b": 2}), sticky=Sticky.MOST))
    assert "a: 4, its floor 3 and the residual it had." in told


def test_removed_clusters_and_the_group_are_named() -> None:
    """Filters with their codes, in natural order."""
    clusters = cluster_table(["c10", "c2"], traits=[Traits(deleting=True), Traits()])
    policy = DividePolicy(mode=Mode.DUPLICATED, affinities=(FleetAffinity(name="near"),))
    told = lines(divide(DivideWorkload(name="web", replicas=2), clusters, policy))
    assert told == (
        "2 replicas over 1 of 2 clusters (affinity group near), whole in each cluster; 0 unplaced.",
        "c2: 2.",
        "c10: none, the cluster is being deleted (ClusterDeleting).",
    )


def test_refusal_tells_the_reason_and_its_cure() -> None:
    """What is missing and what would help."""
    clusters = cluster_table(["a"], capacity=[1])
    told = lines(divide(DivideWorkload(name="web", replicas=3), clusters, DividePolicy(mode=Mode.DYNAMIC)))
    assert told[1] == (
        "InsufficientRoom: the clusters have room for 1 of 3 replicas, 2 are missing; "
        "more room on a cluster would change it."
    )


def test_steady_division_that_moves_nothing_says_so() -> None:
    """Dynamic, nothing changed."""
    clusters = cluster_table(["a"], capacity=[9])
    prior = PriorDivision(mode=Mode.DYNAMIC, replicas=3, counts={"a": 3})
    told = lines(divide(DivideWorkload(name="web", replicas=3), clusters, DividePolicy(mode=Mode.DYNAMIC), prior=prior))
    assert told[-1] == "a: 3, as before."
