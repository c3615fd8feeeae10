"""Many volumes at once, pending placements, and the edges of the arithmetic."""

from dataclasses import replace
from fractions import Fraction

import pytest

from fairlead.levels.disk import balance as level
from fairlead.levels.disk.balance import Charge, balance
from fairlead.levels.disk.filters import refusals
from fairlead.levels.disk.reasons import NODE_USED, NUMBER, REASONS_OF_A_DISK
from fairlead.levels.disk.score import imbalance
from fairlead.levels.disk.score_stats import fraction_sum
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Disk, disk_table
from fairlead.model.errors import InputError
from fairlead.model.storage import AntiAffinity, HeldReplica, StorageVolume
from tests.disk.scenes import cluster, node_scores, place, places

PLAIN = BalancePolicy()


def test_larger_volumes_are_placed_first() -> None:
    """The small one would take the only disk that fits the large one."""
    table = cluster({"A": {"a": 100}, "B": {"b": 60}})
    volumes = [StorageVolume(name="a-small", size_bytes=50), StorageVolume(name="z-large", size_bytes=90)]
    decision = balance(volumes, table, PLAIN)
    assert [(each.volume, each.node) for each in decision.placed] == [("z-large", "A"), ("a-small", "B")]


def test_order_of_volumes_and_disks_does_not_matter() -> None:
    """The same input in another order gives the same answer."""
    disks = [Disk(node=f"n{row}", name="d", usable_bytes=100 + row % 3) for row in range(12)]
    volumes = [StorageVolume(name=f"v{row}", size_bytes=10 + row % 2, replicas=2) for row in range(10)]
    one = balance(volumes, disk_table(disks), PLAIN)
    other = balance(volumes[::-1], disk_table(disks[::-1]), PLAIN)
    assert one.placed == other.placed
    assert one.usable_after_bytes.tolist() == other.usable_after_bytes.tolist()


def test_equal_nodes_are_taken_in_natural_order() -> None:
    """node2 before node10."""
    table = cluster({"node10": {"d": 100}, "node2": {"d": 100}})
    assert places(place(table, 10)) == ["node2/d"]


def test_burst_is_spread_over_equal_disks() -> None:
    """Twelve replicas on four equal disks: three each."""
    table = cluster({f"n{row}": {"d": 1000} for row in range(4)})
    assert dict(place(table, 10, 12, anti="none").placements) == {f"n{row}/d": 3 for row in range(4)}


def test_pending_placements_are_charged() -> None:
    """What is on its way to A makes B the better choice; what names a vanished disk is noted."""
    table = cluster({"A": {"a": 1000}, "B": {"b": 900}})
    pending = [Charge(node="A", disk="a", size_bytes=200), Charge(node="X", disk="x", size_bytes=1)]
    decision = balance([StorageVolume(name="v", size_bytes=100)], table, PLAIN, pending=pending)
    assert places(decision) == ["B/b"]
    assert decision.usable_before_bytes.tolist() == [800, 900]
    assert "X/x" in decision.trace.notes[0]


def test_pending_beyond_the_disk_leaves_nothing_not_less() -> None:
    """A charge above what is usable counts to 0."""
    table = cluster({"A": {"a": 100}})
    pending = [Charge(node="A", disk="a", size_bytes=500)]
    decision = balance([StorageVolume(name="v", size_bytes=1)], table, PLAIN, pending=pending)
    assert decision.usable_before_bytes.tolist() == [0]
    assert decision.unplaced == 1


def test_what_does_not_fit_is_told_volume_by_volume() -> None:
    """Two of three volumes lack a disk: each has its finding, the whole has one with the counts."""
    table = cluster({"A": {"a": 100}})
    volumes = [StorageVolume(name=f"v{row}", size_bytes=60, replicas=2) for row in range(3)]
    decision = balance(volumes, table, PLAIN)
    assert decision.unplaced == 5
    assert [outcome.unplaced for outcome in decision.outcomes] == [1, 2, 2]
    assert decision.finding is not None
    assert "5 of 6" in decision.finding.sentence
    assert "3 volumes" in decision.finding.sentence


def test_no_disks_at_all_is_a_reason() -> None:
    """An empty cluster takes nothing and says so."""
    decision = balance([StorageVolume(name="v", size_bytes=1)], disk_table([]), PLAIN)
    assert decision.finding is not None
    assert (decision.finding.code, decision.unplaced) == ("NoDisks", 1)


