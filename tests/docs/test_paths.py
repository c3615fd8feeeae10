"""Modules, tests and folders that pages name are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "proof")]
"""Pages under docs/proof tell of a state that was, with the names of then."""
PACKAGES = (each.name for each in (ROOT / "src" / "fairlead").iterdir() if (each / "__init__.py").exists())
FOLDERS = "|".join(("tests", "tools", "bench", *PACKAGES))
NAMED = re.compile(rf"`((?:{FOLDERS})/[\w/.-]+)`")


def there(path: str) -> bool:
    """Whether a path from the root or from the package leads to a file; `folder/module.function` to its module."""
    roots = (ROOT, ROOT / "src", ROOT / "src" / "fairlead")
    parts = path.rstrip("/").split(".")
    names = [path, *(".".join(parts[:count]) + ".py" for count in range(1, len(parts) + 1))]
    return any((root / name).exists() for root in roots for name in names)


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: str(page.relative_to(ROOT)))
def test_paths_that_a_page_names_exist(page: Path) -> None:
    """A reader who follows one finds it."""
    assert [path for path in NAMED.findall(page.read_text()) if not there(path)] == []


def test_paths_are_looked_up() -> None:
    """From the root, from the package, and to the module of a function; what is not there is told."""
    assert all(map(there, ("tests/docs", "engine/plan.py", "engine/plan.plan", "live/runtime/aside.Aside")))
    assert not there("tests/kube/test_sites.py")
    assert NAMED.findall("`engine/plan.plan` and `web` and `tests/x.py`") == ["engine/plan.plan", "tests/x.py"]
