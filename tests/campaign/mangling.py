"""Inputs nobody meant to write: values in the wrong place, numbers at the edges, texts cut and spliced."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

EDGES: tuple[Any, ...] = (
    *(None, 0, -1, 1.5, True, "", "x", "٢", [], {}, [None], {"a": None}, "9" * 400),
    *(2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 10**30, 1e308, -0.0, 5e-324),
    *(
        "5Ei",
        "1e99",
        "-1",
        "0.0000000001",
        "NaN",
        "1_000",
        "100%",
        " 1",
        "true",
        "2026-01-01T00:00:00Z",
        "\u202e💥",
        "a\x00b",
    ),
)
"""Values of every type at their limits, and texts that only look like what is asked for."""
SPLICES = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\n---\n",
    b"\r\n\r\n",
    b"{",
    b"]",
    b'"',
    b"&a *a",
    b"!!python/object:x",
    b"\xe2\x80\xae",
    b"9" * 50,
)
"""Bytes put into the middle of a text."""


def mangled(value: Any, chance: Random, often: float = 0.04) -> Any:
    """The value with some of it replaced by an edge, removed, repeated or nested."""
    if chance.random() < often:
        return chance.choice(EDGES)
    if isinstance(value, dict):
        kept = {key: mangled(each, chance, often) for key, each in value.items() if chance.random() > often / 2}
        if chance.random() < often / 4:
            kept[chance.choice(("name", "x", "", "spec"))] = chance.choice(EDGES)
        return kept
    if isinstance(value, list):
        return [mangled(each, chance, often) for each in value] * chance.choice((1,) * 12 + (0, 2, 3))
    return value


def spliced(text: bytes, chance: Random) -> bytes:
    """The text cut off, or with bytes flipped, dropped, repeated or put in."""
    at = chance.randrange(len(text) + 1)
    kind = chance.randrange(5)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[:at] + chance.choice(SPLICES) + text[at:]
    if kind == 2:
        return text[:at] + text[at + chance.randrange(1, 20) :]
    if kind == 3:
        return text[:at] + bytes([chance.randrange(256)]) + text[at + 1 :]
    return text[:at] + text[max(at - 30, 0) :]


def fuzzed(chance: Random, seeds: Sequence[Any]) -> bytes:
    """One input made of one of the seeds, as JSON."""
    text = json.dumps(mangled(chance.choice(seeds), chance)).encode()
    return spliced(text, chance) if chance.random() < 0.15 else text
