"""A bar on standard error while something takes long: only on a terminal, not before half a second, gone when done."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from fairlead.model.progress import OnProgress, no_progress

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE_S = 0.5
"""What is done sooner needs no bar."""


@contextmanager
def progress() -> Iterator[OnProgress]:
    """A function that takes how far things are; it draws on a terminal only."""
    if not sys.stderr.isatty():
        yield no_progress
        return
    bar = _Bar()
    try:
        yield bar.update
    finally:
        bar.stop()


class _Bar:
    """One line that is drawn over and over; what takes long is drawn by rich's own thread."""

    def __init__(self) -> None:
        self._start = monotonic()
        self._drawn: tuple[Progress, TaskID] | None = None

    def update(self, what: str, done: int, of: int | None) -> None:
        """Draw, once it is worth it. A single step of unknown length is worth it at once: nothing may follow soon."""
        if self._drawn is not None:
            bar, task = self._drawn
            bar.update(task, description=what, completed=done, total=of)
        elif of is None or monotonic() - self._start >= PATIENCE_S:
            self._drawn = _begun(what, done, of)

    def stop(self) -> None:
        """Leave nothing behind."""
        if self._drawn is not None:
            self._drawn[0].stop()


def _begun(what: str, done: int, of: int | None) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(what, completed=done, total=of)
    bar.start()
    return bar, task
