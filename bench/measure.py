"""Timing: the least of several repeats, contestants in turn, so that a busy machine disturbs all of them alike."""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import TextIO

Call = Callable[[], object]
Clock = Callable[[], float]

WALL: Clock = perf_counter
"""What a user waits."""
CPU: Clock = process_time
"""What one core works; other programs on the machine do not count. For code that neither waits nor runs threads."""


def best(call: Call, *, repeats: int = 5, budget_s: float = 3.0, clock: Clock = WALL) -> float:
    """Seconds of the fastest of `repeats` calls; fewer repeats once `budget_s` is spent, but at least one."""
    return side_by_side({"": call}, repeats=repeats, budget_s=budget_s, clock=clock)[""]


def side_by_side(
    calls: Mapping[str, Call], *, repeats: int = 5, budget_s: float = 3.0, clock: Clock = WALL
) -> dict[str, float]:
    """Seconds of the fastest call of each contestant. They take turns; each has a budget of `budget_s`."""
    least = dict.fromkeys(calls, float("inf"))
    spent = dict.fromkeys(calls, 0.0)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            for name, call in calls.items():
                if spent[name] > budget_s:
                    continue
                start = clock()
                call()
                took = clock() - start
                least[name] = min(least[name], took)
                spent[name] += took
    finally:
        if collecting:
            gc.enable()
    return least


@dataclass(frozen=True, slots=True)
class Report:
    """Where a group writes its lines and tables."""

    stream: TextIO

    def line(self, text: str = "") -> None:
        """One line, at once."""
        print(text, file=self.stream, flush=True)

    def table(self, title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A title and columns aligned to the right."""
        widths = [max(map(len, column)) for column in zip(headers, *rows, strict=True)]
        self.line()
        self.line(title)
        for cells in (headers, *rows):
            self.line("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))


def milliseconds(seconds: float) -> str:
    """Three digits are enough."""
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds * 1e3:.0f} ms"


def ratio(slow: float, fast: float) -> str:
    """How many times longer."""
    return f"{slow / fast:.2g}×" if slow < 10 * fast else f"{slow / fast:.0f}×"
