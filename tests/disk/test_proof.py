"""Full sizes, run by `make proof`: speeds and a long life, written down with their date."""

from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from bench.disk import run
from bench.measure import Report
from tools.storage_life import live, table_text

PAGES = Path(__file__).parents[2] / "docs" / "proof"


@pytest.mark.proof
def test_full_sizes_are_written_down() -> None:
    """Speeds of `bench disk`, and three lives of 3,000 events in which balance leaves disks and nodes most even."""
    lives = [live(3000, 12, seed) for seed in (1, 2, 3)]
    for worlds in lives:
        disks = {world.rule: sum(world.disks) for world in worlds}
        nodes = {world.rule: sum(world.nodes) for world in worlds}
        assert disks["balance"] == min(disks.values())
        assert nodes["balance"] < nodes["most-free"]
    stream = StringIO()
    run(Report(stream))
    today = datetime.now(UTC).strftime("%Y-%m-%d")
    PAGES.mkdir(exist_ok=True)
    text = f"# Disk level, full sizes, {today}\n\n{table_text(lives)}\n\n```text\n{stream.getvalue().strip()}\n```\n"
    (PAGES / f"disk-{today}.md").write_text(text, encoding="utf-8")
    assert "100,000" in text
