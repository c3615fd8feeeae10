"""Figures at the edge of 64 bits, and disks that promise more than they have: no crash, and never less than 0."""

from fractions import Fraction

import pytest

from fairlead.levels.disk.balance import Charge, balance
from fairlead.levels.disk.ledger import NO_LIMIT, DiskLedger, minimal_spare
from fairlead.levels.disk.rebalance import Goal, rebalance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Disk, disk_table
from fairlead.model.storage import HeldReplica, StorageVolume

LIMITED = BalancePolicy(over_percent=100)
MOST = 2**63 - 1


def test_shortfall_beyond_64_bits_is_held_at_the_edge() -> None:
    """Reserved and scheduled may both be near the largest amount."""
    table = disk_table([Disk(node="n", name="d", usable_bytes=0, short_bytes=2**64, total_bytes=1)])
    ledger = DiskLedger(table, BalancePolicy())
    ledger.charge(0, MOST)
    assert int(ledger.short[0]) == MOST
    assert table.short_bytes.tolist() == [MOST]
    ledger.release(0, 10)
    assert (int(ledger.usable[0]), int(ledger.short[0])) == (0, MOST - 10)


def test_limit_beyond_64_bits_is_held_at_the_edge() -> None:
    """200 % of the largest disk, minus what is scheduled, is still a number."""
    disk = Disk(node="n", name="d", usable_bytes=MOST, total_bytes=MOST, maximum_bytes=MOST)
    ledger = DiskLedger(disk_table([disk]), BalancePolicy(over_percent=200))
    assert int(ledger.promised[0]) == NO_LIMIT
    ledger.release(0, 5)
    assert (int(ledger.promised[0]), int(ledger.usable[0])) == (NO_LIMIT, NO_LIMIT)


@pytest.mark.parametrize(("maximum", "want"), [(-1, NO_LIMIT), (0, -7), (10, NO_LIMIT)])
def test_limit_of_a_percentage_beyond_64_bits_is_held_at_the_edge(maximum: int, want: int) -> None:
    """A percentage that limits nothing is no more than that, on disks without a maximum too."""
    disk = Disk(node="n", name="d", usable_bytes=10, scheduled_bytes=7, maximum_bytes=maximum)
    ledger = DiskLedger(disk_table([disk]), BalancePolicy(over_percent=10**20))
    assert int(ledger.promised[0]) == want


def test_pending_far_beyond_the_limit_is_charged_to_the_edge() -> None:
    """Scheduled and pending together pass what 64 bits hold below 0."""
    disk = Disk(node="n", name="d", usable_bytes=10, scheduled_bytes=MOST, maximum_bytes=10)
    pending = [Charge(node="n", disk="d", size_bytes=MOST)] * 2
    decision = balance([StorageVolume(name="v", size_bytes=1)], disk_table([disk]), LIMITED, pending=pending)
    assert decision.unplaced == 1
    assert [each.reason.code for each in decision.trace.rejected] == ["OverProvisioned"]


@pytest.mark.parametrize(("available", "maximum", "want"), [(700, 1000, 449), (2**62, 2**62, 2**62 * 3 // 4 - 1)])
def test_minimal_free_space_is_exact_at_any_size(available: int, maximum: int, want: int) -> None:
    """The most that may be written: what remains must be above a quarter of the maximum."""
    disk = Disk(node="n", name="d", usable_bytes=1, available_bytes=available, maximum_bytes=maximum)
    spare = minimal_spare(disk_table([disk]), 25)
    assert spare is not None
    assert spare.tolist() == [want]


def test_disks_without_a_total_do_not_count_where_ratios_are_compared() -> None:
    """Advice at an alpha below 1 leaves them out instead of dividing by 0."""
    disks = [
        Disk(node="a", name="d", usable_bytes=0, total_bytes=0),
        Disk(node="a", name="e", usable_bytes=10, total_bytes=100),
        Disk(node="b", name="d", usable_bytes=90, total_bytes=100),
    ]
    volume = StorageVolume(name="v", size_bytes=40, replicas=0, held=(HeldReplica(name="r", node="a", disk="e"),))
    policy = BalancePolicy(alpha=Fraction(1, 2))
    decision = rebalance([volume], disk_table(disks), policy, Goal(target=Fraction(1, 10)))
    assert [move.target for move in decision.moves] == [2]
    assert decision.after[0] == 0
