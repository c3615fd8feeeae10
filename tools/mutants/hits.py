"""What probes call: it notes once for each test which changes were evaluated and made a difference.

It is copied beside the package that is measured, so it imports nothing of ours.
"""

import operator
import os
import warnings
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".txt")
"""What is added to: the number of a change and a test on each line."""
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": operator.is_, "is not": operator.is_not,
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
}  # fmt: skip

_seen: set[int] = set()
_test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]


def begin(test: str) -> None:
    """From here on hits are those of this test; a process that a test starts has the test's name in a variable."""
    global _test
    _test = test
    _seen.clear()


def hit(number: int) -> None:
    """This change was come to."""
    if number not in _seen:
        _seen.add(number)
        with FILE.open("a", encoding="utf-8") as file:
            file.write(f"{number}\t{_test}\n")


def differing(number: int, old: str, new: str, left: Any, right: Any) -> Any:
    """The result with the old sign; a hit where the new one gives another."""
    if old in ("in", "not in"):
        hit(number)
        return _within(left, right) is (old == "in")
    result = CALLS[old](left, right)
    if number not in _seen and _differ(result, CALLS[new], left, right):
        hit(number)
    return result


def _within(left: Any, right: Container[Any]) -> bool:
    return left in right


def _differ(result: Any, other: Callable[[Any, Any], Any], left: Any, right: Any) -> bool:
    """Also where the other cannot be formed, or nobody can say whether the two are equal."""
    try:
        with warnings.catch_warnings(action="ignore"):
            formed = other(left, right)
        same = formed == result
        return type(formed) is not type(result) or not (same if isinstance(same, bool) else same.all())
    except Exception:
        return True
