"""What-if changes, explanations and comparisons, on a small site."""

from dataclasses import replace

import numpy as np
import pytest

from fairlead.engine import whatif
from fairlead.engine.compare import compare
from fairlead.engine.explain import node_lines, volume_lines, workload_lines
from fairlead.engine.plan import plan
from fairlead.engine.record import plan_record
from fairlead.engine.why_not import why_not
from fairlead.model.claims import ClaimDemand, ReplicaClaims, WorkloadClaims
from fairlead.model.clusters import cluster_table
from fairlead.model.columns import flags, ints
from fairlead.model.division import DividePolicy, DivideWorkload, DivisionAsk
from fairlead.model.errors import InputError
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population, Resident
from fairlead.model.selectors import Operator, Requirement
from fairlead.model.shape import Shape
from fairlead.model.snapshot import Site, Snapshot
from fairlead.model.workload import Workload

CPU = 1000
ZONE = "topology.kubernetes.io/zone"


def workload(name: str, replicas: int, **more: object) -> Workload:
    """A workload of one core a replica."""
    shape = Shape(namespace="shop", labels=(("app", name),), request=(("cpu", CPU), ("pods", 1)))
    fields = {"kind": "Deployment", "namespace": "shop", "name": name, "replicas": replicas, "shape": shape}
    return Workload(**(fields | more))  # type: ignore[arg-type]  # the fields are those of the class


