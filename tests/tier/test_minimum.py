"""Reading the minimum: whole numbers and percentages, and nothing that merely looks like one."""

import pytest

from fairlead.levels.tier.minimum import Minimum, parse_minimum

READ = {
    "a number": ("2", Minimum(2)),
    "zero": ("0", Minimum(0)),
    "blanks around it": (" \t2\r\n", Minimum(2)),
    "leading zeros": ("007", Minimum(7)),
    "many leading zeros": ("0" * 6000 + "3", Minimum(3)),
    "the largest": ("2147483647", Minimum(2147483647)),
    "a percentage": ("50%", Minimum(50, True)),
    "no percent": ("0%", Minimum(0, True)),
    "all of it": (" 100% ", Minimum(100, True)),
}
REFUSED = {
    "nothing": "",
    "blanks only": "  ",
    "a word": "abc",
    "a plus sign": "+2",
    "a negative number": "-1",
    "a fraction": "1.5",
    "an exponent": "1e3",
    "hexadecimal": "0x2",
    "an underscore": "1_000",
    "digits of another script": "٢",
    "a superscript": "²",
    "a blank inside": "5 0",
    "a blank before the sign": "50 %",
    "a sign alone": "%",
    "two signs": "50%%",
    "more than all": "101%",
    "a fraction of a percent": "12.5%",
    "beyond 32 bits": "2147483648",
    "far beyond 64 bits": "99999999999999999999",
    "longer than Python parses": "9" * 5000,
    "a no-break space": "\u00a02",
}


@pytest.mark.parametrize(("text", "want"), READ.values(), ids=READ)
def test_minimum_well_written_is_read(text: str, want: Minimum) -> None:
    """Whole numbers of 32 bits and whole percentages are read."""
    assert want == parse_minimum(text)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_minimum_otherwise_written_is_refused(text: str) -> None:
    """Anything else is no minimum, not a guess at one."""
    assert parse_minimum(text) is None


@pytest.mark.parametrize(
    ("percent", "replicas", "want"),
    [(50, 5, 3), (60, 5, 3), (1, 1000, 10), (1, 3, 1), (0, 9, 0), (100, 7, 7), (34, 3, 2)],
)
def test_percentage_of_replicas_is_rounded_up(percent: int, replicas: int, want: int) -> None:
    """A part of a replica counts as a whole one."""
    assert want == Minimum(percent, True).of(replicas)


def test_number_of_replicas_is_itself() -> None:
    """A plain number does not depend on the replicas, even where there are fewer."""
    assert Minimum(4).of(2) == 4
