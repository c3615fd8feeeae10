"""The site's pages: links stay inside, every page is in the navigation, nothing comes from elsewhere."""

import re
from pathlib import Path
from typing import Any

import pytest
from tools.site.__main__ import configuration
from tools.site.stage import FENCE, stage

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as the site has them."""
    out = tmp_path_factory.mktemp("site") / "pages"
    stage(ROOT, out)
    return out


def listed(entry: Any) -> list[str]:
    """The pages that a part of the navigation names."""
    if isinstance(entry, str):
        return [entry]
    return [page for each in (entry.values() if isinstance(entry, dict) else entry) for page in listed(each)]


def test_links_stay_inside(staged: Path) -> None:
    """Whatever a page links to is a page of the site, or an address elsewhere."""
    for page in staged.rglob("*.md"):
        for target in re.findall(r"\]\(([^)\s#]+)", FENCE.sub("", page.read_text())):
            if not re.match(r"[a-z]+:", target):
                found = (page.parent / target).resolve()
                assert found.is_relative_to(staged.resolve()), f"{page.name}: {target}"
                assert found.exists(), f"{page.name}: {target}"


def test_every_page_is_in_the_navigation(staged: Path) -> None:
    """A page that nobody can reach is not there."""
    pages = {str(path.relative_to(staged)) for path in staged.rglob("*.md")}
    assert pages == set(listed(configuration(staged)["nav"]))


def test_text_in_fences_is_left_alone(tmp_path: Path) -> None:
    """A transcript is what is printed."""
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).write_text("[a](docs/a.md) [b](src)\n```\n[a](docs/a.md)\n```\n")
    (tmp_path / "docs" / "a.md").write_text("[up](../README.md#top) ![p](p.png)\n")
    stage(tmp_path, tmp_path / "out")
    assert (tmp_path / "out" / "index.md").read_text() == "[a](a.md) b (`src`)\n```\n[a](docs/a.md)\n```\n"
    assert (tmp_path / "out" / "a.md").read_text() == "[up](index.md#top) p (`docs/p.png`)\n"


def test_nothing_comes_from_another_origin(staged: Path) -> None:
    """No font of somebody else's server."""
    theme = configuration(staged)["theme"]
    assert isinstance(theme, dict)
    assert theme["font"] is False
