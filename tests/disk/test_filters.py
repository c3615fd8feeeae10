"""Every filter of a disk, with its reason."""

from dataclasses import replace
from typing import Any

import pytest
from tools.reference.reasons import reasons_of

from fairlead.levels.disk import reasons as why
from fairlead.levels.disk.balance import Balance, balance
from fairlead.model.balancing import BalancePolicy
from fairlead.model.disks import Closed, Disk, disk_table
from fairlead.model.reasons import Reason
from fairlead.model.storage import AntiAffinity, Domain, HeldReplica, Locality, StorageVolume, Strictness

PLAIN = Disk(
    node="n1",
    name="d",
    usable_bytes=500,
    total_bytes=1000,
    available_bytes=700,
    maximum_bytes=1000,
    scheduled_bytes=200,
    zone="z1",
    region="r1",
    node_tags=frozenset({"fast"}),
    tags=frozenset({"ssd"}),
)
ASK = StorageVolume(name="v", size_bytes=100)


def decide(disk: dict[str, Any], volume: dict[str, Any], policy: dict[str, Any] | None = None) -> Balance:
    """One volume on one disk that differs from the plain ones as told."""
    return balance([replace(ASK, **volume)], disk_table([replace(PLAIN, **disk)]), BalancePolicy(**policy or {}))


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], Reason | None]] = {
    "a plain disk takes it": ({}, {}, {}, None),
    "node not ready": ({"closed": Closed.NODE_NOT_READY}, {}, {}, why.NODE_NOT_READY),
    "node disabled": ({"closed": Closed.NODE_DISABLED}, {}, {}, why.NODE_DISABLED),
    "node being emptied": ({"closed": Closed.NODE_EVICTING}, {}, {}, why.NODE_EVICTING),
    "engine missing": ({"closed": Closed.ENGINE_MISSING}, {}, {}, why.ENGINE_MISSING),
    "disk not ready": ({"closed": Closed.DISK_NOT_READY}, {}, {}, why.DISK_NOT_READY),
    "disk disabled": ({"closed": Closed.DISK_DISABLED}, {}, {}, why.DISK_DISABLED),
    "disk being emptied": ({"closed": Closed.DISK_EVICTING}, {}, {}, why.DISK_EVICTING),
    "disk of no capacity": ({"closed": Closed.NO_CAPACITY}, {}, {}, why.NO_CAPACITY),
    "no total, but ratios asked": ({"total_bytes": 0}, {}, {"alpha": 0}, why.NO_CAPACITY),
    "node tags match": ({}, {"node_tags": frozenset({"fast"})}, {}, None),
    "node tags mismatch": ({}, {"node_tags": frozenset({"slow"})}, {}, why.NODE_TAGS),
    "all node tags are needed": ({}, {"node_tags": frozenset({"fast", "new"})}, {}, why.NODE_TAGS),
    "empty node selector refused": ({}, {}, {"empty_node_selector": False}, why.NODE_TAGS),
    "empty node selector takes untagged": ({"node_tags": frozenset()}, {}, {"empty_node_selector": False}, None),
    "disk tags match": ({}, {"disk_tags": frozenset({"ssd"})}, {}, None),
    "disk tags mismatch": ({}, {"disk_tags": frozenset({"hdd"})}, {}, why.DISK_TAGS),
    "empty disk selector refused": ({}, {}, {"empty_disk_selector": False}, why.DISK_TAGS),
    "block disk for the first engine": ({"block": True}, {"block": False}, {}, why.DISK_TYPE),
    "file disk for the second engine": ({}, {"block": True}, {}, why.DISK_TYPE),
    "any type where the engine is not told": ({"block": True}, {}, {}, None),
    "zone in topology": ({}, {"topology": (Domain(zone="z1", region="r1"),)}, {}, None),
    "region in topology": ({}, {"topology": (Domain(region="r1"),)}, {}, None),
    "second term in topology": ({}, {"topology": (Domain(zone="z9"), Domain(zone="z1"))}, {}, None),
    "zone outside topology": ({}, {"topology": (Domain(zone="z2"),)}, {}, why.TOPOLOGY),
    "unlabelled node outside topology": ({"zone": ""}, {"topology": (Domain(zone="z2"),)}, {}, why.TOPOLOGY),
    "bound to this node": ({}, {"only_node": "n1"}, {}, None),
    "bound to another node": ({}, {"only_node": "n2"}, {}, why.OTHER_NODE),
    "strictly local elsewhere": ({}, {"locality": Locality.REQUIRE, "attached_to": "n2"}, {}, why.NOT_LOCAL),
    "strictly local, not attached": ({}, {"locality": Locality.REQUIRE}, {}, None),
    "zone used": (
        {},
        {"held": (HeldReplica(name="r", node="n1"),)},
        {"anti_affinity": AntiAffinity.of("zone")},
        why.ZONE_USED,
    ),
    "node used": ({}, {"held": (HeldReplica(name="r", node="n1"),)}, {}, why.NODE_USED),
    "disk used": (
        {},
        {"held": (HeldReplica(name="r", node="n1", disk="d"),)},
        {"anti_affinity": AntiAffinity.of("disk")},
        why.DISK_USED,
    ),
    "node used, but leaving": ({}, {"held": (HeldReplica(name="r", node="n1", evicting=True),)}, {}, None),
    "node used by a failed replica": ({}, {"held": (HeldReplica(name="r", node="n1", failed=True),)}, {}, None),
    "node used, the volume minds little": (
        {},
        {"held": (HeldReplica(name="r", node="n1"),), "anti_affinity": AntiAffinity.of("none", ["node"])},
        {},
        None,
    ),
    "minimal free space kept": ({}, {"written_bytes": 449}, {"minimal_percent": 25}, None),
    "minimal free space reached is too little": ({}, {"written_bytes": 450}, {"minimal_percent": 25}, why.MINIMAL_FREE),
    "minimal free space, figures unknown": (
        {"available_bytes": -1, "maximum_bytes": -1},
        {"written_bytes": 450},
        {"minimal_percent": 25},
        None,
    ),
    "promised up to the limit": ({}, {}, {"over_percent": 30}, None),
    "promised above the limit": ({}, {}, {"over_percent": 29}, why.OVER_PROVISIONED),
    "no limit where the maximum is unknown": ({"maximum_bytes": -1}, {}, {"over_percent": 1}, None),
    "exactly as much as is usable": ({}, {"size_bytes": 500}, {}, None),
    "one byte more than is usable": ({}, {"size_bytes": 501}, {}, why.INSUFFICIENT),
}


