"""The page about the kernels shows what they really return."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"


def test_examples_on_the_page_print_what_they_say() -> None:
    """Every example is run; none is skipped."""
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.failed == 0
    assert results.attempted >= 19
