"""Deciding is pure: no clock, no socket, no global randomness, no logging in the packages that decide."""

import ast
from pathlib import Path

import pytest

import fairlead

SOURCE = Path(fairlead.__file__).parent
PURE = ("model", "kernel", "levels", "engine")
FORBIDDEN = {
    "asyncio", "logging", "time", "random", "os", "socket", "http", "urllib", "ssl", "threading", "multiprocessing",
    "subprocess", "secrets", "uuid", "tempfile", "pathlib", "io", "sys",
}  # fmt: skip
FORBIDDEN_CALLS = {"open", "print", "input", "eval", "exec", "hash", "id"}
"""`hash` of a text differs from run to run, `id` from machine to machine. Within `__hash__` it serves tables only."""
CLOCKS = {"now", "utcnow", "today"}
LONGEST = 400


def modules(*packages: str) -> list[Path]:
    """The source files of the packages."""
    return sorted(path for package in packages for path in (SOURCE / package).rglob("*.py"))


def name_of(path: Path) -> str:
    """A readable test id."""
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", modules(*PURE), ids=name_of)
def test_pure_module_reaches_for_nothing_outside(path: Path) -> None:
    """Imports and calls that would make a decision depend on the machine or the moment are not there."""
    found = []
    tree = ast.parse(path.read_text())
    tables = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "__hash__"]
    for node in set(ast.walk(tree)) - {each for function in tables for each in ast.walk(function)}:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in FORBIDDEN]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in FORBIDDEN:
            found.append(node.module)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
            found.append(f"{node.func.id}()")
        elif isinstance(node, ast.Attribute) and (node.attr in CLOCKS or ast.unparse(node).endswith(".random")):
            found.append(ast.unparse(node))
    assert found == []


@pytest.mark.parametrize("path", modules("."), ids=name_of)
def test_module_is_short_and_says_what_it_is(path: Path) -> None:
    """No module passes 400 lines, and each opens with a docstring."""
    text = path.read_text()
    assert text.count("\n") <= LONGEST
    assert ast.get_docstring(ast.parse(text))


def test_no_module_is_named_after_nothing() -> None:
    """`utils`, `helpers`, `common` and `misc` say nothing about what belongs in them."""
    assert {path.stem for path in modules(".")} & {"utils", "util", "helpers", "helper", "common", "misc"} == set()