@pytest.mark.parametrize(("disk", "volume", "policy", "want"), CASES.values(), ids=CASES.keys())
def test_filter_refuses_with_its_reason(
    disk: dict[str, Any], volume: dict[str, Any], policy: dict[str, Any], want: Reason | None
) -> None:
    """A disk takes the replica, or is refused by exactly one reason that the finding counts."""
    decision = decide(disk, volume, policy)
    assert decision.unplaced == (want is not None)
    assert [each.reason for each in decision.trace.rejected] == ([want] if want else [])
    if want:
        assert decision.finding is not None
        assert decision.finding.code == "NoDisk"
        assert f"1 {want.code}" in decision.finding.sentence


def test_every_reason_of_a_disk_is_tested() -> None:
    """The table above leaves out no reason."""
    assert {case[3] for case in CASES.values()} - {None} == set(why.REASONS_OF_A_DISK)


def test_reason_codes_are_distinct_and_numbered_as_closed() -> None:
    """The first reasons have the numbers of `Closed`, so that the column needs no translation."""
    assert len({reason.code for reason in reasons_of(why)}) == len(reasons_of(why))
    names = [reason.code for reason in why.REASONS_OF_A_DISK[: len(Closed) - 1]]
    assert names[Closed.DISK_EVICTING - 1] == "DiskEvicting"
    assert names[Closed.NO_CAPACITY - 1] == "NoCapacity"


def nodes(*zones: str, usable: int = 500) -> list[Disk]:
    """A disk a node, `n1` … in these zones; later ones have more usable space."""
    return [
        Disk(node=f"n{row}", name="d", usable_bytes=usable + row, total_bytes=1000, zone=zone)
        for row, zone in enumerate(zones, 1)
    ]


def chosen(disks: list[Disk], volume: StorageVolume, rule: AntiAffinity) -> list[str]:
    """The nodes of the replicas, in order."""
    decision = balance([volume], disk_table(disks), BalancePolicy(anti_affinity=rule))
    return [each.node for each in decision.placed]


SOFT = AntiAffinity(zone=Strictness.SOFT, node=Strictness.HARD, disk=Strictness.HARD)


def test_soft_zones_are_spread_over_before_they_are_shared() -> None:
    """Three replicas: the fullest zone first, then the unused zone although it has less, then the rest."""
    disks = nodes("a", "b", "b")
    assert chosen(disks, StorageVolume(name="v", size_bytes=10, replicas=3), SOFT) == ["n3", "n1", "n2"]


def test_hard_zones_are_never_shared() -> None:
    """With zones apart, two zones take two replicas and no more."""
    disks = nodes("a", "b", "b")
    volume = StorageVolume(name="v", size_bytes=10, replicas=3)
    assert chosen(disks, volume, AntiAffinity.of("zone")) == ["n3", "n1"]