def test_nothing_asked_is_nothing_placed() -> None:
    """0 replicas: no placement, no finding."""
    decision = place(cluster({"A": {"a": 100}}), 10, 0)
    assert (decision.placed, decision.unplaced, decision.finding) == ((), 0, None)


def test_sums_beyond_int64_stay_exact() -> None:
    """Four disks of 2**62 bytes: their sum passes 2**63, and one byte more on a node still decides."""
    huge = 2**62
    table = cluster(
        {"A": {"a1": (huge, huge), "a2": (huge, huge)}, "B": {"b1": (huge, huge), "b2": (huge + 1, huge + 2)}}
    )
    assert table.wide
    for alpha in ("1", "0.5", "0"):
        decision = place(table, 10, alpha=alpha)
        assert places(decision)[0].startswith("B" if alpha == "1" else ("A", "B"))
    assert places(place(table, 10)) == ["B/b2"]


def test_mean_of_zero_scores_zero() -> None:
    """The last byte goes: everything is 0 afterwards, which is even."""
    decision = place(cluster({"A": {"a": (10, 10)}}), 10, alpha="0.5")
    assert decision.first is not None
    assert decision.first.node_field.score(0) == 0
    assert decision.first.disk_field.decimals() == [0.0]


def test_replica_on_a_vanished_disk_is_noted_and_the_rest_goes_on() -> None:
    """Its node still counts as used; the placement happens elsewhere."""
    table = cluster({"A": {"a": 100}, "B": {"b": 90}})
    volume = StorageVolume(name="v", size_bytes=10, held=(HeldReplica(name="r1", node="A", disk="gone"),))
    decision = balance([volume], table, PLAIN)
    assert places(decision) == ["B/b"]
    assert decision.trace.notes == ("1 storage replica names a disk that is not there: r1 on A/gone",)


def test_soft_and_hard_at_once_is_bad_input() -> None:
    """A level that is hard by the widest level cannot be soft as well."""
    with pytest.raises(InputError, match="cannot be soft as well"):
        AntiAffinity.of("node", ["disk"])


def test_kinds_of_volumes_beyond_the_shelves_are_placed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten kinds of volumes share two shelves; the answer is that of choosing one by one."""
    disks = [
        Disk(
            node=f"n{row}",
            name=f"d{row}",
            usable_bytes=200 + row,
            zone=f"z{row % 2}",
            tags=frozenset(map(str, range(10))),
        )
        for row in range(6)
    ]
    volumes = [
        StorageVolume(name=f"v{row}", size_bytes=5 + row % 3, replicas=2, disk_tags=frozenset({str(row % 10)}))
        for row in range(30)
    ]
    want = balance(volumes, disk_table(disks), PLAIN).placed
    monkeypatch.setattr(level, "TRACED", 0)
    monkeypatch.setattr(level, "MOST_SHELVES", 2)
    assert balance(volumes, disk_table(disks), PLAIN).placed == want


def test_heaps_respect_the_over_provisioning_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The most usable disk is at its limit, so the next one is taken; smaller volumes still fit."""
    disks = [
        Disk(node="A", name="a", usable_bytes=1000, maximum_bytes=300, total_bytes=300),
        Disk(node="B", name="b", usable_bytes=500, maximum_bytes=500, total_bytes=500),
    ]
    volumes = [StorageVolume(name=f"v{row}", size_bytes=size) for row, size in enumerate((200, 200, 100, 100, 100))]
    policy = BalancePolicy(over_percent=100)
    want = balance(volumes, disk_table(disks), policy)
    monkeypatch.setattr(level, "TRACED", 0)
    got = balance(volumes, disk_table(disks), policy)
    assert got.placed == want.placed
    assert (got.unplaced, places(got)) == (0, ["A/a", "B/b", "A/a", "B/b", "B/b"])


