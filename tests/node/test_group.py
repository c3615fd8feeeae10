"""Groups with every inter-replica constraint, against the rules of Kubernetes spelled out replica by replica."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.levels.node.constraints import reasons
from fairlead.levels.node.constraints.feasible import Constraints, takes
from fairlead.levels.node.group import NodeGroup, place_group
from fairlead.model.columns import flags, ints
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population, Resident, resident
from fairlead.model.selectors import LabelSelector, Operator, Preference, Requirement, Term
from fairlead.model.shape import Neighbour, PodDisk, Port, Shape, Spread

APPS, ZONES = ("web", "db"), ("a", "b", "c")
NAMESPACES = {"shop": {"team": "x"}, "lab": {}}


def about(app: str) -> LabelSelector:
    """A selector of one application."""
    return LabelSelector((Requirement("app", Operator.IN, (app,)),))


neighbours = st.builds(
    lambda key, app, scope, weight: Neighbour(
        key=key, selector=about(app), namespaces=scope[0], namespace_selector=scope[1], weight=weight
    ),
    st.sampled_from(["zone", "host", "rack"]),
    st.sampled_from(APPS),
    st.sampled_from([((), None), (("lab",), None), ((), LabelSelector()), ((), about("none"))]),
    st.sampled_from([0, 0, 7]),
)
spreads = st.builds(
    lambda key, skew, hard, least, honour: Spread(
        key=key, most_skew=skew, hard=hard, selector=about("web"), least_domains=least, respects_affinity=honour
    ),
    st.sampled_from(["zone", "host", "rack"]),
    st.integers(1, 2),
    st.booleans(),
    st.integers(1, 4),
    st.booleans(),
)
disks = st.one_of(
    st.builds(PodDisk, kind=st.just("gce"), name=st.sampled_from("ab"), read_only=st.booleans()),
    st.builds(PodDisk, kind=st.just("aws"), name=st.sampled_from("ab")),
    st.builds(
        PodDisk,
        kind=st.just("rbd"),
        name=st.just("pool/a"),
        read_only=st.booleans(),
        hosts=st.sampled_from([(), ("m1",), ("m1", "m2"), ("m2",)]),
    ),
)
shapes = st.builds(
    lambda near, far, spread, ports, selector, preferred, disks, features: Shape(
        namespace="shop",
        labels=(("app", "web"),),
        request=(("cpu", 1),),
        near=tuple(near),
        far=tuple(far),
        spread=tuple(spread),
        ports=ports,
        node_selector=selector,
        preferred=preferred,
        disks=disks,
        features=features,
    ),
    st.lists(neighbours, max_size=2),
    st.lists(neighbours, max_size=1),
    st.lists(spreads, max_size=2, unique_by=lambda each: (each.key, each.hard)),
    st.sampled_from([(), (), (Port(number=80),)]),
    st.sampled_from([(), (), (("zone", "a"),)]),
    st.sampled_from([(), (Preference(5, Term((Requirement("zone", Operator.IN, ("b",)),))),)]),
    st.lists(disks, max_size=2, unique=True).map(lambda found: tuple(sorted(found, key=repr))),
    st.sampled_from([(), (), ("RestartAllContainersOnContainerExits",), ("UserNamespacesHostNetworkSupport",)]),
)
clusters = st.lists(
    st.tuples(st.sampled_from([*ZONES, None]), st.booleans(), st.integers(0, 4)), min_size=1, max_size=6
)


def records(rows: list[tuple[str | None, bool, int]]) -> list[NodeRecord]:
    """Nodes with a host label each, a zone most of them, a rack some."""
    return [
        NodeRecord(
            name=f"n{row}",
            allocatable={"cpu": cpu},
            labels={"host": f"n{row}"} | ({"zone": zone} if zone else {}) | ({"rack": "r"} if rack else {}),
            features=("RestartAllContainersOnContainerExits", "Other") if rack else (),
        )
        for row, (zone, rack, cpu) in enumerate(rows)
    ]


running = st.lists(
    st.tuples(
        st.sampled_from(["shop", "lab"]),
        st.sampled_from(APPS),
        st.integers(0, 5),
        st.booleans(),
        st.lists(neighbours, max_size=1),
        st.sampled_from([(), (Port(number=80, address="10.0.0.1"),)]),
        st.lists(disks, max_size=1).map(tuple),
    ),
    max_size=5,
)


@dataclass
class Seen:
    """A running replica as the plain rules see it."""

    who: Resident
    node: NodeRecord
    leaving: bool = False


def selects(selector: LabelSelector | None, who: Resident) -> bool:
    """Whether a selector is about a replica's labels."""
    return selector is not None and selector.selects(dict(who.labels))


