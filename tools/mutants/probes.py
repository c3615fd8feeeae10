"""Probes: which tests come to a change, and see it make a difference, found in one run of all tests.

Each changed expression of a copy says when it is evaluated; where it is one sign between two operands, both results
are formed, and it says so only where they differ. A test to which no change says anything cannot notice that change.
Probes stay on the line of their expression, and each test that starts processes hears of those too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tools.mutants.changes import Change

MODULE = "fairlead_mutants_probes"
"""The module beside the package in the copy, which the probes call."""
HITS = f"src/{MODULE}.txt"
"""The file in the copy that the probes add to, a line for each change and test."""


def place(tree: Path, changes: Sequence[Change]) -> None:
    """Puts the probes of these changes into a copy; what runs at import gets none."""
    there: dict[str, list[tuple[int, Change]]] = {}
    for number, change in enumerate(changes):
        if not change.at_import:
            there.setdefault(change.path, []).append((number, change))
    for path, numbered in there.items():
        (tree / path).write_bytes(probed((tree / path).read_bytes(), numbered))
    source = Path(__file__).with_name("hits.py").read_bytes()
    (tree / "src" / f"{MODULE}.py").write_bytes(source)


def probed(source: bytes, numbered: Sequence[tuple[int, Change]]) -> bytes:
    """The source in which each of these changes says when it matters."""
    made, at = b"", 0
    first = {change.start: number for number, change in reversed(numbered)}
    parts = [part for number, change in numbered for part in _parts(number, change, first[change.start] == number)]
    for part in sorted(parts):
        made += source[at : part.start] + part.text.encode()
        at = part.end
    return made + source[at:]


class _Part(NamedTuple):
    """A text in place of some bytes. At one place ends come before beginnings, the inner end first, the outer start."""

    start: int
    step: int
    order: tuple[int, int, int]
    end: int
    text: str


def _parts(number: int, change: Change, first: bool) -> Iterator[_Part]:
    """Of several changes of one sign the first looks at operands, inside the others."""
    start, end = change.around
    call = f'__import__("{MODULE}")'
    operands = change.two and first
    if operands:
        yield _Part(change.start, 1, (0, 0, 0), change.end, "), (")
        opening, closing = f'{call}.differing({number}, "{change.old}", "{change.new}", (', "))"
    else:
        opening, closing = f"({call}.hit({number}), (", "))[1]"
    yield _Part(start, 2, (-end, operands, number), start, opening)
    yield _Part(end, 0, (-start, not operands, -number), end, closing)
