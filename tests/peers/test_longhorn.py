"""Cases recorded from Longhorn's own scheduler tests, asked in the words of `balance`, and where we differ on purpose.

Sizes are Longhorn's: disks of 5 GB with 3 GB available, volumes of 1 GiB.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from fairlead.problems.balance import BalanceProblem, answer, solve
from fairlead.text.documents import strict

GIB = 2**30


def disk(name: str, **other: Any) -> dict[str, Any]:
    """A disk of 5 GB with 3 GB available."""
    return {"name": name, "available": 3_000_000_000, "maximum": 5_000_000_000, **other}


def node(name: str, *disks: dict[str, Any], zone: str = "z1", **other: Any) -> dict[str, Any]:
    """A node with one disk unless told otherwise."""
    return {"name": name, "zone": zone, "disks": list(disks) or [disk(f"{name}-disk1")], **other}


DEFAULTS: dict[str, Any] = {
    "size": GIB,
    "replicas": 2,
    "antiAffinity": "node",
    "softAntiAffinity": ["zone"],
    "dataEngine": "v1",
    "settings": {"overProvisioningPercentage": 100, "minimalAvailablePercentage": 25},
}
SOFT_NODE = {"antiAffinity": "none", "softAntiAffinity": ["zone", "node", "disk"]}
SOFT_NODE_HARD_ZONE = {"antiAffinity": "zone", "softAntiAffinity": []}


@dataclass(frozen=True)
class Case:
    """Nodes, what differs from Longhorn's defaults, and the nodes or disks that the replicas go to, sorted."""

    nodes: list[dict[str, Any]]
    want: list[str]
    ask: dict[str, Any] = field(default_factory=dict)
    unplaced: int = 0
    reason: str | None = None