def concerns(wish: Neighbour, owner: str, who: Resident) -> bool:
    """Whether a wish of somebody in namespace `owner` is about a replica."""
    if not wish.namespaces and wish.namespace_selector is None:
        inside = who.namespace == owner
    else:
        chosen = wish.namespace_selector
        inside = who.namespace in wish.namespaces or (
            chosen is not None and chosen.selects(NAMESPACES.get(who.namespace, {}))
        )
    return inside and selects(wish.selector, who)


def refusals(shape: Shape, node: NodeRecord, nodes: list[NodeRecord], there: list[Seen], free: int) -> Iterator[str]:
    """Every rule that forbids one more replica of the shape on the node."""
    me = resident(shape)
    if free < 1:
        yield "room"
    if any(node.labels.get(key) != value for key, value in shape.node_selector):
        yield "selector"
    if any(feature not in node.features for feature in shape.features):
        yield "feature"
    for other in there:
        if other.node is node and any(
            mine.number == theirs.number for mine in shape.ports for theirs in other.who.ports
        ):
            yield "port"
        if other.node is node and any(share(mine, theirs) for mine in shape.disks for theirs in other.who.disks):
            yield "disk"
        for wish in other.who.far:
            if concerns(wish, other.who.namespace, me) and same(wish.key, node, other.node):
                yield "refused"
    for wish in shape.far:
        if not wish.weight and any(concerns(wish, me.namespace, o.who) and same(wish.key, node, o.node) for o in there):
            yield "apart"
    yield from near_refusals(shape, me, node, there)
    for spread in shape.spread:
        if spread.hard and not spread_allows(spread, shape, me, node, nodes, there):
            yield "spread"


def share(one: PodDisk, two: PodDisk) -> bool:
    """Whether two disks are one that may not be on a node twice."""
    if (one.kind, one.name) != (two.kind, two.name) or (one.read_only and two.read_only):
        return False
    return one.kind != "rbd" or any(host in (two.hosts or ()) for host in one.hosts or ())


def same(key: str, one: NodeRecord, two: NodeRecord) -> bool:
    """Whether two nodes share a domain."""
    return key in one.labels and one.labels.get(key) == two.labels.get(key)


def near_refusals(shape: Shape, me: Resident, node: NodeRecord, there: list[Seen]) -> Iterator[str]:
    """Required affinity: somebody whom all wishes are about is near, or I am the first of my kind in any domain."""
    wishes = [wish for wish in shape.near if not wish.weight]
    wanted = [other for other in there if all(concerns(wish, me.namespace, other.who) for wish in wishes)]
    if any(wish.key not in node.labels for wish in wishes):
        yield "no key"
    # A domain counts for a wish only where the replica's own node carries that wish's key.
    elif wishes and not all(any(same(wish.key, node, other.node) for other in wanted) for wish in wishes):
        keyed = any(wish.key in other.node.labels for wish in wishes for other in wanted)
        first = not keyed and all(concerns(wish, me.namespace, me) for wish in wishes)
        if not first:
            yield "near"


def spread_allows(
    spread: Spread, shape: Shape, me: Resident, node: NodeRecord, nodes: list[NodeRecord], there: list[Seen]
) -> bool:
    """The skew rule of one hard constraint."""
    keys = [each.key for each in shape.spread if each.hard]
    counted = [
        each
        for each in nodes
        if all(key in each.labels for key in keys)
        and (not spread.respects_affinity or all(each.labels.get(key) == value for key, value in shape.node_selector))
    ]
    counts = {each.labels[spread.key]: 0 for each in counted}
    for other in there:
        if other.node in counted and other.who.namespace == me.namespace and not other.leaving:
            counts[other.node.labels[spread.key]] += selects(spread.selector, other.who)
    if spread.key not in node.labels:
        return False
    lowest = min(counts.values()) if counts and len(counts) >= spread.least_domains else 0
    here = counts.get(node.labels[spread.key], 0)
    return here + selects(spread.selector, me) - lowest <= spread.most_skew


