"""A picture as plain text."""

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 120
"""Characters of a line where no terminal says how many it has."""


def text(picture: "Callable[[Console], None]") -> str:
    """What the picture draws, without colours, as a pipe would get it."""
    from rich.console import Console

    drawn = StringIO()
    picture(Console(file=drawn, highlight=False, width=WIDTH, soft_wrap=True, color_system=None))
    return "\n".join(line.rstrip() for line in drawn.getvalue().splitlines())
