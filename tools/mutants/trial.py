"""Running pytest on a copy of the tree: bounded in time and memory, ended with all its children."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from tools.mutants import plugin

PURE = "not cluster and not proof and not install"
OTHERS = ("tests/cluster/", "tests/install/", "tests/tools/", "tests/page/")
"""Folders of tests that need servers or a browser, or run nothing of the source."""
NOTHING_CHOSEN = 5
LATE = 256
"""The code of a run that did not end in its time."""
OUTER = ("COV", "PYTEST", "FAIRLEAD_MUTANTS")
"""Variables of a run around this one, which are not those of the run inside."""
MEMORY = 4 * 2**30


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds: of one test, of all together, and of processor time after which no further test is begun."""

    each: float
    together: float
    most: float


@dataclass(slots=True)
class Runner:
    """Starts pytest and knows what it started, so that an interrupt can end it."""

    running: set[int] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _stopped: bool = False

    def pytest(self, tree: Path, args: Sequence[str], variables: Mapping[str, str], seconds: float) -> int:
        """The exit code, or `LATE`. What is printed goes to `pytest.log` in the tree."""
        with (tree / "pytest.log").open("wb") as log:
            child = self.begin(tree, args, variables, log.fileno())
            try:
                return self.code(child.wait(seconds))
            except subprocess.TimeoutExpired:
                return LATE
            finally:
                self.end(child)

    def chosen(self, tree: Path, tests: Sequence[str], bounds: Bounds) -> int:
        """Runs these tests in this order until one fails; one that takes longer than it may has failed."""
        with tempfile.NamedTemporaryFile("w", suffix=".tests", dir=tree, encoding="utf-8") as names:
            names.write("\n".join(tests))
            names.flush()
            paths = dict.fromkeys(test.split("::")[0] for test in tests)
            args = ["-x", "-m", PURE, "-p", "no:xdist", f"--timeout={bounds.each:.0f}", *paths]
            variables = {plugin.CHOSEN: names.name, plugin.MEMORY: str(MEMORY), "FAIRLEAD_HYPOTHESIS": "mutants"}
            return self.pytest(tree, args, variables, bounds.together)

    def stop(self) -> None:
        """Ends everything that runs; nothing can be started afterwards."""
        with self._lock:
            self._stopped = True
            for group in self.running:
                _kill(group)

    def code(self, code: int) -> int:
        """The code of a run, unless it was ended from outside."""
        if self._stopped:
            raise InterruptedError("stopped")
        return code

    def begin(
        self, tree: Path, args: Sequence[str], variables: Mapping[str, str], log: int, inherited: Sequence[int] = ()
    ) -> "subprocess.Popen[bytes]":
        """Starts pytest in a tree, as the leader of a group that `end` ends."""
        command = [sys.executable, "-m", "pytest", "-q", "-p", "tools.mutants.plugin", "-p", "no:cacheprovider", *args]
        outer = {name: value for name, value in os.environ.items() if not name.startswith(OUTER)}
        environment = {**outer, "PYTHONPATH": str(tree / "src"), **variables}
        with self._lock:
            if self._stopped:
                raise InterruptedError("stopped")
            child = subprocess.Popen(
                command,
                cwd=tree,
                env=environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=inherited,
            )
            self.running.add(child.pid)
            return child

    def end(self, child: "subprocess.Popen[bytes]") -> None:
        """Children of the run go with it, also where it ended by itself."""
        with self._lock:
            _kill(child.pid)
            self.running.discard(child.pid)
        child.wait()


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