def residents(there: list[Any], nodes: list[NodeRecord]) -> list[Seen]:
    """What runs already."""
    return [
        Seen(
            Resident(
                namespace=space,
                labels=(("app", app),),
                far=tuple(replace(w, weight=0) for w in far),
                ports=ports,
                disks=held,
            ),
            nodes[place % len(nodes)],
            leaving,
        )
        for space, app, place, leaving, far, ports, held in there
    ]


def population_of(seen: list[Seen], nodes: list[NodeRecord]) -> Population:
    """The same as columns."""
    return Population(
        residents=tuple(each.who for each in seen),
        codes=ints(range(len(seen))),
        rows=ints([nodes.index(each.node) for each in seen]),
        leaving=flags([each.leaving for each in seen]),
        namespaces=NAMESPACES,
    )


@settings(max_examples=300)
@given(clusters, running, shapes)
def test_one_node_is_judged_as_among_all(rows, there, shape) -> None:  # type: ignore[no-untyped-def]
    """What a question about one node answers is what the column of all nodes says at its row."""
    nodes = records(rows)
    state, population = node_state(nodes), population_of(residents(there, nodes), nodes)
    want = Constraints(state, shape, population).allowed().tolist()
    assert want == [takes(state, row, shape, population) for row in range(len(nodes))]


@settings(max_examples=300)
@given(clusters, running, shapes, st.integers(1, 6))
def test_group_obeys_every_rule_and_leaves_no_feasible_node(rows, there, shape, need) -> None:  # type: ignore[no-untyped-def]
    """Placed replicas can be lined up so that each was allowed when it came; those left out fit nowhere."""
    nodes = records(rows)
    state = node_state(nodes)
    seen = residents(there, nodes)
    population = population_of(seen, nodes)
    zeros, ones = np.zeros(len(nodes), dtype=np.int64), np.ones(len(nodes), dtype=np.int64)
    got = place_group(state, population, NodeGroup(shape=shape, need=need, base=zeros, step=ones))
    assert got.unplaced == need - got.counts.sum()
    left = {node.name: node.allocatable["cpu"] for node in nodes}
    to_place = {node.name: int(count) for node, count in zip(nodes, got.counts, strict=True)}
    while any(to_place.values()):
        ready = [
            node
            for node in nodes
            if to_place[node.name] and not list(refusals(shape, node, nodes, seen, left[node.name]))
        ]
        assert ready, f"no order of placing {to_place} obeys the rules"
        # The least crowded candidate keeps the most choices open for the others.
        chosen = min(ready, key=lambda node: sum(each.node is node for each in seen))
        to_place[chosen.name] -= 1
        left[chosen.name] -= 1
        seen.append(Seen(resident(shape), chosen))
    assert got.unplaced == need - int(got.counts.sum())
    open_nodes = [not list(refusals(shape, node, nodes, seen, left[node.name])) for node in nodes]
    if got.unplaced:
        assert not any(open_nodes)
    assert [code == 0 for code in got.codes] == open_nodes


def simple(cpus: dict[str, int], shape: Shape, need: int, **zones: str) -> dict[str, int]:
    """Place on named nodes with nothing running; counts per node."""
    nodes = [NodeRecord(name=n, allocatable={"cpu": c}, labels={"zone": zones.get(n, "a")}) for n, c in cpus.items()]
    state = node_state(nodes)
    zeros, ones = np.zeros(len(nodes), dtype=np.int64), np.ones(len(nodes), dtype=np.int64)
    got = place_group(state, Population(), NodeGroup(shape=shape, need=need, base=zeros, step=ones))
    return {name: int(count) for name, count in zip(cpus, got.counts, strict=True) if count}


def test_group_without_neighbours_is_level() -> None:
    """Six replicas on three nodes: two each; a full node gets less; the tie goes to the first name."""
    shape = Shape(request=(("cpu", 1),))
    assert simple({"n1": 9, "n2": 9, "n10": 9}, shape, 7) == {"n1": 3, "n2": 2, "n10": 2}
    assert simple({"n1": 9, "n2": 1, "n3": 9}, shape, 7) == {"n1": 3, "n2": 1, "n3": 3}


