"""The disk level beside Longhorn's figures: one replica from a warm table, bursts, and how both grow."""

from fractions import Fraction
from functools import partial

import numpy as np

from bench.measure import CPU, Report, best, milliseconds, ratio, side_by_side
from fairlead.levels.disk.balance import balance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Disk, DiskTable, disk_table
from fairlead.model.storage import AntiAffinity, HeldReplica, StorageVolume, Strictness

GIB = 2**30
LONGHORN_MS = {1_000: 17.0, 5_000: 208.0}
"""Longhorn's own function, compiled, four disks a node, on a machine of this kind."""

MIXED = BalancePolicy(alpha=Fraction(1, 2))
LIMITS = BalancePolicy(
    over_percent=100,
    minimal_percent=25,
    anti_affinity=AntiAffinity(zone=Strictness.SOFT, node=Strictness.HARD, disk=Strictness.HARD),
)
"""Longhorn's own defaults."""
HELD = (HeldReplica(name="a", node="node7", disk="disk1"), HeldReplica(name="b", node="node9", disk="disk2"))


def run(report: Report) -> None:
    """All tables, in processor time of one core."""
    _one(report)
    _bursts(report)


def cluster(nodes: int, disks: int = 4) -> DiskTable:
    """Nodes in three zones, with disks of 2 TiB and mixed totals, somewhat filled and promised."""
    draw = np.random.default_rng(5)
    rows = []
    for node in range(nodes):
        for disk in range(disks):
            usable = int(draw.integers(500, 2000)) * GIB
            total = (2000 + int(draw.integers(5))) * GIB
            rows.append(
                Disk(
                    node=f"node{node}",
                    name=f"disk{disk}",
                    zone=f"zone{node % 3}",
                    usable_bytes=usable,
                    total_bytes=total,
                    maximum_bytes=total,
                    available_bytes=usable,
                )
            )
    return disk_table(rows)


def _one(report: Report) -> None:
    rows = []
    volume = [StorageVolume(name="v", size_bytes=50 * GIB)]
    third = [StorageVolume(name="v", size_bytes=50 * GIB, block=False, written_bytes=GIB, held=HELD)]
    for nodes in (1_000, 5_000, 20_000):
        table = cluster(nodes)
        calls = {
            "plain": lambda table=table: balance(volume, table, BalancePolicy()),
            "limits": lambda table=table: balance(volume, table, LIMITS),
            "third": lambda table=table: balance(third, table, LIMITS),
            "hybrid": lambda table=table: balance(volume, table, MIXED),
        }
        took = side_by_side(calls, repeats=60, clock=CPU)
        known = LONGHORN_MS.get(nodes)
        rows.append(
            (
                f"{nodes:,}",
                *(milliseconds(seconds) for seconds in took.values()),
                f"{known:g} ms" if known else "",
                ratio(known / 1e3, took["third"]) if known else "",
            )
        )
    report.table(
        "one replica, four disks a node (processor time)",
        ("nodes", "alpha 1", "with limits", "beside two others", "alpha 0.5", "Longhorn", "ratio"),
        rows,
    )


def _bursts(report: Report) -> None:
    rows = []
    loose = BalancePolicy(anti_affinity=AntiAffinity.of("none"))
    table = cluster(5_000)
    for replicas in (25_000, 50_000, 100_000):
        one = [StorageVolume(name="v", size_bytes=GIB, replicas=replicas)]
        many = [
            StorageVolume(name=f"v{row}", size_bytes=GIB * (1 + row % 7), replicas=3) for row in range(replicas // 3)
        ]
        took = (
            best(partial(balance, one, table, loose), repeats=2, clock=CPU),
            best(partial(balance, many, table, BalancePolicy()), repeats=2, clock=CPU),
        )
        rows.append((f"{replicas:,}", *map(milliseconds, took)))
    report.table(
        "bursts on 5,000 nodes × 4 disks (processor time)", ("replicas", "one volume", "volumes of three"), rows
    )
    rows = []
    for nodes in (1_000, 10_000):
        wide = cluster(nodes)
        mixed = [StorageVolume(name="v", size_bytes=GIB, replicas=2_000)]
        policy = BalancePolicy(alpha=Fraction(1, 2), anti_affinity=loose.anti_affinity)
        seconds = best(partial(balance, mixed, wide, policy), repeats=2, clock=CPU)
        rows.append((f"{nodes:,}", milliseconds(seconds)))
    report.table("a burst of 2,000 replicas at alpha 0.5 (processor time)", ("nodes", "one volume"), rows)
