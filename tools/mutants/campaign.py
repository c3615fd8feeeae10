"""A sample of changes against the tests: those that run the changed line, the shortest of them first; then all others.

A test that never runs a changed line, itself or in a process it starts, cannot notice it, unless what the line made is
kept for later (a cached table, a constant). So "all others" are those that run anything in the module, and where the
change runs at import, in its importers too.
"""

import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from pathlib import Path
from queue import SimpleQueue

from tools.mutants import tree
from tools.mutants.changes import Change
from tools.mutants.coverage_map import CoverageMap
from tools.mutants.importers import importers
from tools.mutants.trial import LATE, NOTHING_CHOSEN, Runner

FIRST = 20.0
"""Seconds of tests in the first round; most changes are noticed there."""
SLOWER = 6.0
"""How many times longer than recorded a test may take beside others before it counts as hanging."""
STARTING = 60.0
"""Seconds for starting and collecting, on a busy machine."""


class End(Enum):
    """What became of a change."""

    KILLED = "killed"
    LATE = "killed by time"
    SURVIVED = "survived"


ENDS = {0: End.SURVIVED, NOTHING_CHOSEN: End.SURVIVED, LATE: End.LATE}
"""By exit code; any other is a failed test or a module that cannot be imported."""


@dataclass(frozen=True, slots=True)
class Result:
    """A change, what became of it, and how many tests could have noticed."""

    change: Change
    end: End
    tests: int


@dataclass(slots=True)
class Campaign:
    """Everything that is the same for all changes."""

    root: Path
    known: CoverageMap
    runner: Runner

    def run(self, changes: list[Change], workers: int, tell: Callable[[Result], None]) -> list[Result]:
        """The results in the order of the changes. An interrupt ends every run and removes every copy."""
        with tempfile.TemporaryDirectory(prefix="fairlead-mutants-") as folder:
            copies: SimpleQueue[Path] = SimpleQueue()
            for number in range(workers):
                copies.put(tree.copy(self.root, Path(folder) / str(number)))
            pool = ThreadPoolExecutor(workers)
            try:
                return list(pool.map(lambda change: self._one(copies, change, tell), changes))
            finally:
                self.runner.stop()
                pool.shutdown(cancel_futures=True)

    def _one(self, copies: SimpleQueue[Path], change: Change, tell: Callable[[Result], None]) -> Result:
        copy = copies.get()
        try:
            result = self._judge(copy, change)
        finally:
            copies.put(copy)
        tell(result)
        return result

    def _judge(self, copy: Path, change: Change) -> Result:
        first, rest = self._rounds(change)
        with tree.Mutated(copy, change):
            for tests in (first, rest):
                end = self._round(copy, tests)
                if end is not End.SURVIVED:
                    break
        return Result(change, end, len(first) + len(rest))

    def _round(self, copy: Path, tests: list[str]) -> End:
        if not tests:
            return End.SURVIVED
        seconds = [self.known.seconds[test] for test in tests]
        code = self.runner.chosen(copy, tests, STARTING + SLOWER * max(seconds), STARTING + SLOWER * sum(seconds))
        return ENDS.get(code, End.KILLED)

    def _rounds(self, change: Change) -> tuple[list[str], list[str]]:
        first, last = change.lines
        running = self.known.running(change.path, range(first, last + 1))
        if not running and not change.at_import:
            return [], []
        files = importers(self.root, change.path) if change.at_import else frozenset()
        everything = running.union(*(self.known.beside(file) for file in {change.path, *files}))
        everything |= {test for test in self.known.seconds if test.split("::")[0] in files}
        tests = self._shortest_first(running or self.known.beside(change.path))
        number = sum(total <= FIRST for total in accumulate(self.known.seconds[test] for test in tests))
        return tests[:number], self._shortest_first(everything.difference(tests[:number]))

    def _shortest_first(self, tests: Iterable[str]) -> list[str]:
        known = self.known.seconds
        there = (test for test in tests if test in known and (self.root / test.split("::")[0]).exists())
        return sorted(there, key=lambda test: (known[test], test))