def test_group_fills_the_preferred_nodes_first() -> None:
    """Those that prefer spot go to spot until it is full, then elsewhere."""
    spot = Preference(100, Term((Requirement("zone", Operator.IN, ("s",)),)))
    shape = Shape(request=(("cpu", 1),), preferred=(spot,))
    assert simple({"d1": 9, "s1": 2, "s2": 2}, shape, 6, s1="s", s2="s") == {"d1": 2, "s1": 2, "s2": 2}


def test_group_with_soft_spread_evens_the_zones() -> None:
    """A soft constraint orders nodes, and never leaves a replica out."""
    own = LabelSelector((Requirement("app", Operator.IN, ("a",)),))
    even = Spread(key="zone", most_skew=1, hard=False, selector=own)
    shape = Shape(labels=(("app", "a"),), request=(("cpu", 1),), spread=(even,))
    assert simple({"a1": 9, "a2": 9, "b1": 9}, shape, 4, b1="b") == {"a1": 1, "a2": 1, "b1": 2}
    assert simple({"a1": 9, "b1": 1}, shape, 4, b1="b") == {"a1": 3, "b1": 1}


@pytest.mark.parametrize(("side", "want"), [("near", [7, 7, 0]), ("far", [-7, -7, 0])])
def test_wish_for_neighbours_says_nothing_about_a_node_without_the_key(side: str, want: list[int]) -> None:
    """It lies in no zone, so nobody is near there, nor far."""
    zone = {"zone": "a"}
    nodes = [
        NodeRecord(name=n, allocatable={"cpu": 5}, labels=own) for n, own in zip("abc", (zone, zone, {}), strict=True)
    ]
    population = Population(
        residents=(Resident(namespace="shop", labels=(("app", "web"),)),),
        codes=ints([0, 0]),
        rows=ints([0, 2]),
        leaving=flags([False, False]),
    )
    wish = (Neighbour(key="zone", selector=about("web"), weight=7),)
    shape = Shape(namespace="shop", near=wish) if side == "near" else Shape(namespace="shop", far=wish)
    assert Constraints(node_state(nodes), shape, population).preference.tolist() == want


def test_group_keeps_clear_of_running_replicas_that_refuse_it() -> None:
    """A running replica's own anti-affinity closes its zone to newcomers, though they wish for nothing."""
    nodes = [
        NodeRecord(name=n, allocatable={"cpu": 5}, labels={"zone": z})
        for n, z in (("n1", "a"), ("n2", "a"), ("n3", "b"))
    ]
    loner = Resident(namespace="shop", far=(Neighbour(key="zone", selector=about("web")),))
    population = Population(residents=(loner,), codes=ints([0]), rows=ints([0]), leaving=flags([False]))
    shape = Shape(namespace="shop", labels=(("app", "web"),), request=(("cpu", 1),))
    group = NodeGroup(shape=shape, need=9, base=np.zeros(3, np.int64), step=np.ones(3, np.int64))
    got = place_group(node_state(nodes), population, group)
    assert got.counts.tolist() == [0, 0, 5]
    assert [reasons.FILTERS[code - 1] for code in got.codes] == [reasons.TOO_NEAR, reasons.TOO_NEAR, reasons.NO_ROOM]


def test_group_may_begin_where_its_kind_runs_only_outside_every_domain() -> None:
    """A replica on a node without the key has no domain, so nobody can follow it: the next one begins anew."""
    nodes = [
        NodeRecord(name="n1", allocatable={"cpu": 5}),
        NodeRecord(name="n2", allocatable={"cpu": 5}, labels={"zone": "a"}),
        NodeRecord(name="n3", allocatable={"cpu": 5}, labels={"zone": "b"}),
    ]
    shape = Shape(
        namespace="shop",
        labels=(("app", "web"),),
        request=(("cpu", 1),),
        near=(Neighbour(key="zone", selector=about("web")),),
    )
    outside = Population(residents=(resident(shape),), codes=ints([0]), rows=ints([0]), leaving=flags([False]))
    group = NodeGroup(shape=shape, need=9, base=np.zeros(3, np.int64), step=np.ones(3, np.int64))
    assert place_group(node_state(nodes), outside, group).counts.tolist() == [0, 5, 0]
    inside = Population(residents=(resident(shape),), codes=ints([0]), rows=ints([2]), leaving=flags([False]))
    assert place_group(node_state(nodes), inside, group).counts.tolist() == [0, 0, 5]
