"""Which nodes a spread constraint counts: by the keys they carry, the replica's own selector, and taints."""

from dataclasses import replace

import pytest

from fairlead.levels.node.constraints.feasible import Constraints
from fairlead.model.columns import flags, ints
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.population import Population, resident
from fairlead.model.selectors import LabelSelector, Operator, Requirement, Taint, Toleration
from fairlead.model.shape import Shape, Spread

WEB = LabelSelector((Requirement("app", Operator.IN, ("web",)),))
ZONES = Spread(key="zone", most_skew=1, hard=True, selector=WEB)
POD = Shape(namespace="shop", labels=(("app", "web"),), request=(("cpu", 1),), spread=(ZONES,))
BUSY = Taint("busy")
LEAVE = (Toleration("busy", "Exists"),)


def node(name: str, zone: str, *taints: Taint, cpu: int = 9) -> NodeRecord:
    """A node in a zone, or in none."""
    return NodeRecord(name=name, labels={"zone": zone} if zone else {}, taints=taints, allocatable={"cpu": cpu})


def open_to(shape: Shape, *nodes: NodeRecord, there: tuple[str, ...]) -> set[str]:
    """Nodes that take one more replica where a replica of the same runs on each node of `there`."""
    state = node_state(nodes)
    population = Population(
        residents=(resident(shape),),
        codes=ints([0] * len(there)),
        rows=ints([state.names.index(name) for name in there]),
        leaving=flags([False] * len(there)),
    )
    codes = Constraints(state, shape, population).codes()
    return {name for name, code in zip(state.names, codes.tolist(), strict=True) if not code}


def test_an_empty_zone_holds_the_others_back() -> None:
    """Skew 1: the zone with a replica waits for the one without."""
    assert open_to(POD, node("a", "a"), node("b", "b"), there=("a",)) == {"b"}


def test_one_zone_is_enough_unless_more_are_asked_for() -> None:
    """Nothing is held back where there is no other zone; two zones that have to be there count as empty ones."""
    alone = (node("a1", "a"), node("a2", "a"))
    assert open_to(POD, *alone, there=("a1",)) == {"a1", "a2"}
    assert open_to(replace(POD, spread=(replace(ZONES, least_domains=2),)), *alone, there=("a1",)) == set()


@pytest.mark.parametrize(
    ("respects", "tolerations", "want"),
    [(False, (), set()), (True, (), {"a"}), (True, LEAVE, {"b"}), (False, LEAVE, {"b"})],
    ids=["taints are not looked at", "taints count", "a tolerated taint", "tolerated and not looked at"],
)
def test_a_tainted_zone_counts_unless_taints_are_respected(
    respects: bool, tolerations: tuple[Toleration, ...], want: set[str]
) -> None:
    """A zone whose only node is tainted sets the level although the replica cannot go there, unless told otherwise."""
    shape = replace(POD, spread=(replace(ZONES, respects_taints=respects),), tolerations=tolerations)
    assert open_to(shape, node("a", "a"), node("b", "b", BUSY), there=("a",)) == want


def test_a_tainted_node_does_not_count_for_its_zone() -> None:
    """Two replicas run in the zone, one of them on a node the replica does not tolerate: one counts."""
    shape = replace(POD, spread=(replace(ZONES, respects_taints=True),))
    nodes = (node("a1", "a"), node("a2", "a", BUSY), node("b", "b"))
    assert open_to(shape, *nodes, there=("a1", "a2", "b")) == {"a1", "b"}


def test_nodes_without_the_key_take_nothing_and_count_nowhere() -> None:
    """A node in no zone cannot keep zones even."""
    assert open_to(POD, node("a", "a"), node("none", ""), there=("none",)) == {"a"}


def test_fewer_zones_than_wanted_are_levelled_with_an_empty_one() -> None:
    """With two zones of three wanted, the lowest count is nought."""
    shape = replace(POD, spread=(replace(ZONES, least_domains=3),))
    two = (node("a", "a"), node("b", "b"))
    assert open_to(shape, *two, there=()) == {"a", "b"}
    assert open_to(shape, *two, there=("a", "b")) == set()
    assert open_to(shape, *two, node("c", "c"), there=("a", "b", "c")) == {"a", "b", "c"}


def test_a_replica_that_its_own_selector_leaves_out_adds_nothing() -> None:
    """It may go beside as many as the skew allows, not one fewer."""
    other = replace(POD, labels=(("app", "db"),))
    state = node_state([node("a", "a"), node("b", "b")])
    web = Population(residents=(resident(POD),), codes=ints([0]), rows=ints([0]), leaving=flags([False]))
    assert Constraints(state, other, web).codes().tolist() == [0, 0]
