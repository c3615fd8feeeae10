"""The walks of ARCHITECTURE.md are those of the code: every hop exists, and is reached from where the page says."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import fairlead

SOURCE = Path(fairlead.__file__).parent
PAGE = SOURCE.parent.parent / "ARCHITECTURE.md"
HOP = re.compile(r"^(\d+)\. `([\w/]+)\.([\w.]+)`(?: \(from (\d+)\))?(?: \(wired in `([\w/]+)`\))?")
MOST = 14


@dataclass(frozen=True)
class Hop:
    """One line of a walk. `origin` is the hop that calls it, `wired` the module that hands it on as a callback."""

    number: int
    module: str
    function: str
    origin: int
    wired: str


def walks(text: str) -> dict[str, list[Hop]]:
    """The walks by their headings."""
    part = text.partition("\n## The walks\n")[2].partition("\n## ")[0]
    return {each.partition("\n")[0]: list(_hops(each)) for each in part.split("\n### ")[1:]}


def _hops(text: str) -> Iterator[Hop]:
    for line in text.splitlines():
        if line[:1].isdigit():
            found = HOP.match(line)
            assert found, f"not a hop: {line}"
            number, module, function, origin, wired = found.groups()
            yield Hop(int(number), module, function, int(origin or int(number) - 1), wired or "")


@cache
def tree(module: str) -> ast.Module:
    """A module as the parser sees it."""
    return ast.parse((SOURCE / f"{module}.py").read_text())


def body(hop: Hop) -> ast.AST:
    """The definition of a hop; KeyError where there is none."""
    found: ast.AST = tree(hop.module)
    for name in hop.function.split("."):
        known = {
            each.name: each
            for each in getattr(found, "body", ())
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        found = known[name]
    return found


def names(found: ast.AST) -> set[str]:
    """Every name and attribute that is used in it."""
    nodes = list(ast.walk(found))
    return {each.id for each in nodes if isinstance(each, ast.Name)} | {
        each.attr for each in nodes if isinstance(each, ast.Attribute)
    }


def broken(hops: list[Hop]) -> list[str]:
    """The hops that do not exist or are not reached as the page says."""
    wrong = []
    for place, hop in enumerate(hops, start=1):
        try:
            body(hop)
            before = tree(hop.wired) if hop.wired else body(hops[hop.origin - 1]) if hop.origin else None
        except (KeyError, FileNotFoundError, IndexError):
            wrong.append(f"{hop.number}: not there")
            continue
        if hop.number != place or hop.origin >= hop.number:
            wrong.append(f"{hop.number}: out of order")
        elif before is not None and hop.function.rpartition(".")[2] not in names(before):
            wrong.append(f"{hop.number}: not named by {hop.wired or hop.origin}")
    return wrong


WALKS = walks(PAGE.read_text())


def test_the_four_walks_are_told() -> None:
    """A newcomer finds each of them on the page."""
    assert {"A plan", "A pod", "An admission", "A binding"} <= WALKS.keys()


@pytest.mark.parametrize("name", WALKS)
def test_walk_is_that_of_the_code_and_short(name: str) -> None:
    """Fewer than fifteen hops, and every one of them as the page says."""
    assert broken(WALKS[name]) == []
    assert 3 <= len(WALKS[name]) <= MOST


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("2. `live/scheduler/cycle.Cycle._place`", []),
        ("2. `live/scheduler/cycle.Cycle.walk`", ["2: not there"]),
        ("2. `live/scheduler/walk.Cycle`", ["2: not there"]),
        ("2. `live/scheduler/decide.decide`", ["2: not named by 1"]),
        ("2. `live/scheduler/decide.decide` (wired in `live/scheduler/cycle`)", []),
        (
            "2. `live/scheduler/decide.decide` (wired in `live/scheduler/binder`)",
            ["2: not named by live/scheduler/binder"],
        ),
        ("2. `live/scheduler/decide.decide` (from 2)", ["2: out of order"]),
        ("3. `live/scheduler/cycle.Cycle._place` (from 1)", ["3: out of order"]),
    ],
)
def test_walk_that_is_wrong_is_found(line: str, want: list[str]) -> None:
    """A hop that is gone, in another place, or not called from there."""
    first = "1. `live/scheduler/cycle.Cycle.run`"
    assert broken(walks(f"\n## The walks\n\n### A test\n{first}\n{line}\n")["A test"]) == want
