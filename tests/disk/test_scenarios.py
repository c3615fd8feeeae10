"""The worked examples of the replica balance scheduling proposal, by name."""

from fractions import Fraction

import numpy as np
import pytest

from fairlead.levels.disk.balance import balance
from fairlead.levels.disk.score import Field
from fairlead.model.balancing import BalancePolicy, DiskRule
from fairlead.model.disks import Disk, disk_table
from fairlead.model.storage import StorageVolume
from tests.disk.scenes import GIB, cluster, disk_scores, node_scores, place, places

TWO_NODES = cluster({"A": {"A1": 900, "A2": 100}, "B": {"B1": 600, "B2": 700}})
WITH_TOTALS = cluster({"A": {"A1": (900, 1000), "A2": (100, 200)}, "B": {"B1": (600, 800), "B2": (700, 1000)}})
TEST_PLAN = {"D40": 40 * GIB, "D25": 25 * GIB}


def test_scenario_one_old_rule_takes_the_largest_disk() -> None:
    """Maximum free space takes A1 and leaves 900 against 1300."""
    decision = place(TWO_NODES, 100, rule=DiskRule.MOST_FREE)
    assert places(decision) == ["A/A1"]
    assert decision.usable_after_bytes.tolist() == [800, 100, 600, 700]


def test_scenario_one_new_rule_takes_b2() -> None:
    """Node B leaves 200/1100, node A 400/1100; on B, disk B2 leaves both disks at 600."""
    decision = place(TWO_NODES, 100)
    assert node_scores(decision) == {"A": 0.364, "B": 0.182}
    assert disk_scores(decision) == {"B1": 0.333, "B2": 0.0}
    assert places(decision) == ["B/B2"]
    assert decision.usable_after_bytes.tolist() == [900, 100, 600, 600]


def test_scenario_one_disk_stage_over_all_candidates_ties_and_variance_decides() -> None:
    """Over all four disks B1 and B2 score 16/11 alike; B2 leaves the smaller variance."""
    decision = place(TWO_NODES, 100, everywhere=True)
    assert disk_scores(decision) == {"A1": 1.273, "A2": 1.636, "B1": 1.455, "B2": 1.455}
    assert places(decision) == ["B/B2"]


@pytest.mark.parametrize(
    ("alpha", "b1", "b2"),
    [("1", 1.455, 1.455), ("0", 0.587, 0.582), ("0.5", 1.021, 1.018)],
    ids=["absolute", "ratio", "hybrid"],
)
def test_scenario_two_comparison_table(alpha: str, b1: float, b2: float) -> None:
    """The table holds over all four disks; its 1.019 is the mean of two rounded numbers, exactly it is 1.018."""
    scores = disk_scores(place(WITH_TOTALS, 100, alpha=alpha, everywhere=True))
    assert (scores["B1"], scores["B2"]) == (b1, b2)


def test_scenario_two_printed_hybrid_is_the_mean_of_rounded_scores() -> None:
    """1.455 and 0.582 average to 1.0185, which the table prints as 1.019."""
    assert (Fraction("1.455") + Fraction("0.582")) / 2 == Fraction("1.0185")
    field = Field(np.array([900, 100, 600, 700]), np.array([1000, 200, 800, 1000]), Fraction(1, 2), 100)
    assert field.score(3) == Fraction(56, 55)


@pytest.mark.parametrize(("alpha", "node"), [("1", "B"), ("0", "A"), ("0.5", "A")])
def test_scenario_two_node_stage_does_not_choose_b_under_all_three(alpha: str, node: str) -> None:
    """Node first: with ratios A wins (2/53 against 2/9), so B2 is best under all three only within node B."""
    assert place(WITH_TOTALS, 100, alpha=alpha).placed[0].node == node


