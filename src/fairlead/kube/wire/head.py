"""The head of an answer: its status line and headers, read strictly, and what they say about the body."""

import re
from functools import lru_cache
from typing import NamedTuple

MOST_HEAD = 2**16

_STATUS = re.compile(r"HTTP/1\.([01]) (\d{3})(?: |$)").match
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_AUDIT = re.compile(r"\r\nAudit-Id: [0-9a-f-]{36}\r\n").sub
_LENGTH = re.compile(r"\d{1,18}").fullmatch
_BODILESS = (204, 304)


class Head(NamedTuple):
    """`length` is that of the body: None where it comes in chunks or ends with the connection."""

    status: int
    headers: dict[str, str]
    chunked: bool
    length: int | None
    kept: bool
    """Whether the connection may be used again after the answer."""


def read_head(text: str) -> Head | None:
    """The head, without the empty line after it; None for one that only says that another follows (1xx).

    Its audit id, which nobody reads, is left out: then the heads of one second are alike, and read once.
    """
    return _read(_AUDIT("\r\n", text, 1))


@lru_cache(maxsize=64)
def _read(text: str) -> Head | None:
    first, *lines = text.split("\r\n")
    found = _STATUS(first)
    if found is None:
        raise ValueError(f"no answer of HTTP/1.1 begins with {first[:40]!r}")
    status = int(found[2])
    if 100 <= status < 200:
        return None
    headers = _headers(lines)
    chunked, length = _framing(status, headers)
    ends = not chunked and length is None
    # Both would let two readers see two different bodies (RFC 9112, 6.3): the answer is read, the connection is not.
    twofold = chunked and "content-length" in headers
    closes = "connection" in headers and "close" in _tokens(headers["connection"])
    kept = found[1] == "1" and not (ends or twofold or closes)
    return Head(status, headers, chunked, length, kept)


def _headers(lines: list[str]) -> dict[str, str]:
    """By lower-case name; several of one name are one list, as HTTP has it."""
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        key, value = _key(name), value.strip(" \t")
        if not colon or not key:
            raise ValueError(f"no header is written as {line[:40]!r}")
        headers[key] = f"{headers[key]}, {value}" if key in headers else value
    return headers


@lru_cache(maxsize=256)
def _key(name: str) -> str:
    """The name in lower case, empty where it is none. Servers send the same ones again and again."""
    return name.lower() if _NAME(name) else ""


def _framing(status: int, headers: dict[str, str]) -> tuple[bool, int | None]:
    """Whether the body comes in chunks, and its length where that is known."""
    if status in _BODILESS:
        return False, 0
    coding = headers.get("transfer-encoding", "")
    if coding:
        if coding.lower() != "chunked":
            raise ValueError(f"the answer is transferred as {coding!r}")
        return True, None
    return False, _length(headers["content-length"]) if "content-length" in headers else None


def _length(text: str) -> int:
    """Proxies may repeat the header, but the values have to be the same."""
    if _LENGTH(text):
        return int(text)
    lengths = {each.strip(" \t") for each in text.split(",")}
    length = lengths.pop()
    if lengths or not _LENGTH(length):
        raise ValueError(f"the answer's length is {text!r}")
    return int(length)


def _tokens(text: str) -> list[str]:
    return [each.strip(" \t").lower() for each in text.split(",")]