SAME = {
    "nodes could not schedule": Case(
        [node("n1"), node("n2", allowScheduling=False), node("n3", ready=False)],
        ["n1-disk1", "n1-disk1"],
        SOFT_NODE,
    ),
    "no engine image on any node": Case(
        [node("n1", engineDeployed=False), node("n2", engineDeployed=False)], [], unplaced=2, reason="EngineMissing"
    ),
    "required storage leaves exactly the minimum, which is too little": Case(
        [node("n1", disk("n1-disk1", reserved=5_000_000_000)), node("n2", disk("n2-disk1"), disk("n2-disk2"))],
        [],
        {
            "actualSize": 2_000_000_000,
            "settings": {"overProvisioningPercentage": 200, "minimalAvailablePercentage": 20},
        },
        unplaced=2,
        reason="MinimalAvailable",
    ),
    "the second disk of a node although the first has more": Case(
        [node("n1", disk("n1-disk1", available=6_000_000_000), disk("n1-disk2", available=1_500_000_000))],
        ["n1-disk1", "n1-disk2"],
        SOFT_NODE,
    ),
    "hard zones, one zone": Case(
        [node("n1"), node("n2")], ["n1-disk1"], SOFT_NODE_HARD_ZONE, unplaced=1, reason="ZoneAntiAffinity"
    ),
    "hard zones, a replica that leaves": Case(
        [node("n1", disk("n1-disk1", scheduled=GIB)), node("n2", zone="z2")],
        ["n1-disk1", "n2-disk1"],
        {**SOFT_NODE_HARD_ZONE, "existing": [{"name": "r", "node": "n1", "evictionRequested": True}]},
    ),
    "a failed replica that was given up": Case(
        [node("n1", disk("n1-disk1", scheduled=GIB))],
        ["n1-disk1"],
        {
            "replicas": 1,
            "awaitsReuse": True,
            "existing": [{"name": "r", "node": "n1", "disk": "n1-disk1", "failed": True, "rebuildRetries": 5}],
        },
    ),
    "best-effort balance goes to the unused node": Case(
        [
            node("n1", disk("n1-disk1"), disk("n1-disk2")),
            node("n2", disk("n2-disk1", available=1_499_999_900), disk("n2-disk2", available=1_500_000_000)),
        ],
        ["n2-disk2"],
        {"replicas": 1, "existing": [{"name": "r1", "node": "n1"}]},
    ),
    "no node in the zone that the volume asks for": Case(
        [node("n1"), node("n2")], [], {"topology": [{"zone": "z2"}]}, unplaced=2, reason="OutsideTopology"
    ),
    "soft disks, no empty disk": Case(
        [node("n", disk("d1"), disk("d2"))],
        ["d1"],
        {
            **SOFT_NODE,
            "replicas": 1,
            "existing": [{"name": "a", "node": "n", "disk": "d1"}, {"name": "b", "node": "n", "disk": "d2"}],
        },
    ),
    "hard disks, no empty disk": Case(
        [node("n", disk("d1"), disk("d2"))],
        [],
        {
            "antiAffinity": "disk",
            "softAntiAffinity": [],
            "replicas": 1,
            "existing": [{"name": "a", "node": "n", "disk": "d1"}, {"name": "b", "node": "n", "disk": "d2"}],
        },
        unplaced=1,
        reason="DiskAntiAffinity",
    ),
    "a node whose replicas only partly leave is used": Case(
        [node("n1")],
        [],
        {"replicas": 1, "existing": [{"node": "n1", "evictionRequested": True}, {"node": "n1"}]},
        unplaced=1,
        reason="NodeAntiAffinity",
    ),
    "a disk of maximum 0": Case([node("n1", disk("d", maximum=0))], [], unplaced=2, reason="NoCapacity"),
    "attached, no candidate disk on the local node": Case(
        [node("n1", disk("disk1", allowScheduling=False)), node("n2", disk("disk2"))],
        ["disk2"],
        {"replicas": 1, "dataLocality": "best-effort", "attachedTo": "n1"},
    ),
    "attached, local node free": Case(
        [node("n1", disk("disk1", available=2_900_000_000)), node("n2", disk("disk2"))],
        ["disk1"],
        {"replicas": 1, "dataLocality": "best-effort", "attachedTo": "n1"},
    ),
    "healthy replica on the local node": Case(
        [node("n1", disk("disk1")), node("n2", disk("disk2"))],
        ["disk2"],
        {"replicas": 1, "dataLocality": "best-effort", "attachedTo": "n1", "existing": [{"node": "n1"}]},
    ),
    "failed replica on the local node": Case(
        [node("n1", disk("disk1", available=2_900_000_000)), node("n2", disk("disk2"))],
        ["disk1"],
        {
            "replicas": 1,
            "dataLocality": "best-effort",
            "attachedTo": "n1",
            "existing": [{"node": "n1", "failed": True, "rebuildRetries": 5}],
        },
    ),
    "tags match": Case([node("n1", disk("d", tags=["primary"]))], ["d"], {"replicas": 1, "diskSelector": ["primary"]}),
    "tags do not match": Case(
        [node("n1", disk("d", tags=["secondary"]))],
        [],
        {"replicas": 1, "diskSelector": ["primary"]},
        unplaced=1,
        reason="DiskTagsMismatch",
    ),
    "selectors that are only part of a tag": Case(
        [node("n1", tags=["aaa", "bbb", "ccc"])],
        [],
        {"replicas": 1, "nodeSelector": ["aaa", "b", "ccc"]},
        unplaced=1,
        reason="NodeTagsMismatch",
    ),
    "tagged node, no selector, not tolerated": Case(
        [node("n1", tags=["aaa"])],
        [],
        {"replicas": 1, "settings": {"allowEmptyNodeSelector": False}},
        unplaced=1,
        reason="NodeTagsMismatch",
    ),
    "untagged node, selectors": Case(
        [node("n1")], [], {"replicas": 1, "nodeSelector": ["aaa"]}, unplaced=1, reason="NodeTagsMismatch"
    ),
    "tagged disk, no selector, tolerated": Case([node("n1", disk("d", tags=["anything"]))], ["d"], {"replicas": 1}),
    "tagged disk, no selector, not tolerated": Case(
        [node("n1", disk("d", tags=["anything"]))],
        [],
        {"replicas": 1, "settings": {"allowEmptyDiskSelector": False}},
        unplaced=1,
        reason="DiskTagsMismatch",
    ),
    "disk disabled": Case(
        [node("n1", disk("d", allowScheduling=False))], [], {"replicas": 1}, 1, "DiskSchedulingDisabled"
    ),
    "disk being emptied": Case([node("n1", disk("d", evictionRequested=True))], [], {"replicas": 1}, 1, "DiskEvicting"),
    "block disk for the v1 engine": Case(
        [node("n1", disk("d", type="block"))], [], {"replicas": 1}, 1, "DiskTypeMismatch"
    ),
    "zone and region match": Case(
        [node("n1", disk("d"), zone="zone-1", region="region-1")],
        ["d"],
        {"replicas": 1, "topology": [{"zone": "zone-1", "region": "region-1"}]},
    ),
    "unlabelled node": Case(
        [node("n1", disk("d"), zone="")],
        [],
        {"replicas": 1, "topology": [{"zone": "zone-1", "region": "region-1"}]},
        1,
        "OutsideTopology",
    ),
    "other region": Case(
        [node("n1", disk("d"), zone="zone-2", region="region-2")],
        [],
        {"replicas": 1, "topology": [{"region": "region-1"}]},
        1,
        "OutsideTopology",
    ),
}


def decide(case: Case) -> dict[str, Any]:
    """The answer to a case, through the JSON of the verb."""
    problem = strict({**DEFAULTS, **case.ask, "nodes": case.nodes}, BalanceProblem)
    return answer(problem, solve(problem))


