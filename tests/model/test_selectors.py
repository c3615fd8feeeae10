"""Numbers in selectors, as Go reads them."""

import pytest

from fairlead.model.selectors import integer

MOST = 2**63


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (str(MOST - 1), MOST - 1),
        (str(MOST), None),
        (str(-MOST), -MOST),
        (str(-MOST - 1), None),
        ("+7", 7),
        ("007", 7),
        ("0" * 40 + "7", 7),
        pytest.param("-" + "0" * 5000 + "7", -7, id="many zeros"),
        ("9" * 20, None),
        ("", None),
        ("-", None),
        ("1.0", None),
        ("٢", None),
    ],
)
def test_integer_of_64_bits(text: str, want: int | None) -> None:
    """Both ends are in, what is beyond is no number; nor is what has other signs than digits."""
    assert integer(text) == want
