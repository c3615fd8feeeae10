"""Reason codes are an interface: distinct, well formed, documented, and each with a cure."""

from pathlib import Path

import pytest
from tools.reference.reasons import every_reason

from fairlead.model.reasons import Reason

ROOT = Path(__file__).parents[2]
DOCS = "\n".join(page.read_text() for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "reference")


def test_reason_codes_are_distinct() -> None:
    """Within a level one code has one meaning."""
    codes = [(reason.level, reason.code) for reason in every_reason()]
    assert sorted(codes) == sorted(set(codes))


@pytest.mark.parametrize("reason", every_reason(), ids=lambda reason: reason.code)
def test_reason_is_documented(reason: Reason) -> None:
    """Every code stands on a page, in the form `Code`."""
    assert f"`{reason.code}`" in DOCS
    assert reason.code[0].isupper()
    assert reason.code.isalnum()
    assert reason.level in ("fleet", "queue", "tier", "node", "disk")
