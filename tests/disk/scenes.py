"""Small clusters for the tests of the disk level."""

from fractions import Fraction
from typing import Any

from fairlead.levels.disk.balance import Balance, balance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Disk, DiskTable, disk_table
from fairlead.model.storage import AntiAffinity, StorageVolume

GIB = 2**30


def cluster(nodes: dict[str, dict[str, int | tuple[int, int]]], zones: dict[str, str] | None = None) -> DiskTable:
    """A table from {node: {disk: usable or (usable, total)}}."""
    disks = []
    for node, own in nodes.items():
        for name, value in own.items():
            usable, total = value if isinstance(value, tuple) else (value, value)
            disks.append(
                Disk(
                    node=node,
                    name=name,
                    usable_bytes=usable,
                    total_bytes=total,
                    free_bytes=usable,
                    zone=(zones or {}).get(node, ""),
                )
            )
    return disk_table(disks)


def place(table: DiskTable, size: int, replicas: int = 1, *, anti: str = "node", **policy: Any) -> Balance:
    """One volume of that size placed under that policy."""
    if "alpha" in policy:
        policy["alpha"] = Fraction(str(policy["alpha"]))
    rules = BalancePolicy(anti_affinity=AntiAffinity.of(anti), **policy)
    return balance([StorageVolume(name="v", size_bytes=size, replicas=replicas)], table, rules)


def places(decision: Balance) -> list[str]:
    """`node/disk` of every replica in the order it was placed."""
    return [f"{each.node}/{each.disk}" for each in decision.placed]


def node_scores(decision: Balance) -> dict[str, float]:
    """The node scores of the first replica, rounded as the worked examples are."""
    assert decision.first is not None
    names = [decision.disks.nodes[row] for row in decision.first.node_rows.tolist()]
    return {name: round(score, 3) for name, score in zip(names, decision.first.node_field.decimals(), strict=True)}


def disk_scores(decision: Balance) -> dict[str, float]:
    """The disk scores of the first replica, rounded as the worked examples are."""
    assert decision.first is not None
    names = [decision.disks.label(row) for row in decision.first.disk_rows.tolist()]
    return {name: round(score, 3) for name, score in zip(names, decision.first.disk_field.decimals(), strict=True)}
