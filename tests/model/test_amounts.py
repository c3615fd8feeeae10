"""Quantities: the texts of the API server, exactly, and back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.model.amounts import (
    INT64_MAX,
    amount,
    amounts,
    bytes_text,
    in_unit,
    is_bytes,
    nanos,
    parse,
    plain_names,
    quantities,
    quantity,
)
from fairlead.model.errors import InputError

TEXTS = {
    "0": Fraction(0),
    "1": Fraction(1),
    "100m": Fraction(1, 10),
    "1.5Gi": Fraction(3, 2) * 2**30,
    "1e3": Fraction(1000),
    "1E3": Fraction(1000),
    "1E": Fraction(10**18),
    "1Ei": Fraction(2**60),
    "12e-3": Fraction(12, 1000),
    "0.1": Fraction(1, 10),
    ".5": Fraction(1, 2),
    "5.": Fraction(5),
    "+2k": Fraction(2000),
    "-3": Fraction(-3),
    "250u": Fraction(250, 10**6),
    "7n": Fraction(7, 10**9),
    "1Ki": Fraction(1024),
    "3M": Fraction(3 * 10**6),
    "2T": Fraction(2 * 10**12),
    "1.25P": Fraction(125 * 10**13),
    "0.5Ki": Fraction(512),
    "1Ti": Fraction(2**40),
    "1Pi": Fraction(2**50),
}


@pytest.mark.parametrize(("text", "value"), TEXTS.items())
def test_parse_of_every_suffix_is_exact(text: str, value: Fraction) -> None:
    """Each suffix of the API means its factor, to the last billionth."""
    assert Fraction(parse(text), 10**9) == value


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "1_000", "abc", "1ki", "1KI", "0x10", "1e", "--1", "1.2.3", ".", "-", "e3", "1mi", "٢", "1e99999"],
)
def test_parse_of_nonsense_is_refused(text: str) -> None:
    """What the API server refuses is refused, with the expected form in the message."""
    with pytest.raises(InputError, match="expected a quantity"):
        parse(text)


def test_parse_finer_than_a_billionth_rounds_away_from_zero() -> None:
    """The API server keeps nine decimals and never rounds an amount to less."""
    assert (parse("0.0000000001"), parse("-0.0000000001"), parse("1.0000000001")) == (1, -1, 10**9 + 1)


def test_parse_refuses_texts_longer_than_any_quantity() -> None:
    """A megabyte of digits is not an amount, and is not echoed back whole."""
    with pytest.raises(InputError) as caught:
        parse("9" * 1000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("value", [True, None, [1], {"a": 1}])
def test_nanos_of_other_types_is_refused(value: object) -> None:
    """Only text and numbers are quantities; a truth value is not the number 1."""
    with pytest.raises(InputError, match="is not a quantity"):
        nanos(value)  # type: ignore[arg-type]  # the point of the test


def test_nanos_of_a_float_is_the_decimal_that_was_written() -> None:
    """0.1 is a tenth, not the binary neighbour of a tenth."""
    assert nanos(0.1) == 10**8
    assert nanos(1e21) == 10**30
    assert nanos(3) == 3 * 10**9


def test_nanos_of_infinity_is_refused() -> None:
    """inf and nan are numbers for Python only."""
    with pytest.raises(InputError):
        nanos(float("inf"))


def test_in_unit_rounds_up_and_amount_knows_its_limit() -> None:
    """Half a byte takes a byte; 2^63 is refused as an amount."""
    assert in_unit("0.5", 1) == 1
    assert in_unit("1500u", 1000) == 2
    assert amount("memory", INT64_MAX) == INT64_MAX
    with pytest.raises(InputError, match="too large"):
        amount("memory", "8Ei")


def test_amount_has_the_unit_of_its_resource() -> None:
    """cpu in thousandths, memory in bytes, devices whole."""
    assert amount("cpu", "1.5") == 1500
    assert amount("memory", "1Ki") == 1024
    assert amount("memory", "100m") == 1
    assert amount("nvidia.com/gpu", "2") == 2


@pytest.mark.parametrize(
    ("resource", "value", "message"),
    [
        ("cpu", "-1", "negative"),
        ("nvidia.com/gpu", "0.5", "cannot be divided"),
        ("memory", "x", "not a quantity"),
        ("memory", "9Ei", "too large"),
    ],
)
def test_amount_that_cannot_be_is_refused_with_its_place(resource: str, value: str, message: str) -> None:
    """The error names the path that was given."""
    with pytest.raises(InputError, match=message) as caught:
        amount(resource, value, "$.request.x")
    assert caught.value.path == "$.request.x"


def test_amounts_names_the_resource_in_the_path() -> None:
    """A resource list converts whole; the bad entry is named."""
    assert amounts({"cpu": "2", "memory": 10}) == {"cpu": 2000, "memory": 10}
    with pytest.raises(InputError) as caught:
        amounts({"cpu": "?"}, "$.total")
    assert caught.value.path == "$.total.cpu"


def test_quantity_is_canonical() -> None:
    """Whole cores without a suffix, bytes with the largest binary suffix that fits."""
    assert quantities({"cpu": 4000, "memory": 3 * 2**29, "pods": 110}) == {
        "cpu": "4",
        "memory": "1536Mi",
        "pods": "110",
    }
    assert quantity("cpu", 250) == "250m"
    assert bytes_text(0) == "0"
    assert bytes_text(1000) == "1000"


def test_names_of_a_quota_become_the_names_of_nodes() -> None:
    """Requests and the count of pods count under the plain name, which wins; limits and other counts go."""
    quota = {"requests.cpu": "1", "requests.x.io/gpu": 2, "count/pods": 3, "limits.cpu": "4", "count/jobs.batch": 5}
    assert plain_names(quota) == {"cpu": "1", "x.io/gpu": 2, "pods": 3}
    assert plain_names({**quota, "cpu": "7", "pods": 8}) == {"cpu": "7", "x.io/gpu": 2, "pods": 8}


def test_is_bytes_knows_quota_names() -> None:
    """Quota keys carry a prefix, huge pages a size."""
    assert all(map(is_bytes, ["memory", "requests.storage", "limits.memory", "hugepages-2Mi", "ephemeral-storage"]))
    assert not any(map(is_bytes, ["cpu", "pods", "nvidia.com/gpu"]))


@given(st.sampled_from(["cpu", "memory", "pods"]), st.integers(0, INT64_MAX))
def test_quantity_and_amount_are_inverse(resource: str, value: int) -> None:
    """Printing an amount and reading it again changes nothing."""
    assert amount(resource, quantity(resource, value)) == value


@given(st.text(max_size=12))
def test_parse_of_any_text_gives_an_integer_or_an_input_error(text: str) -> None:
    """Nothing else ever comes out."""
    try:
        outcome = str(parse(text))
    except InputError as error:
        outcome = error.message
    assert outcome.lstrip("-").isdigit() or "is not a quantity" in outcome