@pytest.mark.parametrize(
    ("alpha", "scores"),
    [
        ("1", {"A": 0.364, "B": 0.182}),
        ("0", {"A": 0.038, "B": 0.222}),
        ("0.5", {"A": 0.201, "B": 0.202}),
    ],
)
def test_scenario_two_node_scores(alpha: str, scores: dict[str, float]) -> None:
    """The ratio of a node is its sum of usable over its sum of total."""
    assert node_scores(place(WITH_TOTALS, 100, alpha=alpha)) == scores


def test_test_plan_four_volumes_end_at_sixteen_and_seventeen() -> None:
    """40 and 25 GiB, four volumes of 8 GiB: D40, D40, D25, D40, with the scores of each step."""
    decision = place(cluster({"n": TEST_PLAN}), 8 * GIB, 4, anti="none")
    assert places(decision) == ["n/D40", "n/D40", "n/D25", "n/D40"]
    assert [size // GIB for size in decision.usable_after_bytes.tolist()] == [17, 16]
    assert [round(float(Fraction(score.terms["disk"])), 4) for score in decision.trace.scores] == [
        0.2456,
        0.0408,
        0.3415,
        0.0606,
    ]


def test_test_plan_original_rule_puts_all_four_on_the_large_disk() -> None:
    """Thin volumes leave the free space as it was, so the old rule takes D40 each time."""
    decision = place(cluster({"n": TEST_PLAN}), 8 * GIB, 4, anti="none", rule=DiskRule.MOST_FREE)
    assert places(decision) == ["n/D40"] * 4
    assert [size // GIB for size in decision.usable_after_bytes.tolist()] == [25, 8]


def test_test_plan_written_volumes_are_counted_twice_by_the_printed_formula() -> None:
    """With each volume fully written, available falls as well as scheduled rises: the order becomes 40, 25, 40, 25."""
    written = {"D40": 0, "D25": 0}
    order = []
    for number in range(4):
        disks = [
            Disk(node="n", name=name, usable_bytes=max(size - 2 * written[name], 0), total_bytes=size)
            for name, size in TEST_PLAN.items()
        ]
        volume = StorageVolume(name=f"v{number}", size_bytes=8 * GIB)
        chosen = balance([volume], disk_table(disks), BalancePolicy()).placed[0].disk
        order.append(chosen)
        written[chosen] += 8 * GIB
    assert order == ["D40", "D25", "D40", "D25"]


def test_node_whose_disks_fit_only_in_sum_is_no_candidate() -> None:
    """A has more in sum, but no disk of it takes the replica, and so it takes no part in the score either."""
    table = cluster({"A": {"a1": 60, "a2": 60}, "B": {"b1": 100}, "C": {"c1": 90}})
    decision = place(table, 70)
    assert places(decision) == ["B/b1"]
    assert set(node_scores(decision)) == {"B", "C"}
    assert {each.reason.code: each.count for each in decision.trace.rejected} == {"InsufficientUsable": 2}


def test_of_many_disks_that_were_refused_three_are_named() -> None:
    """All are counted; names are examples."""
    decision = place(cluster({"A": {f"a{number}": 10 for number in range(5)}}), 70)
    (rejected,) = decision.trace.rejected
    assert (rejected.count, rejected.names) == (5, ("A/a0", "A/a1", "A/a2"))


def test_node_sum_counts_disks_that_are_too_small() -> None:
    """A disk that is too small for this replica is still usable space of its node."""
    decision = place(cluster({"A": {"a1": 900, "a2": 50}, "B": {"b1": 600, "b2": 320}}), 100)
    assert node_scores(decision) == {"A": 0.079, "B": 0.147}
    assert places(decision) == ["A/a1"]


def test_space_beside_a_replica_of_the_volume_still_counts_for_its_node() -> None:
    """Disks apart: B has 1200 left against A's 1000, so the second replica goes to B too, on its other disk."""
    assert places(place(TWO_NODES, 100, 2, anti="disk")) == ["B/B2", "B/B1"]
