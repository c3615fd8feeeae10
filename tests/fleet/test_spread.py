"""Spread constraints: which clusters are chosen so that groups are covered and there is room."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.fleet import spread_search
from fairlead.levels.fleet.divide import Division, divide
from fairlead.model.clusters import ClusterTable, Traits, cluster_table
from fairlead.model.division import DividePolicy, DivideWorkload, FleetSpread, Mode, SpreadBy
from tests.fleet.build import prior_of

Row = tuple[str, str, int, int]
"""Name, region, score, room."""


def fleet(*rows: Row) -> ClusterTable:
    """Clusters of these regions; the zone is the region's, the provider the name's first letter."""
    return cluster_table(
        [name for name, *_ in rows],
        score=[score for *_, score, _ in rows],
        capacity=[room for *_, room in rows],
        traits=[
            Traits(region=region, zones=(region + "-1",) if region else (), provider=name[0], labels={"rack": region})
            for name, region, *_ in rows
        ],
    )


def by(what: SpreadBy, least: int, most: int = 0) -> FleetSpread:
    """A constraint; label constraints are by the rack."""
    return FleetSpread(by=what, label="rack" if what is SpreadBy.LABEL else "", least=least, most=most)


def run(
    clusters: ClusterTable, replicas: int, *spread: FleetSpread, mode: Mode = Mode.DYNAMIC, **more: object
) -> Division:
    """A division under spread constraints."""
    policy = DividePolicy(mode=mode, spread=spread, **more)  # type: ignore[arg-type]
    return divide(DivideWorkload(name="web", replicas=replicas), clusters, policy)


SCORED = fleet(("m4", "", 60, 50), ("m2", "", 40, 60), ("m3", "", 30, 80), ("m1", "", 20, 40))
REGIONS = fleet(
    ("m1", "R1", 100, 40), ("m2", "R1", 80, 40), ("m3", "R2", 80, 40), ("m4", "R2", 80, 40), ("m5", "R2", 60, 40)
)


def test_cluster_limit_takes_the_best_scores() -> None:
    """Duplicated looks at no room: the two highest scores."""
    division = run(SCORED, 120, by(SpreadBy.CLUSTER, 1, 2), mode=Mode.DUPLICATED)
    assert set(division.chosen) == {"m4", "m2"}
    assert {reason.code for reason in division.removed.values()} == {"NotChosenBySpread"}


def test_cluster_limit_gives_up_score_for_room() -> None:
    """m4 and m2 hold 110 of 120, so m3 comes in for m2."""
    assert set(run(SCORED, 120, by(SpreadBy.CLUSTER, 1, 2)).chosen) == {"m4", "m3"}


def test_cluster_minimum_unmet_is_told_in_numbers() -> None:
    """Seven clusters of four."""
    division = run(SCORED, 30, by(SpreadBy.CLUSTER, 7, 7))
    assert division.finding is not None
    assert division.finding.sentence.endswith("7 clusters are wanted, 4 can be chosen")
    assert (division.unplaced, sum(division.placements.values())) == (30, 0)


def test_region_limit_takes_the_region_with_enough_clusters() -> None:
    """One region and three clusters: only R2 has three, although R1 scores higher."""
    division = run(REGIONS, 10, by(SpreadBy.REGION, 1, 1), by(SpreadBy.CLUSTER, 3, 3), mode=Mode.DUPLICATED)
    assert set(division.chosen) == {"m3", "m4", "m5"}


def test_region_and_cluster_limits_that_contradict_are_told() -> None:
    """No region has four clusters."""
    division = run(REGIONS, 10, by(SpreadBy.REGION, 1, 1), by(SpreadBy.CLUSTER, 4, 4), mode=Mode.DUPLICATED)
    assert division.finding is not None
    assert division.finding.code == "SpreadUnmet"


def test_region_with_the_room_wins_over_region_with_the_score() -> None:
    """R1 holds 80, 100 are wanted: R2."""
    assert set(run(REGIONS, 100, by(SpreadBy.REGION, 1, 1)).chosen) == {"m3", "m4", "m5"}


@pytest.mark.parametrize("what", [SpreadBy.REGION, SpreadBy.ZONE, SpreadBy.LABEL])
def test_groups_at_least_two_come_from_both_sides(what: SpreadBy) -> None:
    """Two clusters from two groups: the best of each, not the two best."""
    clusters = fleet(("a1", "x", 9, 9), ("a2", "x", 8, 9), ("b1", "y", 1, 9))
    division = run(clusters, 4, by(what, 2), by(SpreadBy.CLUSTER, 1, 2))
    assert set(division.chosen) == {"a1", "b1"}


def test_provider_groups_are_limited() -> None:
    """At most one provider: the one with the most room."""
    clusters = fleet(("a1", "x", 0, 9), ("a2", "x", 0, 9), ("b1", "y", 0, 10))
    assert set(run(clusters, 4, by(SpreadBy.PROVIDER, 1, 1)).chosen) == {"a1", "a2"}


def test_cluster_without_the_trait_is_not_chosen() -> None:
    """A cluster that names no region is in no group."""
    clusters = fleet(("a1", "x", 0, 9), ("b1", "", 9, 99))
    assert run(clusters, 4, by(SpreadBy.REGION, 1)).chosen == ("a1",)


def test_cluster_in_several_zones_covers_all_of_them() -> None:
    """One cluster over two zones meets "at least two zones", and "at most one" excludes it."""
    clusters = cluster_table(["wide", "slim"], traits=[Traits(zones=("1", "2")), Traits(zones=("3",))])
    assert "wide" in run(clusters, 4, by(SpreadBy.ZONE, 2), mode=Mode.STATIC).chosen
    assert run(clusters, 4, by(SpreadBy.ZONE, 1, 1), mode=Mode.STATIC).chosen == ("slim",)


def test_cluster_of_weight_0_covers_no_group() -> None:
    """By static weight a cluster that can get nothing is not chosen."""
    clusters = cluster_table(["a", "b"], weights=[1, 0], traits=[Traits(region="x"), Traits(region="y")])
    division = run(clusters, 4, by(SpreadBy.REGION, 2), mode=Mode.STATIC)
    assert division.finding is not None
    assert division.finding.sentence.endswith("2 regions are wanted, there are 1")


def test_labels_that_are_missing_are_told_by_key() -> None:
    """The sentence names the label."""
    division = run(fleet(("a1", "x", 0, 9)), 4, by(SpreadBy.LABEL, 2))
    assert division.finding is not None
    assert division.finding.sentence.endswith("2 values of label rack are wanted, there are 1")


def test_clusters_in_use_are_preferred_to_roomy_ones() -> None:
    """Nothing moves for the sake of room that is not needed."""
    clusters = fleet(("a1", "x", 0, 9), ("b1", "y", 0, 99))
    policy = DividePolicy(mode=Mode.DYNAMIC, spread=(by(SpreadBy.CLUSTER, 1, 1),))
    division = divide(DivideWorkload(name="web", replicas=4), clusters, policy, prior=prior_of({"a1": 4}))
    assert division.chosen == ("a1",)


def test_room_that_is_short_everywhere_is_a_lack_of_room() -> None:
    """Spread is not to blame."""
    division = run(REGIONS, 1000, by(SpreadBy.REGION, 1, 2))
    assert division.finding is not None
    assert division.finding.code == "InsufficientRoom"


def test_room_that_is_short_in_part_fills_what_the_groups_allow() -> None:
    """One region of 120 is the most that one region holds."""
    division = run(REGIONS, 1000, by(SpreadBy.REGION, 1, 1), partial=True)
    assert (set(division.chosen), division.unplaced) == ({"m3", "m4", "m5"}, 880)


def test_duplicated_that_respects_room_takes_clusters_that_hold_all() -> None:
    """Only m3 holds 70."""
    division = run(SCORED, 70, by(SpreadBy.CLUSTER, 1, 2), mode=Mode.DUPLICATED, respect_room=True)
    assert division.chosen == ("m3",)


def test_fewest_regions_that_hold_the_replicas_come_before_score() -> None:
    """6 replicas fit two regions of low score; the third, however good, is not paid for."""
    clusters = fleet(("a", "x", 60, 1), ("b", "y", 30, 3), ("c", "z", 20, 3), ("d", "w", 10, 3))
    assert set(run(clusters, 6, by(SpreadBy.REGION, 1, 3)).chosen) == {"b", "c"}
    assert set(run(clusters, 7, by(SpreadBy.REGION, 1, 3)).chosen) == {"a", "b", "c"}


def test_region_that_runs_the_workload_is_not_left_for_fewer_regions() -> None:
    """What runs stays: a target leaves for other reasons than a bill."""
    clusters = fleet(("a", "x", 0, 9), ("b", "y", 0, 9))
    policy = DividePolicy(mode=Mode.DYNAMIC, spread=(by(SpreadBy.REGION, 1, 2),))
    prior = prior_of({"a": 2, "b": 2}, mode=Mode.DYNAMIC)
    assert set(divide(DivideWorkload(name="web", replicas=4), clusters, policy, prior=prior).chosen) == {"a", "b"}


def test_duplicated_takes_the_region_in_which_more_clusters_hold_it() -> None:
    """Two clusters of y hold 5, one of x does, though x scores higher."""
    clusters = fleet(("a1", "x", 9, 9), ("a2", "x", 9, 1), ("b1", "y", 0, 9), ("b2", "y", 0, 9))
    division = run(clusters, 5, by(SpreadBy.REGION, 1, 1), mode=Mode.DUPLICATED)
    assert set(division.chosen) == {"b1", "b2"}


def test_region_counts_by_the_mean_of_its_best_clusters_not_by_their_number() -> None:
    """x and y have four clusters as wanted; y and z have five, whose scores only add up to more."""
    rows = (
        ("a", "x", 90, 40), ("b", "y", 70, 40), ("c", "y", 60, 40), ("d", "y", 30, 40), ("e", "z", 80, 40),
        ("f", "z", 50, 60), ("g", "w", 50, 50), ("h", "w", 40, 50), ("i", "w", 10, 50), ("j", "w", 0, 50),
    )  # fmt: skip
    division = run(fleet(*rows), 1, by(SpreadBy.REGION, 2, 2), by(SpreadBy.CLUSTER, 4, 5))
    assert set(division.chosen) == {"a", "b", "c", "d"}


def test_mean_of_a_region_counts_further_clusters_until_they_hold_its_part() -> None:
    """Ten of 10 in one region: x needs its second cluster of score 0 for that, so its mean is 5; y's is 6."""
    clusters = fleet(("a", "x", 10, 6), ("b", "x", 0, 9), ("c", "y", 6, 10), ("d", "y", 0, 1))
    assert set(run(clusters, 10, by(SpreadBy.REGION, 1, 1)).chosen) == {"c", "d"}
    assert set(run(clusters, 6, by(SpreadBy.REGION, 1, 1)).chosen) == {"a", "b"}


