"""docs/reference is what the program says of itself, and links between pages lead somewhere."""

import re
import sys
from pathlib import Path

import click
import pytest
from tools.reference.__main__ import behind
from tools.reference.pages import pages

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_reference_is_current() -> None:
    """Commands, metrics, reasons, annotations and the schema of the configuration."""
    assert not [path.name for path, _ in behind()], "run: make reference"


def test_reference_does_not_depend_on_where_it_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither on the width of the terminal nor on the folder, the language, or what is written meanwhile."""
    here = dict(pages())
    monkeypatch.chdir(tmp_path)
    for name, value in {"COLUMNS": "40", "LANG": "C", "LC_ALL": "C", "TERM": "dumb", "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    talk = click.Command.get_help

    def beside(command: click.Command, context: click.Context) -> str:
        print("a warning of another test", file=sys.stderr)
        return talk(command, context)

    monkeypatch.setattr(click.Command, "get_help", beside)
    assert dict(pages()) == here


def anchors(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """To a file that is there, and to a heading that it has."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), target
