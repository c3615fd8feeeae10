"""Decisions of the disk level as sentences."""

from dataclasses import replace
from fractions import Fraction

import pytest

from fairlead.engine import explain_disk
from fairlead.engine.explain_disk import lines
from fairlead.levels.disk.balance import balance
from fairlead.levels.disk.rebalance import Goal, rebalance
from fairlead.model.balancing import BalancePolicy, DiskRule
from fairlead.model.disks import Closed, Disk, disk_table
from fairlead.model.storage import AntiAffinity, HeldReplica, StorageVolume, Strictness
from tests.disk.scenes import cluster, place

GIB = 2**30
PAIR = cluster({"A": {"a": 900 * GIB}, "B": {"b": 600 * GIB, "c": 20 * GIB}}, zones={"A": "x", "B": "y"})


def test_every_candidate_has_its_score_before_and_after() -> None:
    """The chosen one first, then the others; what is too small is refused by name."""
    told = lines(place(PAIR, 100 * GIB))
    assert told[0] == "1 of 1 storage replica placed so that usable space stays even, nodes first."
    assert told[1] == "A replica of v goes to A/a (usable 900Gi before, 800Gi in the end)."
    assert "  node A: 0.2535, usable 900Gi → 800Gi, chosen." in told
    assert "  node B: 0.5352, usable 620Gi → 520Gi." in told
    assert any(line.startswith("  B/c not: the usable space of the disk is below") for line in told)


def test_equal_scores_say_what_decided() -> None:
    """Two equal disks: the name."""
    told = lines(place(cluster({"n": {"d1": 50, "d2": 50}}), 10))
    assert any("chosen (equal scores: least variance, then most usable left, then name)" in line for line in told)


def test_the_older_rule_is_named_by_what_it_does() -> None:
    """It does not aim at evenness, so evenness is not claimed."""
    told = lines(place(PAIR, 100 * GIB, rule=DiskRule.MOST_FREE))
    assert "even" not in told[0]
    assert told[0].endswith("placed by the older rule, each on the disk with most available − reserved.")


def test_mix_is_named() -> None:
    """The shares of both scores."""
    told = lines(place(PAIR, 100 * GIB, alpha="0.25"))
    assert "a mix of usable space (1/4) and usable share (3/4)" in told[0]


def test_soft_anti_affinity_is_told_as_kept_back() -> None:
    """A disk in a used zone could take it, but is not needed."""
    disks = [
        Disk(node=f"n{row}", name="d", usable_bytes=100 + row, zone=zone) for row, zone in enumerate(("x", "x", "y"))
    ]
    volume = StorageVolume(name="v", size_bytes=10, held=(HeldReplica(name="r", node="n1", disk="d"),))
    rule = AntiAffinity(zone=Strictness.SOFT)
    told = lines(balance([volume], disk_table(disks), BalancePolicy(anti_affinity=rule)))
    assert "  n0/d kept back: it shares a zone or node with another replica (soft anti-affinity)." in told


def test_unplaced_volumes_say_why_and_what_would_help() -> None:
    """Only the volumes that lack a disk are told of, each disk with its reason."""
    table = disk_table(
        [
            Disk(node="n", name="d", usable_bytes=50),
            Disk(node="m", name="d", usable_bytes=9, closed=Closed.DISK_DISABLED),
        ]
    )
    told = lines(
        balance(
            [StorageVolume(name="big", size_bytes=99), StorageVolume(name="ok", size_bytes=1)], table, BalancePolicy()
        )
    )
    assert any(line.startswith("big: 1 unplaced, NoDisk: no disk takes 1 of 1 storage replicas:") for line in told)
    assert any(
        "m/d not: scheduling is switched off on the disk (DiskSchedulingDisabled; a change of" in line for line in told
    )
    assert not any(line.startswith("ok:") for line in told)


def test_nothing_placed_has_no_scores() -> None:
    """No choice, no table of scores."""
    told = lines(balance([StorageVolume(name="v", size_bytes=99)], disk_table([]), BalancePolicy()))
    assert not any("Imbalance after" in line for line in told)
    assert any("NoDisks: there are no disks" in line for line in told)


def test_reused_replica_and_vanished_disk_are_told() -> None:
    """One failed replica serves again; another names a disk that is gone."""
    held = (
        HeldReplica(name="r1", node="A", disk="a", failed=True, reusable=True),
        HeldReplica(name="r2", node="B", disk="gone"),
    )
    told = lines(balance([StorageVolume(name="v", size_bytes=1, held=held)], PAIR, BalancePolicy()))
    assert "r1 failed but may serve again on A/a, so no new replica is made." in told
    assert "1 storage replica names a disk that is not there: r2 on B/gone." in told


def test_long_lists_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicas, nodes and refused disks beyond the limit are counted."""
    monkeypatch.setattr(explain_disk, "MOST", 2)
    table = cluster({f"n{row}": {"d": 100 if row < 4 else 1} for row in range(8)})
    told = lines(place(table, 10, 4))
    assert "… and 2 more." in told
    assert told.count("  … and 2 more.") == 2


def test_moves_say_what_they_are_for() -> None:
    """Evening out, emptying, and what stopped it."""
    disks = [
        Disk(node="a", name="d", usable_bytes=10, total_bytes=100),
        Disk(node="b", name="d", usable_bytes=100, total_bytes=100),
    ]
    volume = StorageVolume(name="v", size_bytes=40, replicas=0, held=(HeldReplica(name="r", node="a", disk="d"),))
    table = disk_table(disks)
    told = lines(rebalance([volume], table, BalancePolicy(), Goal(target=Fraction(1, 2))))
    assert told[0].startswith("1 move, 40 to copy: imbalance of the nodes 1.636 → 0.182")
    assert told[1] == "  r (40) from a/d to b/d: evens out the nodes, 1.636 → 0.182."
    stuck = lines(rebalance([replace(volume, healthy=False)], table, BalancePolicy(), Goal(target=Fraction(1, 2))))
    assert stuck[0].startswith("0 moves")
    assert any(line.startswith("TargetMissed: the imbalance is 1.636 with 0 moves made") for line in stuck)
    assert "Left alone (degraded, rebuilding or held by locality): v." in stuck
