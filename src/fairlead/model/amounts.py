"""Kubernetes quantities as exact integers, and back.

A quantity is held in the unit of its resource: cpu in thousandths of a core ("milli"), everything else in whole
units (bytes, devices, pods). Parsing follows the API server: a value finer than the unit is rounded up, never down.

Objects of a cluster may carry any amount, so what is read from them is bounded (docs/decisions/0200): what one object
asks for saturates at `BEYOND`, what one object offers at `LARGEST`, and a sum at `WHOLE`. Nothing that is asked for
beyond the bound fits anywhere, and no sum wraps.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from fairlead.model.errors import InputError

Quantity = str | int | float
"""What a user may write for an amount: `"100m"`, `"1.5Gi"`, `"1e3"`, `4` or `0.1`."""

INT64_MAX = 2**63 - 1
LARGEST = 2**53
"""The largest amount that a node, a disk or a cluster can offer: 8Pi bytes, or nine trillion cores."""
BEYOND = LARGEST + 1
"""What stands for every larger request: more than anything can offer."""
WHOLE = 2**60
"""The largest sum, and the largest bound of a queue. Small enough that differences of sums stay within int64."""
NANO = 10**9
CPU = "cpu"
MEMORY = "memory"

_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18, "": 1}
_SMALL = {"n": 10**9, "u": 10**6, "m": 10**3}
_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,4})?"
)
_EXPECTED = 'expected a quantity such as "100m", "2" or "1.5Gi"'


@lru_cache(maxsize=65536)
def parse(text: str) -> int:
    """The quantity in billionths (nano), rounded away from zero to that precision as the API server does."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > 64:
        raise InputError("", f"{text[:64]!r} is not a quantity; {_EXPECTED}")
    whole, part, suffix = match["whole"], match["part"] or "", match["suffix"] or ""
    if not whole and not part:
        raise InputError("", f"{text!r} is not a quantity; {_EXPECTED}")
    numerator = int(whole + part) * NANO
    denominator: int = 10 ** len(part)
    if suffix in _BINARY:
        numerator *= _BINARY[suffix]
    elif suffix in _DECIMAL:
        numerator *= _DECIMAL[suffix]
    elif suffix in _SMALL:
        denominator *= _SMALL[suffix]
    else:
        exponent = int(suffix[1:])
        numerator *= 10 ** max(exponent, 0)
        denominator *= 10 ** max(-exponent, 0)
    size = -(-numerator // denominator)
    return -size if match["sign"] == "-" else size


def nanos(value: Quantity) -> int:
    """`parse` for what JSON and YAML give: text, or a number read as the decimal it was written as."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError("", f"{value!r} is not a quantity; {_EXPECTED}")
    return parse(value if isinstance(value, str) else repr(value))


def in_unit(value: Quantity, per_whole: int) -> int:
    """The quantity counted in units of which `per_whole` make one (1000 for milli), rounded up."""
    return -(-nanos(value) * per_whole // NANO)


def exact(resource: str, value: Quantity, path: str = "") -> int:
    """The quantity as a non-negative integer in the unit of `resource`, however large.

    For what is only compared, never put in a column. `path` names the place in errors.
    """
    try:
        return _exact_text(resource, value) if isinstance(value, str) else _exact(resource, value)
    except InputError as error:
        raise InputError(path, error.message) from None


def _exact(resource: str, value: Quantity) -> int:
    result = in_unit(value, 1000 if resource == CPU else 1)
    if result < 0:
        raise InputError("", f"{value!r} is negative; expected an amount of 0 or more")
    if not is_bytes(resource) and resource != CPU and nanos(value) % NANO:
        raise InputError("", f"{value!r} is not a whole number; {resource} cannot be divided")
    return result


_exact_text = lru_cache(maxsize=8192)(_exact)
"""The same for a text: of thousands of nodes and templates most offer and ask for the same."""


def amount(resource: str, value: Quantity, path: str = "") -> int:
    """`exact` for what a person writes for Fairlead itself: an amount that no column can hold is refused."""
    result = exact(resource, value, path)
    if result > INT64_MAX:
        raise InputError(path, f"{value!r} is too large; the largest amount is 2^63 − 1")
    return result


def amounts(values: Mapping[str, Quantity], path: str = "$") -> dict[str, int]:
    """Every quantity of a resource list, in the unit of its resource."""
    return {name: amount(name, value, f"{path}.{name}") for name, value in values.items()}


def bounded(values: Mapping[str, Quantity], most: int, path: str = "$") -> dict[str, int]:
    """Every quantity of a resource list of a cluster's object; a larger amount counts as `most`.

    `most` is BEYOND for what is asked for, LARGEST for what is offered, WHOLE for the bounds of a queue.
    """
    return {name: min(exact(name, value, f"{path}.{name}"), most) for name, value in values.items()}


def plain_names(values: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """A resource list whose names may be those of a ResourceQuota, by the names that nodes use (docs/decisions/0245).

    `requests.X` is X and `count/pods` is `pods`, unless the plain name is there too. Limits and other counts are
    nothing that a node offers and are left out.
    """
    plain: dict[str, Quantity] = {}
    for name, value in values.items():
        meant = "pods" if name == "count/pods" else name.removeprefix("requests.")
        if not meant.startswith(("limits.", "count/")) and (meant == name or meant not in values):
            plain[meant] = value
    return plain


def too_large(request: Iterable[tuple[str, int]]) -> str:
    """What of a request is beyond every target, as a sentence; empty where nothing is."""
    names = [name for name, value in request if value > LARGEST]
    if not names:
        return ""
    most = ", ".join(f"{quantity(name, LARGEST)} {name}" for name in names)
    return f"requests.{names[0]}: more than the largest amount that a node can offer ({most})"


def is_bytes(resource: str) -> bool:
    """Whether amounts of this resource are bytes (and are written with Ki, Mi, Gi …)."""
    name = resource.removeprefix("requests.").removeprefix("limits.")
    return name in (MEMORY, "storage", "ephemeral-storage") or name.startswith("hugepages-")


def quantity(resource: str, value: int) -> str:
    """The canonical text of an amount: parsing it gives the same integer back."""
    if resource == CPU:
        return str(value // 1000) if value % 1000 == 0 else f"{value}m"
    if is_bytes(resource):
        return bytes_text(value)
    return str(value)


def quantities(values: Mapping[str, int]) -> dict[str, str]:
    """`quantity` of a whole resource list."""
    return {name: quantity(name, value) for name, value in values.items()}


def bytes_text(value: int) -> str:
    """Bytes with the largest binary suffix that needs no fraction: 1610612736 is `1536Mi`."""
    for suffix, factor in reversed(_BINARY.items()):
        if value and value % factor == 0:
            return f"{value // factor}{suffix}"
    return str(value)
