"""What `bench.volcano --prove` writes is a page of its own: what people wrote about it stays."""

import sys
import time
from pathlib import Path

import pytest
from bench import volcano


def test_proving_leaves_the_page_that_people_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of the day is written beside it."""
    day = time.strftime("%Y-%m-%d")
    written = tmp_path / f"{day}-volcano-gangs.md"
    written.write_text("by hand")
    monkeypatch.setattr(volcano, "PROOF", tmp_path)
    monkeypatch.setattr(volcano, "run", lambda report: report.line("a table"))
    monkeypatch.setattr(sys, "argv", ["bench.volcano", "--prove"])
    volcano.main()
    assert written.read_text() == "by hand"
    (table,) = set(tmp_path.iterdir()) - {written}
    assert "a table" in table.read_text()