def test_nodes_without_a_zone_are_zones_of_their_own() -> None:
    """No label, no sharing: every such node takes a replica even where zones must differ."""
    volume = StorageVolume(name="v", size_bytes=10, replicas=3)
    assert chosen(nodes("", "", ""), volume, AntiAffinity.of("zone")) == ["n3", "n2", "n1"]


def test_soft_everywhere_uses_a_node_again_only_when_all_are_used() -> None:
    """Unused nodes first, then the used ones again."""
    rule = AntiAffinity.of("none", ["zone", "node", "disk"])
    volume = StorageVolume(name="v", size_bytes=10, replicas=3)
    assert chosen(nodes("a", "a"), volume, rule) == ["n2", "n1", "n2"]


def test_leaving_replica_makes_room_on_its_node_but_last() -> None:
    """A node whose only replica is leaving is taken when nothing else is left."""
    held = (HeldReplica(name="r", node="n2", evicting=True),)
    volume = StorageVolume(name="v", size_bytes=10, replicas=2, held=held)
    assert chosen(nodes("a", "b"), volume, AntiAffinity.of("zone")) == ["n1", "n2"]


def test_preferred_local_node_takes_the_first_replica_only() -> None:
    """Best effort: the attached node although it has the least space, the others by balance."""
    volume = StorageVolume(name="v", size_bytes=10, replicas=2, locality=Locality.PREFER, attached_to="n1")
    assert chosen(nodes("a", "b", "c"), volume, AntiAffinity.of("node")) == ["n1", "n3"]


def test_preferred_local_node_that_has_a_replica_is_no_longer_preferred() -> None:
    """A healthy replica is there already, so balance decides; a failed one does not count."""
    here = HeldReplica(name="r", node="n1", disk="d")
    base = StorageVolume(name="v", size_bytes=10, locality=Locality.PREFER, attached_to="n1")
    loose = AntiAffinity.of("none")
    assert chosen(nodes("a", "b"), replace(base, held=(here,)), loose) == ["n2"]
    assert chosen(nodes("a", "b"), replace(base, held=(replace(here, failed=True),)), loose) == ["n1"]


def test_preferred_local_node_that_is_full_or_gone_is_passed_over() -> None:
    """Best effort gives way to room."""
    base = StorageVolume(name="v", size_bytes=10, locality=Locality.PREFER, attached_to="n1")
    disks = [replace(nodes("a")[0], usable_bytes=5), *nodes("a", "b")[1:]]
    assert chosen(disks, base, AntiAffinity.of("node")) == ["n2"]
    assert chosen(nodes("a", "b")[1:], base, AntiAffinity.of("node")) == ["n2"]


def test_failed_replica_that_may_serve_again_is_reused() -> None:
    """One replica is lacking and one failed replica has its disk: no new one, and no space is charged."""
    held = (HeldReplica(name="r1", node="n1", disk="d", failed=True, reusable=True),)
    decision = balance(
        [StorageVolume(name="v", size_bytes=400, held=held)], disk_table(nodes("a", "b")), BalancePolicy()
    )
    assert [(each.node, each.reuses) for each in decision.placed] == [("n1", "r1")]
    assert decision.usable_after_bytes.tolist() == decision.usable_before_bytes.tolist()


def test_failed_replica_on_a_closed_disk_is_waited_for_only_while_the_wait_lasts() -> None:
    """While the wait lasts nothing is made; afterwards a new replica is."""
    held = (HeldReplica(name="r1", node="n1", disk="d", failed=True, reusable=True),)
    disks = [replace(nodes("a")[0], closed=Closed.NODE_NOT_READY), nodes("a", "b")[1]]
    volume = StorageVolume(name="v", size_bytes=400, held=held, awaits_reuse=True)
    waiting = balance([volume], disk_table(disks), BalancePolicy())
    assert (waiting.placed, waiting.unplaced) == ((), 1)
    assert waiting.finding is not None
    assert waiting.finding.code == "AwaitingReuse"
    over = balance([replace(volume, awaits_reuse=False)], disk_table(disks), BalancePolicy())
    assert [each.node for each in over.placed] == ["n2"]


def test_given_up_replica_is_replaced_at_once() -> None:
    """A failed replica that cannot serve again neither waits nor blocks its node."""
    held = (HeldReplica(name="r1", node="n1", disk="d", failed=True),)
    volume = StorageVolume(name="v", size_bytes=400, held=held, awaits_reuse=True)
    assert chosen(nodes("a"), volume, AntiAffinity.of("node")) == ["n1"]
