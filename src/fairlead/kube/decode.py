"""Bytes of an answer into typed shapes, or our own error.

A null counts as absent, as it does in Go, where an empty list may come as `null`: the fast path decodes straight
into the shape; only where that fails are nulls taken out and the rest decoded again.
"""

import re
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from fairlead.kube.errors import AnswerError
from fairlead.text.mistakes import UNREADABLE, mistake, words

T = TypeVar("T")

DEEPEST = 200
"""Levels of nesting that are read; no field of any shape lies a tenth as deep."""
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


@cache
def decoder(shape: Any) -> msgspec.json.Decoder[Any]:
    """One decoder per shape for the life of the process."""
    return msgspec.json.Decoder(shape)


def decode(body: bytes, shape: type[T], what: str) -> T:
    """`body` as `shape`; `what` names the request in the error."""
    try:
        return cast(T, decoder(cast(Any, shape)).decode(body))
    except msgspec.ValidationError as error:
        return _without_nulls(body, shape, what, error)
    except RecursionError as error:
        flat = shallow(body)
        if flat == body:
            raise AnswerError(f"{what}: the answer is nested too deeply") from error
        return decode(flat, shape, what)
    except UNREADABLE as error:
        raise AnswerError(f"{what}: the answer is not JSON: {words(error)[0]}") from error


def convert(raw: Any, shape: type[T], what: str) -> T:
    """An already parsed value as `shape`, nulls counting as absent."""
    try:
        return msgspec.convert(drop_nulls(raw), shape)
    except UNREADABLE as error:
        raise AnswerError(f"{what}: unexpected answer: {mistake(error)}") from error


def why(error: AnswerError) -> str:
    """What is wrong with an answer, without the request that it answers."""
    cause = error.__cause__
    return str(mistake(cause) if isinstance(cause, UNREADABLE) else error)


def shallow(body: bytes) -> bytes:
    """The same JSON with everything nested deeper than DEEPEST put as null.

    The API server takes objects ten times as deep as can be decoded here. One of them must not keep a whole list from
    being read, and nothing that is read lies that deep.
    """
    parts: list[bytes] = []
    depth = start = 0
    for token in _TOKENS.finditer(body):
        sign = token[0][:1]
        if sign in b"{[":
            depth += 1
            if depth == DEEPEST + 1:
                parts.append(body[start : token.start()])
        elif sign in b"}]":
            if depth == DEEPEST + 1:
                parts.append(b"null")
                start = token.end()
            depth -= 1
    return b"".join([*parts, body[start:]])


def drop_nulls(value: Any) -> Any:
    """The same value without object members that are null."""
    if isinstance(value, dict):
        return {key: drop_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [drop_nulls(inner) for inner in value]
    return value


def _without_nulls(body: bytes, shape: type[T], what: str, first: msgspec.ValidationError) -> T:
    try:
        return msgspec.convert(drop_nulls(msgspec.json.decode(body)), shape)
    except UNREADABLE:
        raise AnswerError(f"{what}: unexpected answer: {mistake(first)}") from first