def scene() -> Snapshot:
    """Two nodes in two zones; two replicas of web run on the first."""
    records = [
        NodeRecord(
            name=name,
            allocatable={"cpu": 4 * CPU, "pods": 9},
            used={"cpu": 2 * CPU, "pods": 2} if name == "n1" else {},
            labels={"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name},
        )
        for name, zone in (("n1", "a"), ("n2", "b"))
    ]
    population = Population(
        residents=(Resident(namespace="shop", labels=(("app", "web"),)),),
        codes=ints([0, 0]),
        rows=ints([0, 0]),
        leaving=flags([False, False]),
    )
    web = workload("web", 3)
    site = Site(
        name="",
        nodes=node_state(records),
        population=population,
        workloads=(web,),
        present={web.key: ints([2, 0])},
        required={web.key: ints([0, 0])},
    )
    return Snapshot(sites=(site,))


def spots(view: Snapshot) -> dict[str, int]:
    """New replicas per node of the only workload."""
    record = plan_record(plan(view))["sites"][0]["workloads"][0]
    return {name: count for part in record["parts"] for name, count in part["placements"].items()}


def test_present_plan_adds_what_is_missing() -> None:
    """The third replica goes to the empty node."""
    assert spots(scene()) == {"n2": 1}


def test_drained_node_gives_its_replicas_to_the_others() -> None:
    """Two that ran there and the missing one all find room on the other node."""
    changed = whatif.drained(scene(), "n1")
    assert spots(changed) == {"n2": 3}
    assert changed.sites[0].nodes.used[0].tolist() == [0, 0]
    assert len(changed.sites[0].population.rows) == 0


def test_lost_zone_by_its_short_name() -> None:
    """`zone` stands for the well-known label."""
    assert spots(whatif.lost(scene(), "zone", "b")) == {"n1": 1}
    assert whatif.zones(scene()) == ("a", "b")


def test_added_nodes_are_like_the_one_named_but_empty() -> None:
    """New rows have the labels of the model, a host name of their own and nothing on them."""
    changed = whatif.extended(whatif.scaled(scene(), "web", 9), 2, "n1")
    nodes = changed.sites[0].nodes
    assert nodes.names == ("n1", "n2", "n1-more-1", "n1-more-2")
    assert nodes.used[2:].tolist() == [[0, 0], [0, 0]]
    hosts = nodes.labels["kubernetes.io/hostname"]
    assert [hosts.values[code] for code in hosts.codes] == list(nodes.names)
    zones = nodes.labels["topology.kubernetes.io/zone"]
    assert [zones.values[code] for code in zones.codes] == ["a", "b", "a", "a"]
    assert spots(changed) == {"n1-more-1": 3, "n1-more-2": 2, "n2": 2}


def test_scaled_workload_of_the_fleet_is_scaled_in_its_ask() -> None:
    """The fleet divides the new number."""
    web = workload("web", 2)
    ask = DivisionAsk(
        workload=DivideWorkload(name="web", replicas=2, uid="u"), clusters=cluster_table(["a"]), policy=DividePolicy()
    )
    changed = whatif.scaled(Snapshot(divided=((web, ask),)), "shop/web", 7)
    assert (changed.divided[0][0].replicas, changed.divided[0][1].workload.replicas) == (7, 7)


def test_weighted_namespace() -> None:
    """The weight is that of the question."""
    assert whatif.weighted(scene(), "shop", 3).sites[0].weights == {"shop": 3}


REFUSED = {
    "a node that is not there": lambda: whatif.drained(scene(), "n9"),
    "a label that nobody has": lambda: whatif.lost(scene(), "rack", "r"),
    "a model that is not there": lambda: whatif.extended(scene(), 1, "n9"),
    "fewer nodes": lambda: whatif.extended(scene(), -1, "n1"),
    "a workload that is not there": lambda: whatif.scaled(scene(), "db", 1),
    "fewer than no replicas": lambda: whatif.scaled(scene(), "web", -1),
    "no weight": lambda: whatif.weighted(scene(), "shop", 0),
    "a weight of nobody": lambda: whatif.weighted(scene(), "moon", 2),
    "an unknown workload": lambda: workload_lines(plan(scene()), "db"),
    "an unknown node": lambda: node_lines(plan(scene()), "n9"),
    "an unknown workload for why-not": lambda: why_not(plan(scene()), "db", "n1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_question_is_refused(name: str) -> None:
    """What cannot be is bad input, in one line."""
    with pytest.raises(InputError) as caught:
        REFUSED[name]()
    assert "\n" not in str(caught.value)


def test_the_least_that_can_be_asked_is_answered() -> None:
    """No replica at all, no more nodes, a weight of one."""
    assert spots(whatif.scaled(scene(), "web", 0)) == {}
    assert whatif.extended(scene(), 0, "n1").sites[0].nodes.names == ("n1", "n2")
    assert spots(whatif.extended(scene(), 0, "n1")) == {"n2": 1}
    assert whatif.weighted(scene(), "shop", 1).sites[0].weights == {"shop": 1}


def test_only_the_site_of_the_node_is_changed() -> None:
    """Two sites: the node is drained in its own, more of its like come there."""
    (here,) = scene().sites
    there = replace(here, name="b", nodes=node_state([NodeRecord(name="m1", allocatable={"cpu": 9 * CPU, "pods": 9})]))
    there = replace(there, population=Population(), present={}, required={})
    both = Snapshot(sites=(here, there))
    changed = whatif.drained(both, "n2")
    assert changed.sites[1] is there
    assert changed.sites[0].nodes.unschedulable.tolist() == [False, True]
    assert [column.tolist() for column in changed.sites[0].present.values()] == [[2, 0]]
    more = whatif.extended(both, 2, "m1")
    assert [len(site.nodes.names) for site in more.sites] == [2, 3]


def test_compare_tells_moves_and_waits() -> None:
    """Draining n1 moves two replicas; scaling to nine leaves some waiting."""
    before = plan_record(plan(scene()))
    moved = compare(before, plan_record(plan(whatif.drained(scene(), "n1"))))
    (row,) = moved["workloads"]
    assert (row["from"], row["to"], row["moves"], moved["moves"]) == ({"n1": 2}, {"n2": 2}, 2, 2)
    grown = compare(before, plan_record(plan(whatif.scaled(scene(), "web", 12))))
    assert grown["unplaced"] == {"before": 0, "after": 4}
    assert grown["workloads"][0]["waits"] == {"before": 0, "after": 4}


def test_compare_of_a_plan_with_itself_is_empty() -> None:
    """Nothing moves, nothing waits."""
    record = plan_record(plan(scene()))
    same = compare(record, record)
    assert (same["workloads"], same["moves"]) == ([], 0)


def test_explain_workload_names_the_levels_and_the_refusals() -> None:
    """A cordoned node and a full cluster are both told."""
    text = "\n".join(workload_lines(plan(whatif.drained(whatif.scaled(scene(), "web", 9), "n1")), "web"))
    assert "Deployment shop/web: 9 replicas, 0 running already" in text
    assert "not 1 node (n1): the node is cordoned or not ready" in text
    assert "Queue default: 4 of 9 may start" in text
    assert "would change" in text


def test_explain_node_adds_up() -> None:
    """What runs, what comes, what is left."""
    lines = node_lines(plan(scene()), "n2")
    assert lines == ("Node n2", "  shop/web: 0 running, 1 new", "  left afterwards: 3 cpu")
    cordoned = node_lines(plan(whatif.drained(scene(), "n2")), "n2")
    assert cordoned[-1] == "  it is cordoned or not ready: nothing new is placed here"


WHY_NOT = {
    "room is left and nothing more is asked for": (
        lambda: plan(whatif.scaled(scene(), "web", 2)),
        "n2",
        "no more are asked for",
    ),
    "others were lower": (lambda: plan(scene()), "n1", "all 1 have a place already"),
    "the node is full": (lambda: plan(whatif.scaled(scene(), "web", 12)), "n1", "InsufficientRoom"),
}


@pytest.mark.parametrize("name", WHY_NOT)
def test_why_not(name: str) -> None:
    """The node as the plan leaves it gives the answer."""
    made, node, want = WHY_NOT[name]
    (line,) = why_not(made(), "web", node)
    assert want in line


def claimed(*own: str, more: str, replicas: int = 3) -> Snapshot:
    """The scene with volumes: replicas that wait have theirs in zones of their own, all others in one zone."""
    demands = [ClaimDemand(zones=(Requirement(ZONE, Operator.IN, (zone,)),)) for zone in (*own, more)]
    claims = WorkloadClaims(
        replicas=tuple(ReplicaClaims(row=-1, demand=each) for each in demands[:-1]), more=demands[-1]
    )
    base = whatif.scaled(scene(), "web", replicas)
    (site,) = base.sites
    return replace(base, sites=(replace(site, claims={site.workloads[0].key: claims}),))


WHY_NOT_WITH_VOLUMES = {
    "its volume is elsewhere": (claimed(more="a"), "n2", "VolumeElsewhere"),
    "its volume is here": (claimed(more="b"), "n2", "all 1 have a place already"),
    "the volume of the replica that waits is elsewhere, that of a later one is here": (
        claimed("a", more="b"),
        "n2",
        "VolumeElsewhere",
    ),
    "the second of two that wait has its volume here": (claimed("a", "b", more="a", replicas=4), "n2", "would take"),
    "nothing waits, and the next one has its volume elsewhere": (
        claimed(more="a", replicas=2),
        "n2",
        "VolumeElsewhere",
    ),
}


@pytest.mark.parametrize("name", WHY_NOT_WITH_VOLUMES)
def test_why_not_looks_at_volumes_as_the_plan_does(name: str) -> None:
    """A node from which the volumes of all waiting replicas are out of reach refuses; one in reach is enough."""
    made, node, want = WHY_NOT_WITH_VOLUMES[name]
    (line,) = why_not(plan(made), "web", node)
    assert want in line


def test_explain_volumes_of_a_plan_without_storage_says_so() -> None:
    """Nothing waits."""
    assert volume_lines(plan(scene())) == ("No volume waits for a storage replica.",)
    assert np.array_equal(plan(scene()).sites[0].after.used.sum(axis=0), [3 * CPU, 3])


def test_explain_tells_the_fleet_and_the_tiers() -> None:
    """A divided, tiered workload: which cluster and why, which part must be on demand, which cluster is not seen."""
    web = workload("web", 4, tiered=True, min_available="1")
    ask = DivisionAsk(
        workload=DivideWorkload(name="web", replicas=4, uid="u"),
        clusters=cluster_table(["here", "there"]),
        policy=DividePolicy(),
    )
    records = [
        NodeRecord(
            name=f"n{number}",
            allocatable={"cpu": 9 * CPU, "pods": 9},
            labels={"node.kubernetes.io/capacity": "on-demand" if number % 2 else "spot"},
        )
        for number in range(30)
    ]
    site = Site(name="here", nodes=node_state(records), population=Population())
    text = "\n".join(workload_lines(plan(Snapshot(sites=(site,), divided=((web, ask),))), "shop/web"))
    assert "Fleet: shop/web" in text
    assert "2 replicas go to cluster there, whose nodes are not part of the snapshot." in text
    assert "Deployment shop/web on cluster here: 2 replicas, 0 running already" in text
    assert "Tier: 1 must be on on-demand nodes; of the new ones 1 must, 1 prefer spot" in text
    assert "not 15 nodes (n0, n2, n4, …): the node does not match" in text


def test_explain_of_a_bad_wish_and_of_many_nodes() -> None:
    """A minimum that cannot be read is told; thirty nodes are summed up instead of listed."""
    records = [NodeRecord(name=f"n{number}", allocatable={"cpu": 9 * CPU, "pods": 9}) for number in range(30)]
    wide = workload("wide", 60, tiered=True, min_available="many")
    lost = workload("lost", 2, kind="Job", queue="nowhere")
    site = Site(name="", nodes=node_state(records), population=Population(), workloads=(wide, lost))
    made = plan(Snapshot(sites=(site,)))
    text = "\n".join(workload_lines(made, "wide"))
    assert "Tier: " in text
    assert "Note: " in text
    assert "60 of 60 placed: 60 on 30 nodes, at most 2 each" in text
    refused = "\n".join(workload_lines(made, "lost"))
    assert "Queue nowhere: 0 of 2 may start" in refused
    assert "UnknownQueue" in refused


@pytest.mark.parametrize(("number", "want"), [(12, "n1 1, n2 1, "), (13, "13 on 13 nodes, at most 1 each")])
def test_up_to_a_dozen_nodes_are_named_and_more_are_counted(number: int, want: str) -> None:
    """One replica on each of so many nodes, in the sentence about the node level."""
    records = [NodeRecord(name=f"n{row}", allocatable={"cpu": CPU, "pods": 9}) for row in range(1, number + 1)]
    site = Site(name="", nodes=node_state(records), population=Population(), workloads=(workload("web", number),))
    (line,) = [line for line in workload_lines(plan(Snapshot(sites=(site,))), "web") if "Node: " in line]
    assert f"{number} of {number} placed: {want}" in line
