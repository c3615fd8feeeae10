"""What a stream carries: only what changed, and exactly that."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from fairlead.web.patch import difference
from tests.web.patching import patched

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab=~-n", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab=~-n", max_size=2), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_patch_makes_the_new_of_the_old(old: Any, new: Any) -> None:
    """Whatever the two are."""
    assert patched(old, difference(old, new)) == new


@given(VALUES)
def test_nothing_changed_is_no_patch(value: Any) -> None:
    """Equal records differ in nothing."""
    assert difference(value, value) is None


def test_one_number_of_many_is_a_small_patch() -> None:
    """A column of which one place changed is not sent whole; one that changed everywhere is."""
    old = {"used": list(range(1000)), "names": ["a"]}
    one = {**old, "used": [*range(999), 7]}
    assert difference(old, one) == {"~": {"used": {"~": {"999": {"=": 7}}, "n": 1000}}}
    other = {**old, "used": list(range(1, 1001))}
    assert difference(old, other) == {"~": {"used": {"=": other["used"]}}}