@pytest.mark.parametrize("case", SAME.values(), ids=SAME.keys())
def test_longhorn_case_has_the_same_outcome(case: Case) -> None:
    """The replicas go to the same disks; what is refused has its reason in the trace."""
    got = decide(case)
    assert sorted(placement["disk"] for placement in got["placements"]) == case.want
    assert got["unplaced"] == case.unplaced
    if case.reason:
        assert case.reason in {each["reason"] for each in got["trace"]["rejected"]}


def simple(disks: dict[str, tuple[str, int, int]], size: int, **ask: Any) -> dict[str, Any]:
    """A problem from {disk: (node, available, maximum)} without limits, as the scoring functions are tested."""
    nodes: dict[str, list[dict[str, Any]]] = {}
    for name, (home, available, maximum) in disks.items():
        nodes.setdefault(home, []).append({"name": name, "available": available, "maximum": maximum})
    value = {"size": size, "nodes": [{"name": name, "disks": own} for name, own in nodes.items()], **ask}
    problem = strict(value, BalanceProblem)
    return answer(problem, solve(problem))


SELECTIONS = {
    "single candidate": ({"d1": ("n1", 1000, 1000)}, 100, ["d1"]),
    "two nodes, the one with more": ({"d1": ("n1", 1000, 1000), "d2": ("n2", 2000, 2000)}, 100, ["d2"]),
    "one node, the disk with more": ({"d1": ("n1", 1000, 1000), "d3": ("n1", 500, 1000)}, 100, ["d1"]),
    "lowest imbalance after placement": ({"d1": ("n1", 100, 100), "d2": ("n2", 200, 200)}, 50, ["d2"]),
    "no nodes": ({}, 10, []),
    "all nodes too small": ({"d1": ("n1", 5, 10), "d2": ("n2", 8, 10)}, 10, []),
    "all disks too small": ({"d1": ("n1", 5, 10)}, 10, []),
}


@pytest.mark.parametrize(("disks", "size", "want"), SELECTIONS.values(), ids=SELECTIONS.keys())
def test_longhorn_selection_has_the_same_outcome(
    disks: dict[str, tuple[str, int, int]], size: int, want: list[str]
) -> None:
    """The cases of the scoring functions themselves."""
    got = simple(disks, size)
    assert [placement["disk"] for placement in got["placements"]] == want
    assert got["unplaced"] == 1 - len(want)


def test_difference_a_disk_without_room_is_not_returned() -> None:
    """Longhorn hands back its only candidate even with nothing available; we say why it does not fit."""
    got = simple({"d4": ("n3", 0, 1000)}, 100)
    assert (got["placements"], got["reason"]) == ([], "NoDisk")
    assert got["trace"]["rejected"] == [{"reason": "InsufficientUsable", "count": 1, "names": ["n3/d4"]}]


def test_difference_equal_scores_are_not_left_to_map_order() -> None:
    """Over all candidates B1 and B2 tie in Longhorn; the smaller variance decides here, every time."""
    disks = {"A1": ("A", 900, 900), "A2": ("A", 100, 100), "B1": ("B", 600, 600), "B2": ("B", 700, 700)}
    got = simple(disks, 100, scope="all")
    assert got["scores"]["disks"]["B1"] == got["scores"]["disks"]["B2"] == 16 / 11
    assert got["placements"] == [{"node": "B", "disk": "B2"}]


def test_difference_a_node_that_fits_only_in_sum_does_not_win() -> None:
    """Longhorn's node stage compares sums with the size and then takes some disk of that node."""
    disks = {"a1": ("A", 60, 100), "a2": ("A", 60, 100), "b1": ("B", 80, 100)}
    assert simple(disks, 70)["placements"] == [{"node": "B", "disk": "b1"}]


def test_difference_a_failed_replica_is_reused_instead_of_waited_for() -> None:
    """Longhorn schedules nothing while the wait lasts; we name the replica that can serve at once."""
    case = Case(
        [node("n1", disk("n1-disk1", scheduled=GIB))],
        ["n1-disk1"],
        {
            "replicas": 1,
            "awaitsReuse": True,
            "existing": [{"name": "r-failed", "node": "n1", "disk": "n1-disk1", "failed": True}],
        },
    )
    assert decide(case)["placements"] == [{"node": "n1", "disk": "n1-disk1", "reuses": "r-failed"}]


def test_difference_nodes_without_a_zone_do_not_share_one() -> None:
    """In Longhorn all nodes without a label are in the same nameless zone."""
    case = Case([node("n1", zone=""), node("n2", zone="")], ["n1-disk1", "n2-disk1"], SOFT_NODE_HARD_ZONE)
    assert decide(case)["unplaced"] == 0
