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
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    # Several lines that each open an object are JSON lines; otherwise it is one document with a mistake in it.
    if len(lines) < 2 or not all(line.lstrip().startswith("{") for _, line in lines):
        yield InputError(source, f"is not valid JSON: {whole}")
        return
    for number, line in lines:
        try:
            yield Document(f"{source}:{number}", _loads(line))
        except ValueError as error:
            yield InputError(f"{source}:{number}", f"is not valid JSON: {error}")


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
