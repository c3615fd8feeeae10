"""A sample of changes against the tests that could notice, the shortest first, until one fails.

A test that never runs a changed line, itself or in a process it starts, cannot notice it, unless what the line made at
import is kept for later (a constant, a table). So what runs at import meets all tests that run anything in the module
or in one that imports it, in a process of its own; all else is tried in a fork of a process that is there already.
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
from tools.mutants.warm import Warm

FIRST = 20.0
"""Seconds of tests in the first of two rounds; most changes are noticed there."""
MOST = 300.0
"""Seconds of tests, as recorded, that a change meets at most."""
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
            each = [Warm(tree.copy(self.root, Path(folder) / str(number)), self.runner) for number in range(workers)]
            copies: SimpleQueue[Warm] = SimpleQueue()
            for copy in each:
                copies.put(copy)
            pool = ThreadPoolExecutor(workers)
            try:
                return list(pool.map(lambda change: self._one(copies, change, tell), changes))
            finally:
                self.runner.stop()
                pool.shutdown(cancel_futures=True)
                for copy in each:
                    copy.stop()

    def _one(self, copies: SimpleQueue[Warm], change: Change, tell: Callable[[Result], None]) -> Result:
        copy = copies.get()
        try:
            result = self._judge(copy, change)
        finally:
            copies.put(copy)
        tell(result)
        return result

    def _judge(self, copy: Warm, change: Change) -> Result:
        tests = self._tests(change)
        first = sum(total <= FIRST for total in accumulate(self.known.seconds[test] for test in tests))
        copy.start()
        for these in (tests[:first], tests[first:]):
            end = self._round(copy, change, these)
            if end is not End.SURVIVED:
                break
        return Result(change, end, len(tests))

    def _round(self, copy: Warm, change: Change, tests: list[str]) -> End:
        if not tests:
            return End.SURVIVED
        seconds = [self.known.seconds[test] for test in tests]
        each, together = STARTING + SLOWER * max(seconds), STARTING + SLOWER * sum(seconds)
        with tree.Mutated(copy.tree, change) as source:
            if change.at_import:
                code = self.runner.chosen(copy.tree, tests, each, together)
            else:
                code = copy.tried(change, source, tests, each, together)
        return ENDS.get(code, End.KILLED)

    def _tests(self, change: Change) -> list[str]:
        """All that could notice, the shortest first, up to `MOST` seconds."""
        first, last = change.lines
        chosen = self.known.running(change.path, range(first, last + 1))
        if change.at_import:
            files = importers(self.root, change.path)
            chosen = chosen.union(*(self.known.beside(file) for file in {change.path, *files}))
            chosen |= {test for test in self.known.seconds if test.split("::")[0] in files}
        tests = self._shortest_first(chosen)
        return tests[: sum(total <= MOST for total in accumulate(self.known.seconds[test] for test in tests))]

    def _shortest_first(self, tests: Iterable[str]) -> list[str]:
        known = self.known.seconds
        there = (test for test in tests if test in known and (self.root / test.split("::")[0]).exists())
        return sorted(there, key=lambda test: (known[test], test))
