"""Standard output on a terminal that is not Unicode: what it does not have is drawn with signs of ASCII."""

import codecs
import sys
from typing import Any

from fairlead.cli.main import is_unicode

SIGNS = {
    "█": "#", "▓": "+", "▒": "=", "░": "-", "·": ".", "×": "x", "→": "->", "–": "-", "—": "-", "…": "...", "∞": "inf",
    "≥": ">=", "≤": "<=", "−": "-", "’": "'", "└": "`", "├": "|", "─": "-", "│": "|", "━": "-",
}  # fmt: skip
NAME = "fairlead_ascii"
"""Of the way to draw, and of ASCII itself: click takes a stream of the name `ascii` for a mistake, and writes UTF-8."""


def _drawn(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(SIGNS.get(each, "?") for each in error.object[error.start : error.end]), error.end


def _search(name: str) -> codecs.CodecInfo | None:
    if name != NAME:
        return None
    plain = codecs.lookup("ascii")
    return codecs.CodecInfo(
        name=NAME, encode=plain.encode, decode=plain.decode, incrementalencoder=plain.incrementalencoder
    )


def draw_with_ascii() -> None:
    """Give the standard streams that are not Unicode a way to write whatever their encoding lacks."""
    codecs.register(_search)
    codecs.register_error(NAME, _drawn)
    for stream in (sys.stdout, sys.stderr):
        written: Any = stream
        if not is_unicode(written):
            plain = codecs.lookup(written.encoding).name == "ascii"
            written.reconfigure(encoding=NAME if plain else written.encoding, errors=NAME)
