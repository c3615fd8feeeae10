"""Which files import a module: what runs at import is seen only through it and through them."""

import re
from functools import cache
from pathlib import Path


@cache
def importers(root: Path, path: str) -> frozenset[str]:
    """Modules and test files that import this module, or a package that hands on its names."""
    found: set[str] = set()
    todo = [path]
    while todo:
        here = todo.pop()
        new = {name for name, text in _texts(root).items() if _imports(text, _module(here))} - found
        found |= new
        todo += [name for name in new if name.endswith("__init__.py")]
    return frozenset(found)


@cache
def _texts(root: Path) -> dict[str, str]:
    files = [*(root / "src").rglob("*.py"), *(root / "tests").rglob("*.py")]
    return {file.relative_to(root).as_posix(): file.read_text(encoding="utf-8") for file in files}


def _module(path: str) -> str:
    """`src/fairlead/a/b.py` is `fairlead.a.b`, and a package goes by its folder."""
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(text: str, module: str) -> bool:
    package, _, name = module.rpartition(".")
    whole = rf"(?:from|import) {re.escape(module)}\b(?!\.)"
    part = rf"from {re.escape(package)} import (?:\([^)]*|[^\n]*)\b{re.escape(name)}\b"
    return re.search(f"{whole}|{part}", text) is not None
