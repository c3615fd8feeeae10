"""Times as the API writes them: RFC 3339 text in UTC."""

from datetime import UTC, datetime
from functools import lru_cache

from fairlead.model.errors import InputError


def micro(seconds: float) -> str:
    """Seconds since 1970 with microseconds, the form of Leases and Events."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def whole(seconds: float) -> str:
    """Seconds since 1970 without a fraction, the form of metadata and conditions."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text: str) -> float:
    """Seconds since 1970 of a time in either form; `InputError` for anything else."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("it names no zone")
        # In UTC it must be a time that can be written again.
        return moment.astimezone(UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise InputError("", f"expected a time such as 2026-01-31T12:00:00Z, got {text[:60]!r}: {error}") from error


@lru_cache(maxsize=4096)
def stored(text: str) -> str:
    """A time as the API server keeps it, in UTC and whole seconds, so that texts are in the order of their times.

    What is no time stays as it is.
    """
    if len(text) == len("2026-01-31T12:00:00Z") and text.endswith("Z"):
        return text
    try:
        moment = datetime.fromtimestamp(seconds(text) // 1, UTC)
    except (InputError, ValueError, OverflowError, OSError):
        return text
    return moment.replace(tzinfo=None).isoformat() + "Z"
