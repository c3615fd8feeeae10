"""How far something long has come: told by whoever does it, drawn by whoever wants to know."""

from collections.abc import Callable

OnProgress = Callable[[str, int, int | None], None]
"""What is being done, how much of it is done, and of how much; None where that is not known."""


def no_progress(what: str, done: int, of: int | None) -> None:
    """Progress is not followed."""
