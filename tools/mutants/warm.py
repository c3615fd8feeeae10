"""One pytest process that has collected all tests of a copy and tries changes in forks (see `serving`)."""

import json
import os
import select
import signal
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from time import monotonic
from typing import IO

from tools.mutants import plugin
from tools.mutants.changes import Change
from tools.mutants.serving import SERVE, Answer, Collected, Trial
from tools.mutants.trial import LATE, MEMORY, OTHERS, PURE, Bounds, Runner


@dataclass(slots=True)
class Warm:
    """Started when it is first asked, and anew after a trial that did not end in its time."""

    tree: Path
    runner: Runner
    collected: list[Collected] = field(default_factory=list)
    _child: "Popen[bytes] | None" = None
    _trials: IO[str] | None = None
    _answers: int = -1
    _rest: bytes = field(default=b"")

    def tried(self, change: Change, source: bytes, tests: list[str], bounds: Bounds) -> Answer:
        """Code 1 where a test fails with the change, 0 where none does, or `LATE`; `source` is without the change."""
        asked = Trial(
            path=str(self.tree / change.path), before=source.decode(), after=change.apply(source).decode(),
            tests=tests, each=bounds.each, most=bounds.most,
        )  # fmt: skip
        assert self._trials is not None
        self._trials.write(json.dumps(asked) + "\n")
        self._trials.flush()
        said = self._answer(bounds.together)
        if said is None:
            self.stop()
            return Answer(code=self.runner.code(LATE), test="")
        answer: Answer = json.loads(said)
        self.runner.code(answer["code"])
        return answer if answer["code"] != signal.SIGXCPU else Answer(code=LATE, test="")

    def start(self) -> None:
        """Collects all tests, unless that is done."""
        if self._child is not None:
            return
        (theirs, ours), (self._answers, says) = os.pipe(), os.pipe()
        args = ["-m", PURE, "-p", "no:xdist", f"--basetemp={self.tree / 'tmp'}", "tests"]
        args += [f"--ignore={folder}" for folder in OTHERS]
        variables = {SERVE: f"{theirs},{says}", plugin.MEMORY: str(MEMORY), "FAIRLEAD_HYPOTHESIS": "mutants"}
        with (self.tree / "warm.log").open("wb") as log:
            self._child = self.runner.begin(self.tree, args, variables, log.fileno(), (theirs, says))
        os.close(theirs)
        os.close(says)
        self._trials = os.fdopen(ours, "w")
        said = self._answer(None)
        if said is None:
            raise SystemExit(f"mutants: tests cannot be collected:\n{(self.tree / 'warm.log').read_text()[-4000:]}")
        self.collected = json.loads(said)

    def stop(self) -> None:
        """Ends the process with all its children."""
        if self._child is None or self._trials is None:
            return
        self.runner.end(self._child)
        self._trials.close()
        os.close(self._answers)
        self._child = self._trials = None
        self._rest = b""

    def _answer(self, seconds: float | None) -> str | None:
        """The next line; nothing where the time is over or the process ended."""
        until = None if seconds is None else monotonic() + seconds
        while b"\n" not in self._rest:
            left = None if until is None else max(0.0, until - monotonic())
            ready, _, _ = select.select([self._answers], [], [], left)
            chunk = os.read(self._answers, 4096) if ready else b""
            if not chunk:
                return None
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()
