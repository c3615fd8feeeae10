"""A text to its documents: one JSON value, JSON lines or YAML; each value strict, each error with its place."""

import json
import sys
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from fairlead.dataclass import dataclass
from fairlead.model.errors import InputError
from fairlead.text.mistakes import UNREADABLE, exact, words

T = TypeVar("T")

MOST_BYTES = 512 * 2**20
"""Larger inputs are refused before they are parsed: a parsed document takes several times its size."""


def standard_input() -> bytes:
    """What stands on standard input; `InputError` where it is closed."""
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("standard input", "is closed; expected JSON or YAML")
    return sys.stdin.buffer.read()


@dataclass(frozen=True, slots=True)
class Document:
    """One value as it came, and where it began (for messages)."""

    place: str
    value: Any


def documents(raw: bytes, source: str) -> Iterator[Document | InputError]:
    """The documents in `raw`: one JSON value, one JSON value a line, or YAML documents.

    A line that is not JSON yields an error of its own and the other lines go on; text that cannot be read at all
    yields one error.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield InputError(source, f"byte {error.start} is not UTF-8 text; expected JSON or YAML")
        return
    if len(raw) > MOST_BYTES:
        yield InputError(source, f"{len(raw)} bytes; expected at most {MOST_BYTES}")
    elif "\0" in text:
        yield InputError(source, "a NUL byte: this is a binary file; expected JSON or YAML")
    elif not text.strip():
        yield InputError(source, "is empty; expected JSON or YAML")
    elif _is_json(text):
        yield from _json(text, source)
    elif _follows_words(text):
        yield from _each(_lines(text), source)
    else:
        yield from _yaml(text, source)


def _is_json(text: str) -> bool:
    """Whether the text opens as JSON does. Flow YAML opens with a bracket too, but its first word has no quotes."""
    first = text.lstrip()
    return first[0] in "{[" and first.lstrip("{[ \t\r\n")[:1] in ("", *'"]}-0123456789tfnNI,:')


def _json(text: str, source: str) -> Iterator[Document | InputError]:
    try:
        yield Document(source, _loads(text))
        return
    except ValueError as error:
        whole = error
    lines = _lines(text)
    # Lines below a whole object, or that all open one, are JSON lines; otherwise it is one document with a mistake.
    if len(lines) < 2 or not (all(line.startswith("{") for _, line in lines[1:]) or _is_object(lines[0][1])):
        yield InputError(source, f"is not valid JSON: {whole}")
        return
    yield from _each(lines, source)


def _each(lines: list[tuple[int, str]], source: str) -> Iterator[Document | InputError]:
    for number, line in lines:
        try:
            yield Document(f"{source}:{number}", _loads(line))
        except ValueError as error:
            yield InputError(f"{source}:{number}", f"is not valid JSON: {error}")


def _lines(text: str) -> list[tuple[int, str]]:
    """The lines that are not blank, with their numbers; Unicode's other ends of lines may stand inside a JSON text."""
    return [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _follows_words(text: str) -> bool:
    """Whether all lines but the first open a JSON object, and the first is no comment, mark or directive of YAML."""
    if '\n{"' not in text or text.lstrip()[0] in "#%-":
        return False
    return all(line.startswith('{"') for _, line in _lines(text)[1:])


def _is_object(line: str) -> bool:
    try:
        return isinstance(_loads(line), dict)
    except ValueError:
        return False


def _loads(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice in one object")
    return result


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _yaml(text: str, source: str) -> Iterator[Document | InputError]:
    from fairlead.text.yaml import load_all  # slow to import, and most problems are JSON

    try:
        for line, value in load_all(text, source):
            yield Document(f"{source}:{line}", value)
    except InputError as error:
        yield error


def strict(value: Any, kind: type[T]) -> T:
    """The value as `kind`; unknown fields and wrong types are bad input, told with the JSON path."""
    try:
        return msgspec.convert(value, kind)
    except UNREADABLE as error:
        message, path = words(error, kind)
        raise InputError(exact(path, error, value, kind), message) from None
