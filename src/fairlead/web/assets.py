"""The built page: files that `make page` puts beside this module, and that the wheel carries."""

from html import escape
from pathlib import Path

from fairlead.model.errors import InputError

FOLDER = Path(__file__).parent / "static"
SCRIPT, STYLE = "app.js", "app.css"
MISSING = "the page is not built; run `make page` (it needs Node.js 20 or newer and npm), or install a released wheel"


def asset(name: str) -> str:
    """The text of one built file. Raises InputError that says what to do where the page is not built."""
    try:
        return (FOLDER / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError("", MISSING) from None


def index() -> str:
    """The page itself. Every address in it is relative, so that it works behind any proxy path."""
    return document(f'<link rel="stylesheet" href="{STYLE}">', f'<script src="{SCRIPT}" defer></script>')


def document(style: str, script: str, title: str = "Fairlead") -> str:
    """A whole page; `style` and `script` are elements, `title` is plain text."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark"><title>{escape(title)}</title>'
        f'<link rel="icon" href="data:,">{style}</head>'
        '<body><div id="page"><noscript>This page needs JavaScript; the same records are at plan.json and the like.'
        f"</noscript></div>{script}</body></html>\n"
    )
