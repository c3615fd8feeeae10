"""Starting, watching and stopping the processes of a control plane, and finding ports for them."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.controlplane import guard as guard_program

HOST = "127.0.0.1"
# Below the range from which the system takes the near end of outgoing connections (32768 and up on Linux):
# a port taken from there may be gone before the server binds it.
PORTS = range(20000, 32000)
LOG_TAIL_LINES = 15


class ControlPlaneError(Exception):
    """The control plane did not do what was asked; the message says which part, why, and where its log is."""


class PortTakenError(ControlPlaneError):
    """Between choosing a port and listening on it, somebody else took it."""


def free_ports(count: int) -> list[int]:
    """`count` different ports on loopback that nobody listens on, in no particular order."""
    chooser = random.SystemRandom()
    found: list[int] = []
    with contextlib.ExitStack() as held:
        while len(found) < count:
            candidate = held.enter_context(socket.socket())
            try:
                candidate.bind((HOST, chooser.choice(PORTS)))
            except OSError:
                continue
            found.append(candidate.getsockname()[1])
    return found


class Guard:
    """Ends the processes it is told of if this program dies first. See the module `guard`."""

    def __init__(self, remove: Path, keep: Sequence[int] = ()) -> None:
        """`remove` is a folder that goes with them; the files `keep` stay open until they have ended."""
        command = [sys.executable, "-S", "-E", guard_program.__file__, str(remove)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, text=True, start_new_session=True, pass_fds=keep
        )

    def watch(self, pid: int) -> None:
        """From now on, the group of `pid` ends with this program."""
        self._write(str(pid))

    def forget(self, pid: int) -> None:
        """The group of `pid` has ended; its number may soon be somebody else's."""
        self._write(str(-pid))

    def dismiss(self) -> None:
        """Everything was stopped in order; the guard has nothing left to do."""
        self._write("done")
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(timeout=10)

    def _write(self, word: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(word + "\n")
            self._process.stdin.flush()


class Component:
    """One server process with its log file. It is the leader of its own group, so a Ctrl-C meant for the
    program does not reach it before the program stops it in order."""

    def __init__(self, name: str, command: Sequence[str], log: Path, folder: Path) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None

    @property
    def pid(self) -> int | None:
        """The process id while it runs, else None."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    def start(self, guard: Guard) -> None:
        """Start it; its output is appended to its log."""
        # HOME: no component may read or write settings of the user who runs the tests.
        environment = {**os.environ, "HOME": str(self._folder), "KUBECONFIG": ""}
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._guard = guard
        guard.watch(self._process.pid)

    def check(self) -> None:
        """Raise with the end of its log if it is not running."""
        if self.pid is None:
            code = self._process.returncode if self._process is not None else "never started"
            tail = self.tail()
            kind = PortTakenError if "address already in use" in tail else ControlPlaneError
            raise kind(f"{self.name} is not running (exit {code}), log {self.log}:\n{tail}")

    def tail(self) -> str:
        """The last lines of its log."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-LOG_TAIL_LINES:])

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.pid is not None and self._process is not None:
            self._process.send_signal(number)

    def wait(self, seconds: float) -> None:
        """Wait for its end after a signal; kill it when it does not end in time."""
        if self._process is None or self._guard is None:
            return
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(timeout=30)
        self._guard.forget(self._process.pid)
        self._guard = None

    def resident_bytes(self) -> int:
        """Memory it holds now, 0 when it does not run or the system does not say."""
        with contextlib.suppress(OSError, TypeError):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGESIZE")
        return 0


def wait_until(what: str, holds: Callable[[], bool], *, seconds: float, components: Sequence[Component] = ()) -> None:
    """Wait until `holds()`, asking twenty times a second; fail at once if one of `components` dies meanwhile."""
    deadline = time.monotonic() + seconds
    while not holds():
        for component in components:
            component.check()
        if time.monotonic() > deadline:
            ends = "\n".join(f"{component.log}:\n{component.tail()}" for component in components)
            raise ControlPlaneError(f"{what}: not within {seconds:.0f} s\n{ends}")
        time.sleep(0.05)
