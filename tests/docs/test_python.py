"""The examples of docs/python.md run and print what the page says; the notebook's stored outputs are current."""

import doctest
import json
import re
from pathlib import Path

import pytest

from tools import notebook

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "python.md"
FENCE = re.compile(r"^```pycon\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_examples_of_the_page_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one session, from the root of the repository."""
    monkeypatch.chdir(ROOT)
    blocks = FENCE.findall(PAGE.read_text())
    assert len(blocks) > 5
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(session, out=said.append)
    assert outcome.failed == 0, "".join(said)


def test_notebook_is_stored_as_it_runs() -> None:
    """Every cell executes, and what is stored is what it shows."""
    path = ROOT / "examples" / "python" / "tour.ipynb"
    stored = path.read_text()
    assert notebook.text_of(notebook.executed(json.loads(stored))) == stored, "run: make notebook"
