"""Data classes of the house beside those of the standard library: the same in all that a user of one can see."""

import ast
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairlead
from fairlead.dataclass import dataclass

SOURCE = Path(fairlead.__file__).parent
BOTH = (dataclass, dataclasses.dataclass)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """At the top of the module, so that it can be pickled."""

    x: int
    y: float = 0.5
    label: str = field(default="", compare=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StandardPoint:
    """The same, of the standard library."""

    x: int
    y: float = 0.5
    label: str = field(default="", compare=False)


def test_the_same_arguments_are_refused() -> None:
    """The constructor is that of the standard library."""
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'x'"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(x=1, z=2)  # type: ignore[call-arg]


def test_frozen_stays_as_it_is() -> None:
    """Neither a field nor anything else can be set or deleted."""
    point = Point(x=1)
    with pytest.raises(FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del point.x  # type: ignore[misc]
    assert not hasattr(point, "__dict__")


values = st.builds(
    dict,
    x=st.integers(0, 2),
    y=st.sampled_from((0.0, 1.0, float("nan"))),
    label=st.sampled_from(("", "a")),
)


@given(values, values)
def test_equality_and_hash_are_those_of_the_standard_library(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Field by field in the same order, what is the same object being equal to itself, fields left out where told."""
    ours, theirs = (Point(**one), Point(**other)), (StandardPoint(**one), StandardPoint(**other))
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert [hash(each) for each in ours] == [hash(each) for each in theirs]
    assert repr(ours[0]) == repr(theirs[0]).replace("StandardPoint", "Point")
    assert ours[0] != theirs[0]


@pytest.mark.parametrize("decorate", BOTH)
def test_one_field_and_none(decorate: Any) -> None:
    """The tuple of the values is one of one, or empty."""

    @decorate(frozen=True, slots=True)
    class One:
        only: float

    @decorate(frozen=True, slots=True)
    class Nothing:
        pass

    nan = float("nan")
    assert One(nan) == One(nan)
    assert One(1.0) != One(2.0)
    assert Nothing() == Nothing()
    assert (hash(One(2.0)), hash(Nothing())) == (hash((2.0,)), hash(()))
    assert repr(Nothing()).endswith("Nothing()")


@pytest.mark.parametrize("decorate", BOTH)
def test_what_a_class_says_itself_stays(decorate: Any) -> None:
    """Its own words for equality, hash and representation are not replaced."""

    @decorate(frozen=True, slots=True)
    class Says:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 7

        def __repr__(self) -> str:
            return "says"

    @decorate(frozen=True)
    class SaysEqual:
        x: int

        def __eq__(self, other: object) -> bool:
            return True

    assert (Says(1) == Says(2), hash(Says(1)), repr(Says(1))) == (True, 7, "says")
    assert (SaysEqual(1) == SaysEqual(2), hash(SaysEqual(1))) == (True, hash((1,)))


@pytest.mark.parametrize("decorate", BOTH)
def test_what_changes_has_no_hash_and_what_is_told_apart_by_identity_has(decorate: Any) -> None:
    """`eq=False`: two objects are never equal; without `frozen` there is no hash."""

    @decorate(slots=True)
    class Changes:
        x: int

    @decorate(slots=True, eq=False)
    class Itself:
        x: int

    assert Changes(1) == Changes(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Changes(1))
    assert Itself(1) != Itself(1)
    assert {Itself(1)}


@pytest.mark.parametrize("decorate", BOTH)
def test_fields_hashed_otherwise_and_not_told(decorate: Any) -> None:
    """`field(hash=False)` and `field(repr=False)` hold."""

    @decorate(frozen=True, slots=True)
    class Part:
        a: int
        b: list[int] = field(default_factory=list, hash=False)
        c: int = field(default=3, repr=False)

    assert hash(Part(1)) == hash((1, 3))
    assert repr(Part(1)).endswith("Part(a=1, b=[])")
    assert Part(1, [1]) != Part(1, [2])


@pytest.mark.parametrize("decorate", BOTH)
def test_representation_of_what_contains_itself_ends(decorate: Any) -> None:
    """An object within itself is three dots."""

    @decorate(slots=True, eq=False)
    class Ring:
        next: Any = None

    ring = Ring()
    ring.next = ring
    assert repr(ring).endswith("Ring(next=...)")


@pytest.mark.parametrize("decorate", BOTH)
def test_a_subclass_is_equal_to_its_own_kind_only(decorate: Any) -> None:
    """Fields of the base come first; an object of the base is another thing."""

    @decorate(frozen=True)
    class Base:
        x: int

    @decorate(frozen=True)
    class More(Base):
        y: int

    assert More(1, 2) == More(1, 2) != Base(1)
    assert repr(More(1, 2)).endswith("More(x=1, y=2)")
    assert hash(More(1, 2)) == hash((1, 2))


def test_functions_of_the_standard_library_work() -> None:
    """`replace`, `fields`, `astuple` and pickle."""
    point = Point(x=1, label="a")
    assert dataclasses.replace(point, x=2) == Point(x=2)
    assert [each.name for each in dataclasses.fields(point)] == ["x", "y", "label"]
    assert dataclasses.astuple(point) == (1, 0.5, "a")
    assert pickle.loads(pickle.dumps(point)) == point


def test_every_module_takes_its_data_classes_from_here() -> None:
    """One that took them from the standard library would be slow to define, and would look the same."""
    found = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        for alias in node.names
        if alias.name == "dataclass" and path != SOURCE / "dataclass.py"
    ]
    assert found == []
