"""Lengths of time as whole milliseconds, and back."""

import re

from fairlead.model.errors import InputError

Span = str | int | float
"""What a user may write: `90`, `"90s"`, `"1.5h"`; a number is seconds."""

SECOND = 1000
_UNITS = {"ms": 1, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86400 * SECOND}
_TEXT = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?(ms|s|m|h|d)?")
MOST_MS = 400 * _UNITS["d"]


def milliseconds(value: Span, path: str) -> int:
    """The span in milliseconds, rounded down; `path` names the place in errors."""
    match = None if isinstance(value, bool) else _TEXT.fullmatch(str(value))
    if match is None:
        raise InputError(path, f'{value!r} is not a length of time; expected one such as 90, "90s", "5m" or "1.5h"')
    whole, part, unit = match[1], match[2] or "", match[3] or "s"
    result: int = int(whole + part) * _UNITS[unit] // 10 ** len(part)
    if result > MOST_MS:
        raise InputError(path, f"{value!r} is too long; expected at most {MOST_MS // _UNITS['d']}d")
    return result


def span_text(value_ms: float) -> str:
    """As a person says it: `0s`, `45s`, `12m 30s`, `3h 05m`."""
    seconds = round(value_ms / SECOND)
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02d}s"
    return f"{seconds // 3600}h {seconds % 3600 // 60:02d}m"
