"""Building the binaries, with a stand-in for Go: once per version, by one caller, and never by halves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tools.controlplane import build, guard
from tools.controlplane.processes import wait_until

from tests.interrupts import heard

ROOT = Path(__file__).resolve().parents[2]
# Writes its name to a list, says a line, waits for the file `go-on`, then writes the binary it was asked for.
GO = """#!/bin/sh
echo run >> "$STAGE/runs"
echo package >&2
while ! test -e "$STAGE/go-on"; do sleep 0.05; done
while test "$1" != -o; do shift; done
mkdir -p "$(dirname "$2")" && echo binary > "$2"
"""
BROKEN_GO = """#!/bin/sh
echo "main.go:1: does not compile" >&2
exit 1
"""


class Stage:
    """A folder with a stand-in for Go and an empty cache, and builds run on it as separate programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache" / "fairlead" / "controlplane"
        self._started: list[subprocess.Popen[str]] = []

    def go(self, script: str) -> None:
        """Put `script` in place of Go."""
        program = self.folder / "bin" / "go"
        program.parent.mkdir(exist_ok=True)
        program.write_text(script)
        program.chmod(0o755)

    def build(self, *options: str) -> subprocess.Popen[str]:
        """Start a build."""
        environment = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:/usr/bin:/bin",
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "STAGE": str(self.folder),
        }
        started = subprocess.Popen(
            [sys.executable, "-m", "tools.controlplane.build", *options],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heard,
        )
        self._started.append(started)
        return started

    def let_go(self) -> None:
        """Let the stand-in finish."""
        (self.folder / "go-on").touch()

    def runs(self) -> int:
        """How often the stand-in was run."""
        runs = self.folder / "runs"
        return len(runs.read_text().splitlines()) if runs.exists() else 0

    def left(self) -> set[str]:
        """What is in the cache, locks aside."""
        return {entry.name for entry in self.cache.iterdir() if entry.suffix != ".lock"}

    def end(self) -> None:
        """End what still runs."""
        self.let_go()
        for started in self._started:
            started.kill()
            started.communicate()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage whose Go works."""
    made = Stage(tmp_path)
    made.go(GO)
    yield made
    made.end()


def test_build_twice_compiles_once_and_then_says_nothing(stage: Stage) -> None:
    """The first build shows progress and keeps every binary; the second only prints the folder."""
    stage.let_go()
    first, progress = stage.build().communicate(timeout=60)
    assert all(binary.name in progress for binary in build.BINARIES)
    assert {path.name for path in Path(first.strip()).iterdir()} == {binary.name for binary in build.BINARIES}
    second, silence = stage.build().communicate(timeout=60)
    assert (second, silence) == (first, "")
    assert stage.runs() == len(build.BINARIES)


def test_two_builds_at_once_compile_once(stage: Stage) -> None:
    """The second caller says that it waits, and takes what the first one built."""
    one = stage.build()
    wait_until("the first compiles", lambda: stage.runs() == 1, seconds=30)
    other = stage.build()
    assert other.stderr is not None
    assert "waiting" in other.stderr.readline()
    stage.let_go()
    assert one.communicate(timeout=60)[0] == other.communicate(timeout=60)[0]
    assert (one.returncode, other.returncode, stage.runs()) == (0, 0, len(build.BINARIES))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_build_leaves_nothing(stage: Stage, number: signal.Signals, code: int) -> None:
    """Whoever interrupts a build finds no folder that could be taken for a finished one, and can build again."""
    interrupted = stage.build()
    wait_until("it compiles", lambda: stage.runs() == 1, seconds=30)
    interrupted.send_signal(number)
    interrupted.communicate(timeout=60)
    assert (interrupted.returncode, stage.left()) == (code, set())
    stage.let_go()
    again = stage.build()
    again.communicate(timeout=60)
    assert (again.returncode, stage.left()) == (0, {build.cache_key()})


def test_killed_build_does_not_stand_in_the_way(stage: Stage) -> None:
    """The lock goes with its holder, and the next build removes what was left half done."""
    killed = stage.build()
    wait_until("it compiles", lambda: stage.runs() == 1, seconds=30)
    killed.kill()
    killed.communicate(timeout=60)
    stage.let_go()
    again = stage.build()
    again.communicate(timeout=60)
    assert (again.returncode, stage.left()) == (0, {build.cache_key()})


def test_failed_build_shows_the_compiler_and_keeps_nothing(stage: Stage) -> None:
    """The message has the compiler's own words, no traceback."""
    stage.go(BROKEN_GO)
    failed = stage.build()
    said = failed.communicate(timeout=60)[1]
    assert (failed.returncode, stage.left()) == (1, set())
    assert "main.go:1: does not compile" in said
    assert "Traceback" not in said


def test_without_go_and_cache_the_reason_is_given(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Go and nothing built is an obstacle with a reason; either of the two is enough."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(stage.folder / "cache"))
    monkeypatch.setenv("PATH", str(stage.folder / "nothing"))
    assert "no Go" in (build.obstacle() or "")
    (stage.cache / build.cache_key() / "bin").mkdir(parents=True)
    assert build.obstacle() is None


def test_key_follows_every_source(tmp_path: Path) -> None:
    """A change in any file that decides what is built gives another key; no change, the same."""
    for source in build.SOURCES:
        copy = tmp_path / source
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((build.HERE / source).read_bytes())
    before = build.cache_key()
    copied = replace(build.CONTROL_PLANE, home=tmp_path)
    assert build.cache_key(copied) == before
    keys = {before}
    for source in build.SOURCES:
        with (tmp_path / source).open("a") as file:
            file.write("\n// changed\n")
        keys.add(build.cache_key(copied))
    assert len(keys) == 1 + len(build.SOURCES)


@pytest.mark.parametrize(
    ("lines", "orphans"),
    [
        (["7", "9", "done"], None),
        (["7", "9"], [7, 9]),
        (["7", "9", "-7", "11"], [9, 11]),
        ([], []),
    ],
    ids=["stopped in order", "parent died", "one had ended", "died before it began"],
)
def test_guard_knows_whom_to_end(lines: list[str], orphans: list[int] | None) -> None:
    """Only what was started and has not ended is ended, and nothing after an orderly stop."""
    assert guard.leaders(lines) == orphans
