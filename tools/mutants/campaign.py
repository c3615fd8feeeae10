"""A sample of changes against the tests that could notice, the shortest first, until one fails.

A test that never runs a changed line, itself or in a process it starts, cannot notice it, unless what the line made at
import is kept for later (a constant, a table). So what runs at import meets all tests that run anything in the module
or in one that imports it, in a process of its own; all else is tried in a fork of a process that is there already.

Without a recording of which test runs which line, the tests are those whose file imports the module or what imports it.
"""

import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
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
from tools.mutants.neighbours import neighbours
from tools.mutants.trial import LATE, NOTHING_CHOSEN, Bounds, Runner
from tools.mutants.warm import Warm

FIRST = 20.0
"""Seconds of tests in the first of two rounds; most changes are noticed there."""
MOST = 300.0
"""Seconds of tests, as recorded, that a change meets at most."""
SLOWER = 6.0
"""How many times longer than recorded a test may take beside others before it counts as hanging."""
STARTING = 60.0
"""Seconds for starting and collecting, on a busy machine."""
NEAR = Bounds(each=300.0, together=1800.0, most=60.0)
"""Without a recording: a minute of processor time for a change, and much time by the clock."""
AT_IMPORT = 100
"""Tests for a change that needs a process of its own, without a recording."""


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
    """Everything that is the same for all changes; `known` is None without a recording."""

    root: Path
    known: CoverageMap | None
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
        copy.start()
        rounds = self._near(copy, change) if self.known is None else self._recorded(self.known, change)
        end, number = End.SURVIVED, 0
        for tests, bounds in rounds:
            number += len(tests)
            if tests and end is End.SURVIVED:
                end = self._round(copy, change, tests, bounds)
        return Result(change, end, number)

    def _round(self, copy: Warm, change: Change, tests: list[str], bounds: Bounds) -> End:
        with tree.Mutated(copy.tree, change) as source:
            if change.at_import:
                code = self.runner.chosen(copy.tree, tests, bounds)
            else:
                code = copy.tried(change, source, tests, bounds)
        return ENDS.get(code, End.KILLED)

    def _near(self, copy: Warm, change: Change) -> Iterator[tuple[list[str], Bounds]]:
        """The tests of the neighbourhood in one round; fewer of them where each change needs a process of its own."""
        tests = neighbours(self.root, change.path, copy.collected)
        yield tests[: AT_IMPORT if change.at_import else None], NEAR

    def _recorded(self, known: CoverageMap, change: Change) -> Iterator[tuple[list[str], Bounds]]:
        """The tests that run the line, the shortest first, up to `MOST` seconds of them, in two rounds."""
        first, last = change.lines
        chosen = known.running(change.path, range(first, last + 1))
        if change.at_import:
            files = importers(self.root, change.path)
            chosen = chosen.union(*(known.beside(file) for file in {change.path, *files}))
            chosen |= {test for test in known.seconds if test.split("::")[0] in files}
        there = (test for test in chosen if test in known.seconds and (self.root / test.split("::")[0]).exists())
        tests = sorted(there, key=lambda test: (known.seconds[test], test))
        totals = list(accumulate(known.seconds[test] for test in tests))
        ends = bisect_right(totals, FIRST), bisect_right(totals, MOST)
        for these in (tests[: ends[0]], tests[ends[0] : ends[1]]):
            seconds = [known.seconds[test] for test in these] or [0.0]
            yield these, Bounds(STARTING + SLOWER * max(seconds), STARTING + SLOWER * sum(seconds), MOST)
