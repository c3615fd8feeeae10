"""What every answer of the Python interface can do."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

    from fairlead.pictures.html.parts import Html

T = TypeVar("T")


class Answer:
    """An answer: attributes to read, `to_dict()` for the JSON of the command line, text and HTML to look at.

    Printed it is the table of the command line; in a notebook it shows itself as tables and pictures.
    """

    def __init__(
        self, record: dict[str, Any], picture: "Callable[[Console], None]", html: "Callable[[], Html]"
    ) -> None:
        self._record = record
        self._picture = picture
        self._html = html

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain JSON values, equal to what the command line prints with `-o json`; a copy of your own."""
        copied: dict[str, Any] = json.loads(json.dumps(self._record))
        return copied

    def __str__(self) -> str:
        from fairlead.pictures.screen import text

        return text(self._picture)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self._html()

    def _value(self, key: str, default: T) -> T:
        """A part of the record, `default` where the answer does not have it."""
        value: T = self._record.get(key, default)
        return value