def test_search_that_stops_early_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The note tells that the choice may not be the best; with no choice at all, the finding does."""
    clusters = fleet(*((f"c{place}", f"r{place % 7}", place % 5, 10 + place % 3) for place in range(40)))
    monkeypatch.setattr(spread_search, "MOST_STATES", 30)
    division = run(clusters, 60, by(SpreadBy.REGION, 2, 3), by(SpreadBy.CLUSTER, 2, 6))
    assert any("may not be the best" in note for note in division.trace.notes)
    assert division.finding is None
    monkeypatch.setattr(spread_search, "MOST_STATES", 3)
    division = run(clusters, 60, by(SpreadBy.REGION, 2, 3), by(SpreadBy.CLUSTER, 2, 6))
    assert division.finding is not None
    assert "first 3 looked at" in division.finding.sentence


def test_search_on_a_hundred_clusters_and_few_groups_is_exact() -> None:
    """The usual fleet: a hundred clusters in five regions, two of them wanted."""
    clusters = fleet(*((f"c{place}", f"r{place % 5}", 0, 10 + place % 5) for place in range(100)))
    division = run(clusters, 400, by(SpreadBy.REGION, 1, 2))
    assert {clusters.traits_of(clusters.row[name]).region for name in division.chosen} == {"r3", "r4"}
    assert not any("may not be the best" in note for note in division.trace.notes)


@given(
    rows=st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from("pq"), st.integers(0, 3), st.integers(0, 9)),
        min_size=1,
        max_size=7,
    ),
    replicas=st.integers(1, 25),
    regions=st.tuples(st.integers(1, 3), st.integers(0, 2)),
    sizes=st.tuples(st.integers(1, 4), st.integers(0, 3)),
)
def test_choice_is_the_best_of_all_subsets(
    rows: list[tuple[str, str, int, int]], replicas: int, regions: tuple[int, int], sizes: tuple[int, int]
) -> None:
    """Against every subset: a choice is found exactly where one exists, and none is worth more."""
    clusters = cluster_table(
        [f"c{place}" for place in range(len(rows))],
        score=[score for *_, score, _ in rows],
        capacity=[room for *_, room in rows],
        traits=[Traits(region=region, provider=provider) for region, provider, *_ in rows],
    )
    constraints = (
        FleetSpread(by=SpreadBy.REGION, least=regions[0], most=regions[0] + regions[1]),
        FleetSpread(by=SpreadBy.PROVIDER, least=1, most=1),
        FleetSpread(by=SpreadBy.CLUSTER, least=sizes[0], most=sizes[0] + sizes[1]),
    )

    def fits(subset: tuple[int, ...]) -> bool:
        count = len({rows[place][0] for place in subset})
        return (
            sizes[0] <= len(subset) <= sum(sizes)
            and regions[0] <= count <= sum(regions)
            and len({rows[place][1] for place in subset}) == 1
            and sum(min(rows[place][3], replicas) for place in subset) >= replicas
        )

    def worth(subset: tuple[int, ...]) -> tuple[int, int]:
        return sum(rows[place][2] for place in subset), sum(min(rows[place][3], replicas) for place in subset)

    every = [subset for size in range(len(rows) + 1) for subset in combinations(range(len(rows)), size) if fits(subset)]
    division = run(clusters, replicas, *constraints)
    if every:
        found = tuple(clusters.row[name] for name in division.chosen)
        assert fits(found)
        least = min(row[2] for row in rows)

        def mean(region: str) -> int:
            scores = [(-score, -room) for name, _, score, room in rows if name == region]
            part, wanted, used = -(-replicas // regions[0]), max(sizes[0], regions[0]), []
            for score, room in sorted((score, max(room, -replicas)) for score, room in scores):
                used.append((-score - least, -room))
                if len(used) >= wanted and sum(room for _, room in used) >= part:
                    break
            return sum(score for score, _ in used) * 1000 // len(used)

        def rank(subset: tuple[int, ...]) -> tuple[int, int, int, int]:
            opened = {rows[place][0] for place in subset}
            score = worth(subset)[0] - least * len(subset)
            return -len(opened), sum(map(mean, opened)), score, worth(subset)[1]

        assert rank(found) == max(map(rank, every))
    else:
        assert division.finding is not None
