"""Standard output on a terminal that knows ASCII only: what is drawn is drawn with the signs that it has."""

import codecs
import sys
from typing import Any

SIGNS = str.maketrans({
    "█": "#", "▓": "+", "▒": "=", "░": "-", "·": ".", "×": "x", "→": "->", "–": "-", "—": "-", "…": "...", "∞": "inf",
    "≥": ">=", "≤": "<=", "−": "-", "’": "'", "└": "`", "├": "|", "─": "-", "│": "|", "━": "-",
})  # fmt: skip
NAME = "fairlead_ascii"


class _Encoder(codecs.IncrementalEncoder):
    def encode(self, text: str, final: bool = False) -> bytes:
        return text.translate(SIGNS).encode("ascii", "replace")


def _search(name: str) -> codecs.CodecInfo | None:
    if name != NAME:
        return None
    plain = codecs.lookup("ascii")

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        return _Encoder().encode(text), len(text)

    return codecs.CodecInfo(name=NAME, encode=encode, decode=plain.decode, incrementalencoder=_Encoder)


def draw_with_ascii() -> None:
    """Give both standard streams an encoding that never fails, where theirs is ASCII."""
    codecs.register(_search)
    for stream in (sys.stdout, sys.stderr):
        written: Any = stream
        encoding = getattr(written, "encoding", None)
        if encoding is not None and codecs.lookup(encoding).name == "ascii":
            written.reconfigure(encoding=NAME)