def test_many_mixed_totals_are_scored_and_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred different totals: the choice is that of exact keys, and scores print as decimals."""
    table = cluster({f"n{row}": {f"d{row}": (700 + 3 * row, 1000 + 7 * row)} for row in range(100)})
    decision = place(table, 10, alpha="0.5")
    assert decision.first is not None
    field = decision.first.node_field
    best = min(range(100), key=field.key)
    assert decision.placed[0].node == table.nodes[best]
    assert "/" not in decision.trace.scores[0].terms["node"]
    assert field.decimals()[best] == pytest.approx(float(field.score(best)))


def test_fraction_sum_is_exact() -> None:
    """Pairwise addition gives what one by one would."""
    parts = [(row, row + 2) for row in range(1, 8)]
    assert fraction_sum(parts) == sum((Fraction(*part) for part in parts), Fraction(0))
    assert fraction_sum([]) == 0


def test_imbalance_of_nothing_is_none() -> None:
    """No bins: even."""
    table = disk_table([])
    assert imbalance(table.usable_bytes, table.total_bytes, Fraction(1)) == (0, 0)


@pytest.mark.parametrize("others", [{}, {"B": {"b": (0, 100)}}], ids=["the only disk", "beside a full one"])
def test_what_takes_the_last_room_leaves_all_even(others: dict[str, dict[str, int | tuple[int, int]]]) -> None:
    """One disk is even with itself, and so are disks that have nothing left."""
    assert node_scores(place(cluster({"A": {"a": 100}, **others}), 100)) == {"A": 0.0}
    if not others:
        assert node_scores(place(cluster({"A": {"a": 100}}), 40)) == {"A": 0.0}


def test_disk_names_shared_by_nodes_are_told_apart() -> None:
    """`node/disk` only where a name is there twice."""
    table = cluster({"A": {"d": 1, "e": 1}, "B": {"d": 1}})
    assert [table.label(row) for row in range(3)] == ["A/d", "e", "B/d"]


def test_replica_that_waits_under_a_name_is_not_replaced_by_a_failed_one() -> None:
    """Two lack, one of them exists already: the failed one serves again for the other."""
    table = cluster({"A": {"a": 1000}, "B": {"b": 900}})
    held = (HeldReplica(name="old", node="A", disk="a", failed=True, reusable=True),)
    lacking = StorageVolume(name="v", size_bytes=100, replicas=2, waiting=("r1",), held=held)
    decision = balance([lacking], table, PLAIN)
    assert [(each.replica, each.reuses, each.node) for each in decision.placed] == [("", "old", "A"), ("r1", "", "B")]


def test_replica_that_serves_again_is_known_by_its_volume_too() -> None:
    """Both volumes call theirs r1: that of the larger serves again, that of the other does not keep its node taken."""
    table = cluster({"A": {"a": 1000}, "B": {"b": 900}})
    held = HeldReplica(name="r1", node="A", disk="a", failed=True, reusable=True)
    large = StorageVolume(name="large", size_bytes=100, held=(held,))
    small = StorageVolume(name="small", size_bytes=50, held=(replace(held, reusable=False),))
    decision = balance([large, small], table, PLAIN)
    assert [(each.volume, each.reuses, each.node) for each in decision.placed] == [
        ("large", "r1", "A"),
        ("small", "", "A"),
    ]


def test_refusals_are_those_of_one_more_replica() -> None:
    """Its node has one already, the other disk is too small, the third takes it."""
    table = cluster({"A": {"a": 1000}, "B": {"b": 50}, "C": {"c": 100}})
    held = (HeldReplica(name="r", node="A", disk="a"), HeldReplica(name="f", node="C", disk="c", failed=True))
    codes = refusals(StorageVolume(name="v", size_bytes=100, held=held), table, PLAIN)
    assert [REASONS_OF_A_DISK[code - 1].code if code else "" for code in codes.tolist()] == [
        "NodeAntiAffinity",
        "InsufficientUsable",
        "",
    ]


@pytest.mark.parametrize("held", [3, 40])
def test_nodes_that_hold_a_replica_are_kept_apart_however_many_they_are(held: int) -> None:
    """Hard: refused, all but the last node. Soft: the last node first, though it has the least space."""
    table = cluster({f"n{row}": {"d": 1000 - row, "e": 500} for row in range(held + 1)})
    there = tuple(HeldReplica(name=f"r{row}", node=f"n{row}", disk="d") for row in range(held))
    one_more = StorageVolume(name="v", size_bytes=10, held=there)
    codes = refusals(one_more, table, PLAIN).reshape(-1, 2)
    assert (codes[:-1] == NUMBER[NODE_USED]).all()
    assert codes[-1].tolist() == [0, 0]
    soft = BalancePolicy(anti_affinity=AntiAffinity.of("none", ["node"]))
    assert places(balance([one_more], table, soft)) == [f"n{held}/d"]
