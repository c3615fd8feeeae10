"""A failure is named by its type, its place and its words."""

import re

from fairlead.model.errors import InputError
from fairlead.model.faults import fault, place_of


def raised() -> ValueError:
    """A failure with a place."""
    try:
        raise ValueError("too large")
    except ValueError as error:
        return error


def test_place_of_a_group_is_that_of_its_first_failure() -> None:
    """Tasks fail in groups of groups; what a person needs is the failure inside."""
    inner = raised()
    groups = BaseExceptionGroup("tasks", [ExceptionGroup("more tasks", [inner, KeyError("later")]), TypeError("last")])
    assert re.fullmatch(r"ValueError at test_faults\.py:\d+: too large", place_of(inner))
    assert place_of(groups) == place_of(inner)
    assert place_of(OSError("closed")) == "OSError at an unknown place: closed"


def test_fault_of_an_input_is_told_in_its_own_words() -> None:
    """Only what is not the object's fault is called a defect."""
    assert fault(InputError("Pod a", "spec: expected an object")) == "Pod a: spec: expected an object"
    assert fault(OSError("closed")).startswith("a defect of Fairlead, not of this object: OSError")
