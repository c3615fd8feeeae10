"""Filters on node columns, against the same rules spelled out node by node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.levels.node.constraints import labels, reasons
from fairlead.levels.node.constraints.feasible import Constraints, rejections, takes
from fairlead.levels.node.constraints.room import UNLIMITED, room
from fairlead.model.columns import flags
from fairlead.model.nodestate import NodeRecord, node_state
from fairlead.model.selectors import Operator, Preference, Requirement, Taint, Term, Toleration, tolerated
from fairlead.model.shape import Shape

KEYS, VALUES, NAMES = ("zone", "tier", "size"), ("a", "b", "3", "12", "-5", "x9"), ("n1", "n2", "n3", "n4")

requirements = st.builds(
    Requirement,
    st.sampled_from(KEYS),
    st.sampled_from(list(Operator)),
    st.lists(st.sampled_from(VALUES), max_size=2).map(tuple),
)
fields = st.builds(
    Requirement,
    st.sampled_from(["metadata.name", "metadata.other"]),
    st.sampled_from([Operator.IN, Operator.NOT_IN]),
    st.lists(st.sampled_from((*NAMES, "nobody")), max_size=2).map(tuple),
)
terms = st.builds(Term, st.lists(requirements, max_size=2).map(tuple), st.lists(fields, max_size=1).map(tuple))
taints = st.builds(
    Taint,
    st.sampled_from("kl"),
    st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    st.sampled_from("uv"),
)
tolerations = st.builds(
    Toleration,
    st.sampled_from(["", "k", "l"]),
    st.sampled_from(["Equal", "Exists"]),
    st.sampled_from("uv"),
    st.sampled_from(["", "NoSchedule", "NoExecute"]),
)
records = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES)),
        st.lists(taints, max_size=2).map(tuple),
        st.integers(0, 9),
        st.integers(0, 12),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
).map(
    lambda rows: [
        NodeRecord(
            name=name, labels=marks, taints=repels, allocatable={"cpu": cpu}, used={"cpu": used}, unschedulable=cordoned
        )
        for name, (marks, repels, cpu, used, cordoned) in zip(NAMES, rows, strict=False)
    ]
)
shapes = st.builds(
    lambda selector, required, preferred, leave, cpu: Shape(
        node_selector=tuple(selector.items()),
        required=required,
        preferred=preferred,
        tolerations=leave,
        request=(("cpu", cpu),),
    ),
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=1),
    st.none() | st.lists(terms, max_size=2).map(tuple),
    st.lists(st.builds(Preference, st.integers(1, 9), terms), max_size=2).map(tuple),
    st.lists(tolerations, max_size=2).map(tuple),
    st.integers(0, 4),
)


def term_holds(record: NodeRecord, term: Term) -> bool:
    """The rule of a term, node by node."""
    own = {"metadata.name": record.name}
    return bool(term.labels or term.fields) and (
        all(each.holds(record.labels.get(each.key)) for each in term.labels)
        and all(each.holds(own.get(each.key)) for each in term.fields)
    )


@given(records, shapes, st.lists(st.booleans(), min_size=4, max_size=4))
def test_one_node_is_judged_as_among_all(nodes: list[NodeRecord], shape: Shape, also: list[bool]) -> None:
    """Labels, taints, cordons, room and the filters of a caller: the answer about one node is that of its row."""
    state = node_state(nodes)
    more = {reasons.NO_VOLUME: flags(also[: len(nodes)])}
    want = Constraints(state, shape, also=more).allowed().tolist()
    got = [takes(state, row, shape, also={reasons.NO_VOLUME: flags([also[row]])}) for row in range(len(nodes))]
    assert want == got


@given(records, shapes)
def test_feasible_equals_the_rules_node_by_node(nodes: list[NodeRecord], shape: Shape) -> None:
    """Codes, capacities and preferences are those that the plain rules give."""
    state = node_state(nodes)
    got = Constraints(state, shape)
    codes = got.codes()
    asked = dict(shape.request)["cpu"]
    for row, record in enumerate(nodes):
        selected = all(record.labels.get(key) == value for key, value in shape.node_selector) and (
            shape.required is None or any(term_holds(record, term) for term in shape.required)
        )
        left = max(record.allocatable["cpu"] - record.used["cpu"], 0)
        fits = left // asked if asked else UNLIMITED
        want = next(
            (
                code
                for code, passes in enumerate(
                    (not record.unschedulable, selected, tolerated(record.taints, shape.tolerations), fits > 0),
                    start=reasons.FILTERS.index(reasons.UNSCHEDULABLE) + 1,
                )
                if not passes
            ),
            0,
        )
        assert codes[row] == want
        assert want or got.left[row] == fits
        assert got.preference[row] == sum(each.weight for each in shape.preferred if term_holds(record, each.term))


HOLDS = {
    "In": (Requirement("k", Operator.IN, ("a", "b")), {"a": True, "c": False, None: False}),
    "NotIn holds where the key is absent": (
        Requirement("k", Operator.NOT_IN, ("a",)),
        {"a": False, "c": True, None: True},
    ),
    "Exists": (Requirement("k", Operator.EXISTS), {"": True, None: False}),
    "DoesNotExist": (Requirement("k", Operator.DOES_NOT_EXIST), {"a": False, None: True}),
    "Gt compares integers": (
        Requirement("k", Operator.GT, ("9",)),
        {"10": True, "9": False, "x": False, None: False, "+11": True, "٩٩": False},
    ),
    "Lt": (Requirement("k", Operator.LT, ("9",)), {"8": True, "-10": True, "9": False, "10": False}),
    "Gt without a bound never holds": (Requirement("k", Operator.GT), {"1": False}),
}


@pytest.mark.parametrize("name", HOLDS)
def test_requirement(name: str) -> None:
    """Each operator as the API defines it."""
    requirement, answers = HOLDS[name]
    assert {value: requirement.holds(value) for value in answers} == answers


def test_tolerations() -> None:
    """Key, operator, value and effect all count; PreferNoSchedule repels nobody."""
    spot = Taint("spot", "NoSchedule", "yes")
    assert tolerated((spot,), (Toleration("", "Exists"),))
    assert tolerated((spot,), (Toleration("spot", "Equal", "yes"),))
    assert not tolerated((spot,), (Toleration("spot", "Equal", "no"),))
    assert not tolerated((spot,), (Toleration("spot", "Exists", effect="NoExecute"),))
    assert not tolerated((spot,), (Toleration("other", "Exists"),))
    assert tolerated((Taint("x", "PreferNoSchedule"),), ())


def test_room_of_a_resource_that_no_node_has_is_none() -> None:
    """A GPU is asked for where there is none: no room, and no column to blame."""
    state = node_state([NodeRecord(name="n", allocatable={"cpu": 4000})])
    fits, binding = room(state, Shape(request=(("nvidia.com/gpu", 1),)))
    assert (fits.tolist(), binding.tolist()) == ([0], [-1])


def test_room_names_the_tightest_resource() -> None:
    """Four by cpu, two by memory: memory binds."""
    state = node_state([NodeRecord(name="n", allocatable={"cpu": 4000, "memory": 20})])
    fits, binding = room(state, Shape(request=(("cpu", 1000), ("memory", 10))))
    assert (fits.tolist(), state.resources[binding[0]]) == ([2], "memory")


def test_rejections_count_and_name_nodes() -> None:
    """The histogram has each reason once, most nodes first, with three names at most."""
    nodes = [NodeRecord(name=f"n{row}", allocatable={"cpu": 0}) for row in range(5)]
    nodes.append(NodeRecord(name="m", allocatable={"cpu": 9}, unschedulable=True))
    state = node_state(nodes)
    first, second = rejections(Constraints(state, Shape(request=(("cpu", 1),))).codes(), state.names)
    assert (first.reason, first.count, first.names) == (reasons.NO_ROOM, 5, ("n0", "n1", "n2"))
    assert (second.reason, second.count, second.names) == (reasons.UNSCHEDULABLE, 1, ("m",))


def test_domains_number_the_values_of_a_label() -> None:
    """Nodes without the label have none."""
    state = node_state(
        [
            NodeRecord(name=name, allocatable={}, labels=marks)
            for name, marks in (("a", {"z": "1"}), ("b", {}), ("c", {"z": "2"}))
        ]
    )
    codes, count = labels.domains(state, "z")
    assert (codes.tolist(), count) == ([0, -1, 1], 2)
    assert labels.domains(state, "nothing")[1] == 0


def test_requiring_narrows_every_term_and_keeps_empty_ones_empty() -> None:
    """A condition is ANDed into each term; an empty term matched nothing and still matches nothing."""
    more, one = Requirement("tier", Operator.IN, ("spot",)), Requirement("a", Operator.EXISTS)
    assert Shape().requiring(more).required == (Term((more,)),)
    assert Shape(required=(Term((one,)), Term())).requiring(more).required == (Term((one, more)), Term())


def test_node_state_of_no_nodes_has_no_rows() -> None:
    """An empty cluster is a cluster."""
    state = node_state([])
    assert (state.names, state.free.shape, state.column("cpu")) == ((), (0, 0), None)
    assert Constraints(state, Shape()).codes().tolist() == []
    assert Constraints(state, Shape()).allowed().tolist() == []
