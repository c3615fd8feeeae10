"""A sample of changes against the tests that could notice, the shortest first, until one fails.

A test to which a change makes no difference, itself or in a process it starts, cannot notice it, unless what was made
at import is kept for later (a constant, a table). So what runs at import meets the tests whose file imports the module
or what imports it, in a process of its own; all else is tried in a fork of a process that is there already.

Without a recording all changes meet the tests whose file imports the module or what imports it.
"""

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from queue import SimpleQueue

from tools.mutants import tree
from tools.mutants.changes import Change
from tools.mutants.neighbours import neighbours
from tools.mutants.recording import Recording
from tools.mutants.serving import Answer
from tools.mutants.trial import LATE, NOTHING_CHOSEN, Bounds, Runner
from tools.mutants.warm import Warm

BOUNDS = Bounds(each=300.0, together=1800.0, most=60.0)
"""A minute of processor time for a change, and much time by the clock, for the machine may be busy."""
AT_IMPORT = 100
"""Tests for a change that needs a process of its own."""


class End(Enum):
    """What became of a change."""

    KILLED = "killed"
    LATE = "killed by time"
    SURVIVED = "survived"


ENDS = {0: End.SURVIVED, NOTHING_CHOSEN: End.SURVIVED, LATE: End.LATE}
"""By exit code; any other is a failed test or a module that cannot be imported."""


@dataclass(frozen=True, slots=True)
class Result:
    """A change, what became of it, how many tests could have noticed, and the one that did."""

    change: Change
    end: End
    tests: int
    by: str = ""


@dataclass(slots=True)
class Campaign:
    """Everything that is the same for all changes; `known` is None without a recording."""

    root: Path
    known: Recording | None
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
        tests = self._chosen(copy, change)
        answer = self._tried(copy, change, tests) if tests else Answer(code=0, test="")
        return Result(change, ENDS.get(answer["code"], End.KILLED), len(tests), answer["test"])

    def _tried(self, copy: Warm, change: Change, tests: list[str]) -> Answer:
        with tree.Mutated(copy.tree, change) as source:
            if change.at_import:
                return Answer(code=self.runner.chosen(copy.tree, tests, BOUNDS), test="")
            return copy.tried(change, source, tests, BOUNDS)

    def _chosen(self, copy: Warm, change: Change) -> list[str]:
        """Fewer where a change needs a process of its own."""
        if self.known is not None and not change.at_import:
            return self.known.noticing(change)
        tests = neighbours(self.root, change.path, copy.collected)
        return tests[: AT_IMPORT if change.at_import else None]
