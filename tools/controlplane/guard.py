"""Outlives its parent by a moment, to end what the parent started and could not stop itself.

A control plane is several processes. If the program that started them is killed outright, nobody is left to stop
them. The guard reads from a pipe that only that program holds: one process id per line, each the leader of its own
group, or a minus sign and the id of one that has ended. When the pipe closes without the word `done`, the program
died; the guard kills the groups and removes the folder given as its argument. A kernel's parent-death signal would
not do: it is tied to the thread that forked, not to the process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Iterable


def leaders(lines: Iterable[str]) -> list[int] | None:
    """The groups still to be ended when `lines` ran out; None when they ended with `done`."""
    alive: list[int] = []
    for line in lines:
        word = line.strip()
        if word == "done":
            return None
        if word.startswith("-"):
            alive.remove(int(word[1:]))
        else:
            alive.append(int(word))
    return alive


def main() -> None:
    """Wait for the parent's end; then end its children, newest first, and remove the folder."""
    # The parent's interrupt is not ours: it stops its children in order and then says `done`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orphans = leaders(sys.stdin)
    if orphans is None:
        return
    for leader in reversed(orphans):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)
    shutil.rmtree(sys.argv[1], ignore_errors=True)


if __name__ == "__main__":
    main()
