"""The disk level beside Longhorn's figures: one replica from a warm table, bursts, and how both grow."""

from fractions import Fraction

import numpy as np

from bench.measure import CPU, Report, best, milliseconds, ratio
from fairlead.levels.disk.balance import balance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Disk, DiskTable, disk_table
from fairlead.model.storage import AntiAffinity, Volume

GIB = 2**30
LONGHORN_MS = {1_000: 17.0, 5_000: 208.0}
"""Longhorn's own function, compiled, four disks a node, on a machine of this kind."""

MIXED = BalancePolicy(alpha=Fraction(1, 2))


def run(report: Report) -> None:
    """All tables, in processor time of one core."""
    _one(report)
    _bursts(report)


def cluster(nodes: int, disks: int = 4) -> DiskTable:
    """Nodes with disks of 2 TiB and mixed totals, somewhat filled."""
    draw = np.random.default_rng(5)
    return disk_table(
        [
            Disk(
                node=f"node{node}",
                name=f"disk{disk}",
                usable_bytes=int(draw.integers(500, 2000)) * GIB,
                total_bytes=(2000 + int(draw.integers(5))) * GIB,
            )
            for node in range(nodes)
            for disk in range(disks)
        ]
    )


def _one(report: Report) -> None:
    rows = []
    volume = [Volume(name="v", size_bytes=50 * GIB)]
    for nodes in (1_000, 5_000, 20_000):
        table = cluster(nodes)
        plain = best(lambda table=table: balance(volume, table, BalancePolicy()), repeats=60, clock=CPU)
        hybrid = best(lambda table=table: balance(volume, table, MIXED), repeats=30, clock=CPU)
        known = LONGHORN_MS.get(nodes)
        rows.append(
            (
                f"{nodes:,}",
                milliseconds(plain),
                milliseconds(hybrid),
                f"{known:g} ms" if known else "",
                ratio(known / 1e3, plain) if known else "",
            )
        )
    report.table(
        "one replica, four disks a node (processor time)", ("nodes", "alpha 1", "alpha 0.5", "Longhorn", "ratio"), rows
    )


def _bursts(report: Report) -> None:
    rows = []
    loose = BalancePolicy(anti_affinity=AntiAffinity.of("none"))
    table = cluster(5_000)
    for replicas in (25_000, 50_000, 100_000):
        one = [Volume(name="v", size_bytes=GIB, replicas=replicas)]
        many = [Volume(name=f"v{row}", size_bytes=GIB * (1 + row % 7), replicas=3) for row in range(replicas // 3)]
        took = (
            best(lambda one=one: balance(one, table, loose), repeats=2, clock=CPU),
            best(lambda many=many: balance(many, table, BalancePolicy()), repeats=2, clock=CPU),
        )
        rows.append((f"{replicas:,}", *map(milliseconds, took)))
    report.table(
        "bursts on 5,000 nodes × 4 disks (processor time)", ("replicas", "one volume", "volumes of three"), rows
    )
    rows = []
    for nodes in (1_000, 10_000):
        wide = cluster(nodes)
        mixed = [Volume(name="v", size_bytes=GIB, replicas=2_000)]
        policy = BalancePolicy(alpha=Fraction(1, 2), anti_affinity=loose.anti_affinity)
        took = best(lambda wide=wide, mixed=mixed, policy=policy: balance(mixed, wide, policy), repeats=2, clock=CPU)
        rows.append((f"{nodes:,}", milliseconds(took)))
    report.table("a burst of 2,000 replicas at alpha 0.5 (processor time)", ("nodes", "one volume"), rows)
